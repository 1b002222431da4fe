import { Injectable } from '@nestjs/common';
import { Database } from './database';

const PARTITIONED_TABLES = ['batch_lines', 'batch_results', 'generations'];
const WEEKS_AHEAD = 4;

/** The weekly partitions of the bulk tables. */
@Injectable()
export class PartitionsRepository {
  constructor(private readonly database: Database) {}

  /** Makes the partitions of this week and the coming four exist. Safe to repeat and to run twice at once. */
  async ensureComingWeeks(): Promise<void> {
    for (const table of PARTITIONED_TABLES) {
      await this.database.execute({
        sql: `SELECT ensure_weekly_partitions($1, (now() AT TIME ZONE 'UTC')::date, (now() AT TIME ZONE 'UTC')::date + $2)`,
        values: [table, WEEKS_AHEAD * 7],
      });
    }
  }
}
