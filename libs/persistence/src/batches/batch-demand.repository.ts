import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import { ACCOUNT, type AccountModel } from './segment-claims';

/** Lines of one model of one account that our workers have to run. */
export interface ModelDemand extends AccountModel {
  readonly lines: number;
  /** At this rate every batch is finished by its target time. */
  readonly linesPerSecond: number;
}

export interface DemandGoal {
  /** Target in seconds from the acceptance of a batch to its last line. */
  readonly goalSeconds: number;
  /** Least number of seconds for the lines of a batch, however late it is. */
  readonly leastSeconds: number;
}

/** Reads how many lines are open, from which the number of batch workers is derived. */
@Injectable()
export class BatchDemandRepository {
  constructor(private readonly database: Database) {}

  /**
   * Counts lines that must run as single calls. Excludes lines in a provider's own batch API and lines of batches that
   * wait for credit, because more workers would not finish either sooner.
   */
  async open({ goalSeconds, leastSeconds }: DemandGoal): Promise<ModelDemand[]> {
    const rows = await this.database.rows<{
      account: string;
      upstream_model: string;
      lines: number;
      lines_per_second: number;
    }>({
      name: 'batch-demand',
      sql: `
        SELECT ${ACCOUNT} AS account, b.upstream_model, sum(o.lines)::float8 AS lines,
          sum(o.lines / greatest($2::float8, $1::float8 - extract(epoch FROM now() - b.created_at)))::float8
            AS lines_per_second
        FROM batches b JOIN ledger_holds h ON h.id = b.id CROSS JOIN LATERAL (
          SELECT sum(s.last_seq - s.first_seq + 1 - s.completed - s.failed) AS lines
          FROM batch_segments s WHERE s.batch_number = b.number AND s.state IN ('waiting', 'open', 'suspect')
        ) o
        WHERE b.finalized_at IS NULL AND b.status IN ('validating', 'in_progress') AND b.stop_by IS NULL
          AND h.refused_since IS NULL AND o.lines > 0
        GROUP BY 1, 2`,
      values: [goalSeconds, leastSeconds],
    });
    return rows.map(({ account, upstream_model: upstreamModel, lines, lines_per_second: linesPerSecond }) => ({
      account,
      upstreamModel,
      lines,
      linesPerSecond,
    }));
  }
}
