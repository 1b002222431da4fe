import { Injectable } from '@nestjs/common';
import type { QueryResultRow } from 'pg';
import { BATCH_RETENTION_DAYS } from './batches/batch-views.repository';
import { Database, type Session, type SqlStatement } from './database';
import { planPartitions, plusDays, type Partition, type PartitionPlan, type StrayWeek } from './partition-plan';

export const PARTITIONED_TABLES = ['batch_lines', 'batch_results', 'generations'] as const;
export type PartitionedTable = (typeof PARTITIONED_TABLES)[number];

/** Tables whose rows have a retention time, with the content of a row that is stored outside of it. */
const BODIES: Readonly<Record<PartitionedTable, string>> = {
  batch_lines: 'octet_length(body)',
  batch_results: 'coalesce(octet_length(body), 0)',
  generations: '0',
};
const HAS_RETENTION: ReadonlySet<PartitionedTable> = new Set(['batch_lines', 'batch_results']);
/** An upload may begin a day before its batch is accepted, and the retention time starts then. */
const GRACE_DAYS = 2;
/** Most rows of a default partition that are deleted at once. */
const STRAYS_AT_ONCE = 10_000;
const MOST_COUNTED = 10_000;

/**
 * The weekly partitions of the large tables: created in advance, and dropped after the retention time.
 *
 * Each step is a separate transaction with short locks, which may be repeated, run twice at once or be skipped. A lock
 * that is not obtained within a second is left for the next run.
 */
@Injectable()
export class PartitionsRepository {
  constructor(private readonly database: Database) {}

  /** Returns a table's missing partitions. Reads the whole default partition, which should be empty. */
  async plan(table: PartitionedTable): Promise<PartitionPlan> {
    return this.database.transaction(async (session) => {
      await session.mayTake(600);
      const partitions = await partitionsOf(session, table);
      const strays = await session.rows<StrayWeek>({
        sql: `SELECT date_trunc('week', created_on)::date::text AS monday, count(*)::float8 AS rows,
                     sum(${BODIES[table]})::float8 AS bytes
              FROM ${table}_default GROUP BY 1`,
      });
      const expired = HAS_RETENTION.has(table) ? await expiredUntil(session) : '';
      const kept = strays.filter(({ monday }) => plusDays(monday, 7) > expired);
      return planPartitions(await today(session), partitions, kept);
    });
  }

  /** Makes the partition of a week and moves its rows out of the default partition. Returns how many it moved. */
  async makeWeek(table: PartitionedTable, monday: string): Promise<number> {
    const row = await this.briefly<{ moved: string }>(60, {
      sql: 'SELECT make_partition($1, $2) AS moved',
      values: [table, monday],
    });
    return Number(row?.moved ?? 0);
  }

  /**
   * Makes the default partition, with all its rows, the partition of these weeks, and creates a new default. Its rows
   * are read once with a lock that lets others read and write; the exchange itself takes a moment.
   * @throws the violated check while it has rows of other weeks
   */
  async adoptDefault(table: PartitionedTable, { from, to }: NonNullable<PartitionPlan['adoption']>): Promise<void> {
    const step = (name: 'check' | 'validate' | 'exchange'): Promise<unknown> => this.adopt(table, name, from, to);
    await this.dropCheck(table);
    await step('check');
    try {
      await step('validate');
      await step('exchange');
    } catch (error) {
      await this.dropCheck(table);
      throw error;
    }
  }

  /** Removes the check that an interrupted adoption left: it would keep rows out of the default partition. */
  async dropCheck(table: PartitionedTable): Promise<void> {
    const left = await this.database.firstRow({
      sql: `SELECT 1 FROM pg_constraint WHERE conrelid = $1::regclass AND conname = $2`,
      values: [`${table}_default`, `${table}_adopted`],
    });
    if (left !== null) await this.adopt(table, 'forget', null, null);
  }

