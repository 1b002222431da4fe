import { Injectable } from '@nestjs/common';
import { AdvanceBatch } from '@libs/contracts';
import { failpoint } from '@libs/failpoints';
import { Database } from '../database';
import type { WorkspaceTenant } from '../tenants/tenant';
import type { TenantSession } from '../tenants/tenant-database';
import { OutboxRepository } from '../outbox/outbox.repository';
import type { BatchStatus, UpstreamDeletion } from './batch-status';

/**
 * Result of a removal. `unknown`: no such batch, or already removed. `unfinished`: it is not in a terminal status.
 * `awaits-upstream`: the provider's data must be deleted first, and a worker was asked to do that. `upstream-refused`:
 * the provider refused; nothing was removed here. `upstream-unreachable`: the provider cannot be called, because the
 * key of the batch was deleted; nothing was removed here.
 */
export type RemovalAnswer =
  | { readonly kind: 'unknown' | 'unfinished' | 'awaits-upstream' | 'upstream-refused' | 'upstream-unreachable' }
  | {
      readonly kind: 'removed';
      readonly provider: string | null;
      /** Null if no provider stored anything. */
      readonly upstream: 'deleted' | 'unsupported' | null;
    };

/** Longer than a message and the answer of a provider usually take. */
const MESSAGE_MS = 30_000;

interface LockedBatch {
  readonly number: string;
  readonly created_on: string;
  readonly status: BatchStatus;
  readonly finalized: boolean;
  readonly provider: string | null;
  readonly upstream_deletion: UpstreamDeletion | null;
}

/** DELETE /batches/{id}: deletes requests and results, keeps the row and the ledger. */
@Injectable()
export class BatchRemovalRepository {
  constructor(
    private readonly database: Database,
    private readonly outbox: OutboxRepository,
  ) {}

  /**
   * Removes everything in one commit, or nothing. The row is locked meanwhile: a second removal waits and then finds
   * the batch removed. `begin`: the first attempt of a request, which asks the provider again after a refusal, and a
   * worker again if its message may be lost.
   */
  async remove(id: string, tenant: WorkspaceTenant, begin: boolean): Promise<RemovalAnswer> {
    return this.database.asTenant(tenant, [id]).transaction(async (session) => {
      await session.mayTake(60);
      await session.mayWaitForLocks(30_000);
      const batch = await lock(session, id, tenant.workspaceId);
      if (batch === null) return { kind: 'unknown' };
      if (!batch.finalized) return { kind: 'unfinished' };
      const failure = failureOf(batch);
      const isRequested = batch.upstream_deletion === 'requested';
      if (batch.upstream_deletion === 'due' || (begin && (isRequested || failure !== null))) {
        await this.requestUpstream(session, id, tenant.workspaceId);
        return { kind: 'awaits-upstream' };
      }
      if (isRequested) return { kind: 'awaits-upstream' };
      if (failure !== null) return { kind: failure };
      await purge(session, batch.number, batch.created_on);
      await session.execute({
        name: 'batch-mark-deleted',
        sql: 'UPDATE batches SET deleted_at = now(), idempotency_key = NULL, request_hash = NULL WHERE id = $1',
        values: [id],
      });
      return { kind: 'removed', provider: batch.provider, upstream: upstreamOf(batch) };
    });
  }

  /** Returns whether a worker is asked to have the provider delete its data of the batch. */
  async isUpstreamRequested(id: string): Promise<boolean> {
    const row = await this.database.firstRow({
      name: 'batch-upstream-requested',
      sql: `SELECT 1 FROM batches WHERE id = $1 AND upstream_deletion = 'requested' AND deleted_at IS NULL`,
      values: [id],
    });
    return row !== null;
  }

  /**
   * Returns batches whose message to a worker has led to no answer, the oldest request first, except those in
   * `exceptIds`.
   */
  async findRequested(limit: number, exceptIds: readonly string[] = []): Promise<string[]> {
    const rows = await this.database.rows<{ id: string }>({
      name: 'batches-removal-requested',
      sql: `SELECT id FROM batches
            WHERE upstream_deletion = 'requested' AND deleted_at IS NULL AND id <> ALL($3::text[])
              AND (upstream_requested_at IS NULL OR upstream_requested_at < now() - $2 * interval '1 millisecond')
            ORDER BY upstream_requested_at NULLS FIRST LIMIT $1`,
      values: [limit, MESSAGE_MS, exceptIds],
    });
    return rows.map(({ id }) => id);
  }

  /** Stores the provider's answer (null: it stored nothing), once per request. */
  async reportUpstream(
    id: string,
    outcome: 'deleted' | 'unsupported' | 'refused' | 'unreachable' | null,
  ): Promise<boolean> {
    const touched = await this.database.execute({
      name: 'batch-upstream-answer',
      sql: `UPDATE batches SET upstream_deletion = $2 WHERE id = $1 AND upstream_deletion = 'requested'`,
      values: [id, outcome],
    });
    return touched === 1;
  }

  private async requestUpstream(session: TenantSession, id: string, workspaceId: string): Promise<void> {
    await session.execute({
      name: 'batch-request-upstream',
      sql: `UPDATE batches SET upstream_deletion = 'requested', upstream_requested_at = now() WHERE id = $1`,
      values: [id],
    });
    await this.outbox.add(session, AdvanceBatch, { batchId: id, workspaceId });
  }
}

function failureOf({ upstream_deletion: deletion }: LockedBatch): 'upstream-refused' | 'upstream-unreachable' | null {
  return deletion === 'refused' || deletion === 'unreachable' ? `upstream-${deletion}` : null;
}

function upstreamOf({ upstream_deletion: deletion }: LockedBatch): 'deleted' | 'unsupported' | null {
  return deletion === 'deleted' || deletion === 'unsupported' ? deletion : null;
}

function lock(session: TenantSession, id: string, workspaceId: string): Promise<LockedBatch | null> {
  return session.firstRow<LockedBatch>({
    name: 'batch-lock-to-remove',
    sql: `
      SELECT number, created_on::text AS created_on, status, finalized_at IS NOT NULL AS finalized, provider,
             upstream_deletion
      FROM batches WHERE id = $1 AND workspace_id = $2 AND status <> 'receiving' AND deleted_at IS NULL FOR UPDATE`,
    values: [id, workspaceId],
  });
}

async function purge(session: TenantSession, number: string, createdOn: string): Promise<void> {
  for (const table of ['batch_results', 'batch_lines']) {
    await session.execute({
      name: `batch-purge-${table}`,
      sql: `DELETE FROM ${table} WHERE batch_number = $1 AND created_on = $2`,
      values: [number, createdOn],
    });
    failpoint('batch-table-purged');
  }
}
