import { Injectable } from '@nestjs/common';
import type { NumberedPiece } from '@libs/contracts';
import { Database } from '../database';
import type { WorkspaceTenant } from '../tenants/tenant';
import type { LineError } from './batch-results.repository';
import { isByok, listUsd } from './result-price-sql';
import { BATCH_RETENTION_DAYS } from './batch-views.repository';

/** A finished line of a batch, with its request. Amounts are exact decimal strings in US dollars. */
export interface BatchLineView {
  readonly workspaceId: string;
  readonly endpoint: string;
  /** The model as the batch's caller sent it. */
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  /** When the batch was created. */
  readonly createdAt: Date;
  readonly requestId: string | null;
  readonly statusCode: number | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly costUsd: string;
  /** What its provider charged the owner of the key, by list price; null unless a caller's own key was used. */
  readonly upstreamCostUsd: string | null;
  readonly serviceTier: string | null;
  /** Null for a line that failed, and for a body longer than requested. */
  readonly body: Buffer | null;
  readonly error: LineError | null;
  /** Null if it is longer than requested. */
  readonly request: Buffer | null;
  readonly requestBytes: number;
}

/**
 * Single lines of batches, found by the ids of their generations. There is no index from these ids to results, so that
 * storing a line costs nothing extra. An id contains the number of the line and nearly all of the batch's id, so the
 * batch is found by the order of ids and the result by its primary key.
 */
@Injectable()
export class BatchLineViewsRepository {
  constructor(private readonly database: Database) {}

  /** Returns the line, if it has an outcome that is still stored and its batch belongs to the workspace. */
  async find(
    generationId: string,
    { wholeStem, index }: NumberedPiece,
    tenant: WorkspaceTenant,
    mostBytes: number,
  ): Promise<BatchLineView | null> {
    if (index > LAST_SEQ) return null;
    const batchIds = await this.batchesLike(wholeStem, tenant);
    if (batchIds.length === 0) return null;
    return this.database.asTenant(tenant, batchIds).firstRow<BatchLineView>({
      name: 'batch-line-view',
      sql: `
        SELECT b.workspace_id AS "workspaceId", b.endpoint, b.model, b.provider, b.upstream_model AS "upstreamModel",
          b.created_at AS "createdAt", r.request_id AS "requestId", r.status_code AS "statusCode",
          r.prompt_tokens::float8 AS "promptTokens", r.completion_tokens::float8 AS "completionTokens",
          r.cached_tokens::float8 AS "cachedTokens", r.reasoning_tokens::float8 AS "reasoningTokens",
          r.cost_usd::text AS "costUsd", r.service_tier AS "serviceTier", r.error,
          CASE WHEN ${isByok('r')} THEN ${listUsd('r')}::text END AS "upstreamCostUsd",
          CASE WHEN octet_length(r.body) <= $4 THEN r.body END AS body,
          CASE WHEN octet_length(l.body) <= $4 THEN l.body END AS request, octet_length(l.body) AS "requestBytes"
        FROM batches b
        JOIN batch_results r ON r.created_on = b.created_on AND r.batch_number = b.number AND r.seq = $2
        JOIN batch_lines l ON l.created_on = b.created_on AND l.batch_number = b.number AND l.seq = $2
        WHERE b.id = ANY($1) AND b.workspace_id = $5 AND r.generation_id = $3`,
      values: [batchIds, index, generationId, mostBytes, tenant.workspaceId],
    });
  }

  /** Returns one batch id, unless two ids of the same second have 83 equal random bits. */
  private async batchesLike(stem: string, tenant: WorkspaceTenant): Promise<string[]> {
    const rows = await this.database.asTenant(tenant).rows<{ id: string }>({
      name: 'batch-like',
      sql: `
        SELECT b.id FROM batches b
        WHERE b.id > $1 AND b.id < $2 AND starts_with(b.id, $1) AND b.workspace_id = $3 AND b.deleted_at IS NULL
          AND b.created_at > now() - interval '${BATCH_RETENTION_DAYS} days'
        LIMIT 2`,
      values: [stem, `${stem}${AFTER_ALL}`, tenant.workspaceId],
    });
    return rows.map(({ id }) => id);
  }
}

/** Longer than the missing part of an id, so that it sorts after all of them in any collation. */
const AFTER_ALL = 'zzzzzzz';
const LAST_SEQ = 2_147_483_647;