  /**
   * Returns the partitions that lie wholly before the retention, the earliest first. A week with a batch that is not
   * over stays.
   */
  async expired(table: PartitionedTable): Promise<string[]> {
    if (!HAS_RETENTION.has(table)) return [];
    return this.database.session(async (session) => {
      const until = await expiredUntil(session);
      const partitions = await partitionsOf(session, table);
      return partitions.filter(({ to }) => to !== null && to <= until).map(({ name }) => name);
    });
  }

  /** Drops an expired partition with all its rows. */
  async drop(table: PartitionedTable, name: string): Promise<void> {
    await this.briefly(600, { sql: 'SELECT drop_expired_partition($1, $2)', values: [table, name] });
  }

  /** Deletes rows of the default partition that are before the retention, at most 10,000. Returns how many. */
  async deleteExpiredStrays(table: PartitionedTable): Promise<number> {
    if (!HAS_RETENTION.has(table)) return 0;
    return this.database.session(async (session) =>
      session.execute({
        sql: `DELETE FROM ${table}_default WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM ${table}_default WHERE created_on < $1::date LIMIT ${STRAYS_AT_ONCE}))`,
        values: [await expiredUntil(session)],
      }),
    );
  }

  /** Returns how many rows are in the default partition, at most 10,000. */
  async countStrays(table: PartitionedTable): Promise<number> {
    const row = await this.database.firstRow<{ rows: number }>({
      sql: `SELECT count(*)::integer AS rows FROM (SELECT 1 FROM ${table}_default LIMIT ${MOST_COUNTED}) strays`,
    });
    return row?.rows ?? 0;
  }

  private adopt(table: PartitionedTable, step: string, from: string | null, to: string | null): Promise<unknown> {
    return this.briefly(600, {
      sql: 'SELECT adopt_default_partition($1, $2, $3, $4)',
      values: [table, step, from, to],
    });
  }

  /** Runs a function of the tables' owner, with a lock timeout of a second. */
  private briefly<Row extends QueryResultRow>(seconds: number, statement: SqlStatement): Promise<Row | null> {
    return this.database.transaction(async (session) => {
      await session.mayTake(seconds);
      await session.mayWaitForLocks(1_000);
      return session.firstRow<Row>(statement);
    });
  }
}

/** Returns all partitions except the default one, the earliest first. */
async function partitionsOf(session: Session, table: PartitionedTable): Promise<Partition[]> {
  const rows = await session.rows<{ name: string; bound: string }>({
    sql: `SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = $1::regclass`,
    values: [table],
  });
  return rows
    .filter(({ bound }) => bound !== 'DEFAULT')
    .map(({ name, bound }) => ({ name, from: boundOf(bound, 'FROM'), to: boundOf(bound, 'TO') }))
    .toSorted((one, other) => (one.from ?? '').localeCompare(other.from ?? ''));
}

/** Reads `FOR VALUES FROM ('2026-11-23') TO ('2026-11-30')`, or MINVALUE and MAXVALUE. */
function boundOf(bound: string, side: 'FROM' | 'TO'): string | null {
  return new RegExp(`${side} \\('(\\d{4}-\\d\\d-\\d\\d)'\\)`).exec(bound)?.[1] ?? null;
}

async function today(session: Session): Promise<string> {
  const row = await session.firstRow<{ day: string }>({ sql: `SELECT (now() AT TIME ZONE 'UTC')::date::text AS day` });
  return row!.day;
}

/** Returns the first UTC day whose batches may still have visible contents. */
async function expiredUntil(session: Session): Promise<string> {
  const row = await session.firstRow<{ day: string }>({
    sql: `SELECT least((now() AT TIME ZONE 'UTC')::date - $1::integer,
                       (SELECT min(created_on) FROM batches WHERE finalized_at IS NULL))::text AS day`,
    values: [BATCH_RETENTION_DAYS + GRACE_DAYS],
  });
  return row!.day;
}
