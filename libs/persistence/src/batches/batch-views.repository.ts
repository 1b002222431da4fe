import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import type { BatchStatus } from './batch.entity';

/** A batch as its owner sees it. Times in Unix seconds. */
export interface BatchView {
  readonly id: string;
  readonly number: bigint;
  readonly createdOn: string;
  readonly endpoint: string;
  readonly model: string;
  readonly completionWindow: string;
  readonly status: Exclude<BatchStatus, 'receiving'>;
  readonly createdAt: number;
  readonly finalizedAt: number | null;
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  readonly usage: object | null;
  readonly errorMessage: string | null;
}

interface ViewRow {
  id: string;
  number: string;
  created_on: string;
  endpoint: string;
  model: string;
  completion_window: string;
  status: BatchView['status'];
  created_at: number;
  finalized_at: number | null;
  total: number;
  completed: number;
  failed: number;
  usage: object | null;
  error_message: string | null;
}

/** What callers and operators read of batches. */
@Injectable()
export class BatchViewsRepository {
  constructor(private readonly database: Database) {}

  /** The batch, if it belongs to the workspace. Progress is summed over segments until it is frozen. */
  async findForWorkspace(id: string, workspaceId: string): Promise<BatchView | null> {
    const row = await this.database.firstRow<ViewRow>({
      name: 'batch-view',
      sql: `
        SELECT b.id, b.number, b.created_on::text AS created_on, b.endpoint, b.model, b.completion_window, b.status,
          extract(epoch FROM b.created_at)::float8 AS created_at, extract(epoch FROM b.finalized_at)::float8 AS finalized_at,
          b.total, coalesce(b.completed, p.completed)::integer AS completed, coalesce(b.failed, p.failed)::integer AS failed,
          b.usage, b.error_message
        FROM batches b, LATERAL (
          SELECT coalesce(sum(s.completed), 0) AS completed, coalesce(sum(s.failed), 0) AS failed
          FROM batch_segments s WHERE b.finalized_at IS NULL AND s.batch_number = b.number
        ) p
        WHERE b.id = $1 AND b.workspace_id = $2 AND b.status <> 'receiving'`,
      values: [id, workspaceId],
    });
    return row === null ? null : toView(row);
  }

  /** All that an operator may want to know of one batch, by the names of a report; null when there is none. */
  async report(id: string): Promise<Record<string, string | number | null> | null> {
    return this.database.firstRow<Record<string, string | number | null>>({
      sql: `
        SELECT b.id, b.status, b.workspace_id, b.endpoint, b.model, b.provider, b.total,
          coalesce(b.completed, p.completed)::integer AS completed, coalesce(b.failed, p.failed)::integer AS failed,
          p.waiting::integer AS segments_waiting, p.open::integer AS segments_open, b.error_message,
          h.amount_usd::text AS hold_usd, h.settled_usd::text AS charged_usd, h.state AS hold_state,
          b.created_at::text AS created_at, b.finalized_at::text AS finalized_at, b.expires_at::text AS expires_at
        FROM batches b
        LEFT JOIN ledger_holds h ON h.id = b.id
        CROSS JOIN LATERAL (
          SELECT coalesce(sum(s.completed), 0) AS completed, coalesce(sum(s.failed), 0) AS failed,
            count(*) FILTER (WHERE s.state = 'waiting') AS waiting, count(*) FILTER (WHERE s.state = 'open') AS open
          FROM batch_segments s WHERE s.batch_number = b.number
        ) p
        WHERE b.id = $1`,
      values: [id],
    });
  }
}

function toView(row: ViewRow): BatchView {
  return {
    id: row.id,
    number: BigInt(row.number),
    createdOn: row.created_on,
    endpoint: row.endpoint,
    model: row.model,
    completionWindow: row.completion_window,
    status: row.status,
    createdAt: Math.floor(row.created_at),
    finalizedAt: row.finalized_at === null ? null : Math.floor(row.finalized_at),
    total: row.total,
    completed: row.completed,
    failed: row.failed,
    usage: row.usage,
    errorMessage: row.error_message,
  };
}
