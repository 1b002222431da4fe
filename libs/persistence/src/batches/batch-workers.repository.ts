import { Injectable } from '@nestjs/common';
import { Database } from '../database';

/** How fast a worker's lane runs the lines of one quota, as sums that are halved each busy minute. */
export interface LaneSpeed {
  /** Calls that it may make at once. */
  readonly slots: number;
  /** Number of finished lines; below, how long their calls occupied slots, including repeated calls. */
  readonly lines: number;
  readonly call_ms: number;
  /** Number of lines that finished while more waited for a slot; below, for how long that was so. */
  readonly backlog_lines: number;
  readonly backlog_ms: number;
}

/** What one worker measured of a quota. */
export interface WorkerSpeed {
  /** True if the process still runs. Measurements of an ended process are valid for its quota nevertheless. */
  readonly isAlive: boolean;
  readonly concurrency: number;
  /** Null if it has run no line of the quota. */
  readonly lane: LaneSpeed | null;
}

/** What one worker measured of several quotas. */
export interface WorkerReport extends Pick<WorkerSpeed, 'isAlive' | 'concurrency'> {
  /** By quota, for the quotas that it has called. */
  readonly lanes: Readonly<Record<string, LaneSpeed>>;
}

/** A process that has reported nothing for this long counts as dead. */
const ALIVE_SECONDS = 30;
const IS_ALIVE = `seen_at > now() - interval '${ALIVE_SECONDS} seconds'`;
const KEPT_HOURS = 24;

/** The workers and their speed, for all estimates of how long a batch will take. One row per process. */
@Injectable()
export class BatchWorkersRepository {
  constructor(private readonly database: Database) {}

  /** Replaces the process's previous report. */
  async report(id: string, concurrency: number, lanes: Readonly<Record<string, LaneSpeed>>): Promise<void> {
    await this.database.execute({
      name: 'batch-worker-report',
      sql: `
        INSERT INTO batch_workers (id, concurrency, lanes) VALUES ($1, $2, $3)
        ON CONFLICT (id) DO UPDATE SET concurrency = excluded.concurrency, lanes = excluded.lanes, seen_at = now()`,
      values: [id, concurrency, JSON.stringify(lanes)],
    });
  }

  /** Returns what workers that run now, or ran within the last day, measured of these quotas. */
  async reports(quotas: readonly string[]): Promise<WorkerReport[]> {
    const rows = await this.database.rows<{
      is_alive: boolean;
      concurrency: number;
      lanes: Readonly<Record<string, LaneSpeed>>;
    }>({
      name: 'batch-worker-reports',
      sql: `
        SELECT ${IS_ALIVE} AS is_alive, concurrency, (
          SELECT coalesce(jsonb_object_agg(quota, lanes -> quota), '{}') FROM unnest($1::text[]) quota WHERE lanes ? quota
        ) AS lanes
        FROM batch_workers`,
      values: [quotas],
    });
    return rows.map(({ is_alive: isAlive, ...row }) => ({ isAlive, ...row }));
  }

  /** Forgets processes that ended long ago. */
  async forgetOld(): Promise<number> {
    return this.database.execute({
      sql: `DELETE FROM batch_workers WHERE seen_at < now() - interval '${KEPT_HOURS} hours'`,
    });
  }

  /**
   * Returns what workers that run now, or ran within the last day, measured of a quota; of the other one if they have
   * not called it.
   */
  async speeds(quota: string, other: string = quota): Promise<WorkerSpeed[]> {
    const rows = await this.database.rows<{ is_alive: boolean; concurrency: number; lane: LaneSpeed | null }>({
      name: 'batch-worker-speeds',
      sql: `
        SELECT ${IS_ALIVE} AS is_alive, concurrency, coalesce(lanes -> $1, lanes -> $2) AS lane
        FROM batch_workers`,
      values: [quota, other],
    });
    return rows.map(({ is_alive: isAlive, concurrency, lane }) => ({ isAlive, concurrency, lane }));
  }
}
