import { Injectable } from '@nestjs/common';
import type { BatchSnapshot } from '@libs/contracts';
import { Database } from '../database';
import type { WorkspaceTenant } from '../tenants/tenant';
import { toBatchQuote, type BatchQuote, type StoredQuote } from './batch-quote';
import type { BatchStatus } from './batch-status';

/** A batch as its owner sees it, and the position of its rows. */
export interface BatchView extends BatchSnapshot {
  readonly number: bigint;
  readonly createdOn: string;
  /** Slug of the batch's provider; null if it never had one. */
  readonly provider: string | null;
  /** True if older than the retention time: requests and results are deleted or about to be. */
  readonly resultsGone: boolean;
  /** Webhook URL for its end; null if there is none. */
  readonly callbackUrl: string | null;
  readonly quote: BatchQuote | null;
}

/** Which batches of a workspace to list. Times are exact to the microsecond, as ISO 8601 text. */
export interface BatchFilter {
  readonly statuses: readonly BatchStatus[] | null;
  /** Strictly after, strictly before. */
  readonly createdAfter: string | null;
  readonly createdBefore: string | null;
}

export interface BatchViewRow {
  id: string;
  number: string;
  created_on: string;
  endpoint: string;
  model: string;
  completion_window: string;
  status: BatchView['status'];
  created_at: number;
  finalized_at: number | null;
  expires_at: number;
  total: number;
  completed: number;
  failed: number;
  usage: object | null;
  error_message: string | null;
  provider: string | null;
  results_gone: boolean;
  callback_url: string | null;
  quote: StoredQuote | null;
}

/** Requests and results are stored for 30 days from the creation of their batch. */
export const BATCH_RETENTION_DAYS = 30;

/** Columns of BatchViewRow; `completed` and `failed` are the counts of a batch that is not over. */
const viewColumns = (completed: string, failed: string): string => `
  b.id, b.number, b.created_on::text AS created_on, b.endpoint, b.model, b.completion_window, b.status,
  extract(epoch FROM b.created_at)::float8 AS created_at, extract(epoch FROM b.finalized_at)::float8 AS finalized_at,
  extract(epoch FROM b.expires_at)::float8 AS expires_at,
  b.total, coalesce(b.completed, ${completed})::integer AS completed, coalesce(b.failed, ${failed})::integer AS failed,
  b.usage, b.error_message, b.provider, b.quote, b.callback_url,
  b.created_at <= now() - interval '${BATCH_RETENTION_DAYS} days' AS results_gone`;
/** For RETURNING of a statement that changes `batches b`: a BatchViewRow of a batch that has no result yet. */
export const NEW_BATCH_VIEW = viewColumns('0', '0');
// Progress is summed over segments until the counts are final: at most a few thousand short rows, and none afterwards.
const PROGRESS = `
  LATERAL (
    SELECT coalesce(sum(s.completed), 0) AS completed, coalesce(sum(s.failed), 0) AS failed
    FROM batch_segments s WHERE b.finalized_at IS NULL AND s.batch_number = b.number
  ) p`;
/** Beginning of a statement: a row of `BatchViewRow` for each batch. */
export const BATCH_VIEW_SQL = `SELECT ${viewColumns('p.completed', 'p.failed')} FROM batches b, ${PROGRESS}`;
const VISIBLE = `b.status <> 'receiving' AND b.deleted_at IS NULL`;

/** Reads batches for callers and operators. */
@Injectable()
export class BatchViewsRepository {
  constructor(private readonly database: Database) {}

  /** Returns the batch, if it belongs to the workspace and was not deleted. */
  async findForWorkspace(id: string, tenant: WorkspaceTenant): Promise<BatchView | null> {
    const row = await this.database.asTenant(tenant, [id]).firstRow<BatchViewRow>({
      name: 'batch-view',
      sql: `${BATCH_VIEW_SQL} WHERE b.id = $1 AND b.workspace_id = $2 AND ${VISIBLE}`,
      values: [id, tenant.workspaceId],
    });
    return row === null ? null : toBatchView(row);
  }

