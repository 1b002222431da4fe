import { Injectable } from '@nestjs/common';
import { RETENTION_DAYS } from './batches/batch-views.repository';
import { Database } from './database';

const PARTITIONED_TABLES = ['batch_lines', 'batch_results', 'generations'];
const BATCH_TABLES = ['batch_lines', 'batch_results'];
const WEEKS_AHEAD = 4;
/** An upload may begin a day before its batch is accepted, and the retention counts from there. */
const GRACE_DAYS = 2;
/** Of rows that stand in no weekly partition, so many are deleted at once. */
const STRAYS_AT_ONCE = 10_000;

/** The weekly partitions of the bulk tables: made ahead of time, and dropped with what the retention ends. */
@Injectable()
export class PartitionsRepository {
  constructor(private readonly database: Database) {}

  /** Makes the partitions of this week and the coming four exist. Safe to repeat and to run twice at once. */
  async ensureComingWeeks(): Promise<void> {
    for (const table of PARTITIONED_TABLES) {
      await this.database.execute({
        sql: `SELECT ensure_weekly_partitions($1, (now() AT TIME ZONE 'UTC')::date, (now() AT TIME ZONE 'UTC')::date + $2::integer)`,
        values: [table, WEEKS_AHEAD * 7],
      });
    }
  }

  /**
   * Drops requests and results of weeks that lie wholly before the retention, however many rows they hold. A
   * week with a batch that is not over stays. Rows of the default partition are deleted, a bounded number.
   *
   * Dropping locks the table for a moment: a lock that is not had soon is left for the next time.
   *
   * @returns how many partitions were dropped
   */
  async dropExpiredWeeks(): Promise<number> {
    const until = await this.expiredUntil();
    let dropped = 0;
    for (const table of BATCH_TABLES) {
      const row = await this.database.firstRow<{ dropped: number }>({
        sql: 'SELECT drop_weekly_partitions($1, $2::date) AS dropped',
        values: [table, until],
      });
      dropped += row?.dropped ?? 0;
      await this.database.execute({
        sql: `DELETE FROM ${table}_default WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM ${table}_default WHERE created_on < $1::date LIMIT ${STRAYS_AT_ONCE}))`,
        values: [until],
      });
    }
    return dropped;
  }

  /** The first UTC day whose batches may still have something to show. */
  private async expiredUntil(): Promise<string> {
    const row = await this.database.firstRow<{ day: string }>({
      sql: `SELECT least((now() AT TIME ZONE 'UTC')::date - $1::integer,
                         (SELECT min(created_on) FROM batches WHERE finalized_at IS NULL))::text AS day`,
      values: [RETENTION_DAYS + GRACE_DAYS],
    });
    return row?.day ?? '-infinity';
  }
}
