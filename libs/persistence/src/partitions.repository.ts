import { Injectable } from '@nestjs/common';
import { RETENTION_DAYS } from './batches/batch-views.repository';
import { Database, type Session } from './database';
import {
  planPartitions,
  plusDays,
  weekName,
  type Partition,
  type PartitionPlan,
  type StrayWeek,
} from './partition-plan';

export const PARTITIONED_TABLES = ['batch_lines', 'batch_results', 'generations'] as const;
export type PartitionedTable = (typeof PARTITIONED_TABLES)[number];

/** Tables whose rows have a retention, and what of a row is not in the row itself. */
const BODIES: Readonly<Record<PartitionedTable, string>> = {
  batch_lines: 'octet_length(body)',
  batch_results: 'coalesce(octet_length(body), 0)',
  generations: '0',
};
const HAS_RETENTION: ReadonlySet<PartitionedTable> = new Set(['batch_lines', 'batch_results']);
/** An upload may begin a day before its batch is accepted, and the retention counts from there. */
const GRACE_DAYS = 2;
/** Of rows that stand in no weekly partition, so many are deleted at once. */
const STRAYS_AT_ONCE = 10_000;
const MOST_COUNTED = 10_000;

/**
 * The weekly partitions of the bulk tables: made ahead of time, and dropped with what the retention ends.
 *
 * Each step is a transaction of its own with short locks, which may be repeated, run twice at once or be left out. A
 * lock that is not had within a second is left for the next time.
 */
@Injectable()
export class PartitionsRepository {
  constructor(private readonly database: Database) {}

  /** Returns what is missing of a table's partitions. Reads the whole default partition, which should be empty. */
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
    const name = `${table}_${weekName(monday)}`;
    return this.database.transaction(async (session) => {
      await session.mayTake(60);
      await session.client.query(`SET LOCAL lock_timeout = '1s'`);
      // In the order of every statement on rows: the table, then its partitions. Readers and writers of other weeks
      // are not held up by the first lock, and by the second only for as long as the rows are moved.
      await session.client.query(`LOCK TABLE ONLY ${table} IN SHARE UPDATE EXCLUSIVE MODE`);
      if ((await partitionsOf(session, table)).some((partition) => partition.name === name)) return 0;
      await session.client.query(`LOCK TABLE ${table}_default IN ACCESS EXCLUSIVE MODE`);
      await session.client.query(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL)`);
      const columns = await columnsOf(session, table);
      const moved = await session.execute({
        sql: `WITH moved AS (
                DELETE FROM ${table}_default WHERE created_on >= $1::date AND created_on < $2::date RETURNING ${columns})
              INSERT INTO ${name} (${columns}) SELECT ${columns} FROM moved`,
        values: [monday, plusDays(monday, 7)],
      });
      await session.client.query(
        `ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM ('${monday}') TO ('${plusDays(monday, 7)}')`,
      );
      return moved;
    });
  }

  /**
   * Makes the default partition, with all its rows, the partition of these weeks, and makes a new default. Its rows
   * are read once under a lock that lets others read and write; the exchange itself takes a moment.
   *
   * @throws the violated check while it holds rows of other weeks
   */
  async adoptDefault(table: PartitionedTable, { from, to }: NonNullable<PartitionPlan['adoption']>): Promise<void> {
    const check = `${table}_adopted`;
    const name = `${table}_${weekName(from)}_${weekName(plusDays(to, -7))}`;
    await this.dropCheck(table);
    await this.alter(
      `ALTER TABLE ${table}_default ADD CONSTRAINT ${check} CHECK (created_on >= '${from}' AND created_on < '${to}') NOT VALID`,
    );
    try {
      await this.alter(`ALTER TABLE ${table}_default VALIDATE CONSTRAINT ${check}`);
      await this.alter(
        `LOCK TABLE ONLY ${table} IN ACCESS EXCLUSIVE MODE`,
        `ALTER TABLE ${table} DETACH PARTITION ${table}_default`,
        `ALTER TABLE ${table}_default RENAME TO ${name}`,
        `ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`,
        `ALTER TABLE ${name} DROP CONSTRAINT ${check}`,
        `CREATE TABLE ${table}_default PARTITION OF ${table} DEFAULT`,
      );
    } catch (error) {
      await this.dropCheck(table);
      throw error;
    }
  }

  /** Removes what an adoption that was broken off left: it would keep rows out of the default partition. */
  async dropCheck(table: PartitionedTable): Promise<void> {
    const left = await this.database.firstRow({
      sql: `SELECT 1 FROM pg_constraint WHERE conrelid = $1::regclass AND conname = $2`,
      values: [`${table}_default`, `${table}_adopted`],
    });
    if (left !== null) await this.alter(`ALTER TABLE ${table}_default DROP CONSTRAINT ${table}_adopted`);
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

  /** Drops a partition, however many rows it holds. */
  async drop(name: string): Promise<void> {
    await this.alter(`DROP TABLE IF EXISTS "${name}"`);
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

  /** Returns how many rows stand in the default partition, at most 10,000. */
  async countStrays(table: PartitionedTable): Promise<number> {
    const row = await this.database.firstRow<{ rows: number }>({
      sql: `SELECT count(*)::integer AS rows FROM (SELECT 1 FROM ${table}_default LIMIT ${MOST_COUNTED}) strays`,
    });
    return row?.rows ?? 0;
  }

  private async alter(...statements: readonly string[]): Promise<void> {
    await this.database.transaction(async (session) => {
      await session.mayTake(600);
      await session.client.query(`SET LOCAL lock_timeout = '1s'`);
      for (const statement of statements) await session.client.query(statement);
    });
  }
}

/** All but the default one, the earliest first. */
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

/** `FOR VALUES FROM ('2026-11-23') TO ('2026-11-30')`, or MINVALUE and MAXVALUE. */
function boundOf(bound: string, side: 'FROM' | 'TO'): string | null {
  return new RegExp(`${side} \\('(\\d{4}-\\d\\d-\\d\\d)'\\)`).exec(bound)?.[1] ?? null;
}

async function columnsOf(session: Session, table: PartitionedTable): Promise<string> {
  const row = await session.firstRow<{ columns: string }>({
    sql: `SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns FROM pg_attribute
          WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
    values: [table],
  });
  return row!.columns;
}

async function today(session: Session): Promise<string> {
  const row = await session.firstRow<{ day: string }>({ sql: `SELECT (now() AT TIME ZONE 'UTC')::date::text AS day` });
  return row!.day;
}

/** The first UTC day whose batches may still have something to show. */
async function expiredUntil(session: Session): Promise<string> {
  const row = await session.firstRow<{ day: string }>({
    sql: `SELECT least((now() AT TIME ZONE 'UTC')::date - $1::integer,
                       (SELECT min(created_on) FROM batches WHERE finalized_at IS NULL))::text AS day`,
    values: [RETENTION_DAYS + GRACE_DAYS],
  });
  return row!.day;
}