  /**
   * Returns up to `limit` batches of the workspace, newest first, after the one with the id `afterId`. A deleted batch
   * may be the cursor, because its position in the order is kept.
   * @returns null if `afterId` names no batch of the workspace
   */
  async listForWorkspace(
    tenant: WorkspaceTenant,
    filter: BatchFilter,
    afterId: string | null,
    limit: number,
  ): Promise<BatchView[] | null> {
    if (afterId !== null && !(await this.wasInWorkspace(afterId, tenant))) return null;
    const ids = await this.idsInWorkspace(tenant, filter, afterId, limit);
    if (ids.length === 0) return [];
    const rows = await this.database.asTenant(tenant, ids).rows<BatchViewRow>({
      name: 'batches-list',
      sql: `${BATCH_VIEW_SQL} WHERE b.id = ANY($1) AND b.workspace_id = $2 AND ${VISIBLE}
            ORDER BY b.created_at DESC, b.id DESC`,
      values: [ids, tenant.workspaceId],
    });
    return rows.map(toBatchView);
  }

  /** Returns the ids of a page. The tenant role sees only segments of named batches, so the ids are read first. */
  private async idsInWorkspace(
    tenant: WorkspaceTenant,
    filter: BatchFilter,
    afterId: string | null,
    limit: number,
  ): Promise<string[]> {
    const rows = await this.database.asTenant(tenant).rows<{ id: string }>({
      name: 'batches-list-ids',
      sql: `
        SELECT b.id FROM batches b
        WHERE b.workspace_id = $1 AND ${VISIBLE}
          AND ($2::text[] IS NULL OR b.status = ANY($2)) AND ($3::timestamptz IS NULL OR b.created_at > $3)
          AND ($4::timestamptz IS NULL OR b.created_at < $4)
          AND ($5::text IS NULL OR (b.created_at, b.id) < (SELECT c.created_at, c.id FROM batches c WHERE c.id = $5))
        ORDER BY b.created_at DESC, b.id DESC LIMIT $6`,
      values: [tenant.workspaceId, filter.statuses, filter.createdAfter, filter.createdBefore, afterId, limit],
    });
    return rows.map(({ id }) => id);
  }

  private async wasInWorkspace(id: string, tenant: WorkspaceTenant): Promise<boolean> {
    const row = await this.database.asTenant(tenant).firstRow({
      name: 'batch-cursor',
      sql: `SELECT 1 FROM batches WHERE id = $1 AND workspace_id = $2 AND status <> 'receiving'`,
      values: [id, tenant.workspaceId],
    });
    return row !== null;
  }

  /** Returns a report on one batch for an operator, by field name; null if there is no such batch. */
  async report(id: string): Promise<Record<string, string | number | null> | null> {
    return this.database.firstRow<Record<string, string | number | null>>({
      sql: `
        SELECT b.id, b.status, b.workspace_id, b.endpoint, b.model, b.provider, b.total,
          coalesce(b.completed, p.completed)::integer AS completed, coalesce(b.failed, p.failed)::integer AS failed,
          p.waiting::integer AS segments_waiting, p.open::integer AS segments_open, b.error_message,
          h.amount_usd::text AS hold_usd, h.settled_usd::text AS charged_usd, h.state AS hold_state,
          b.created_at::text AS created_at, b.finalized_at::text AS finalized_at, b.expires_at::text AS expires_at,
          b.ends_as, b.deleted_at::text AS deleted_at, b.upstream_deletion
        FROM batches b
        LEFT JOIN ledger_holds h ON h.id = b.id
        CROSS JOIN LATERAL (
          SELECT coalesce(sum(s.completed), 0) AS completed, coalesce(sum(s.failed), 0) AS failed,
            count(*) FILTER (WHERE s.state = 'waiting') AS waiting, count(*) FILTER (WHERE s.state IN ('open', 'parked', 'suspect')) AS open
          FROM batch_segments s WHERE s.batch_number = b.number
        ) p
        WHERE b.id = $1`,
      values: [id],
    });
  }
}

export function toBatchView(row: BatchViewRow): BatchView {
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
    expiresAt: Math.floor(row.expires_at),
    total: row.total,
    completed: row.completed,
    failed: row.failed,
    usage: row.usage,
    errorMessage: row.error_message,
    provider: row.provider,
    resultsGone: row.results_gone,
    callbackUrl: row.callback_url,
    quote: row.quote === null ? null : toBatchQuote(row.quote, row.created_at),
  };
}
