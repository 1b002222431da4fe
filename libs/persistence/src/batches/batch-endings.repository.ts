import { Injectable } from '@nestjs/common';
import { AdvanceBatch } from '@libs/contracts';
import { Database, type Session } from '../database';
import { LedgerRepository } from '../ledger/ledger.repository';
import { OutboxRepository } from '../outbox/outbox.repository';
import { storableText } from '../storable-text';
import { BatchAnnouncementsRepository } from './batch-announcements.repository';
import type { WorkspaceTenant } from '../tenants/tenant';
import { linesLostOf, sumResults, type BatchTotals, type ReportLoss } from './batch-totals';
import type { BatchEnding, BatchStatus } from './batch-status';

/** A batch that must end before its last line. */
export interface StoppingBatch {
  readonly id: string;
  readonly number: bigint;
  readonly organizationId: string;
  readonly endsAs: BatchEnding;
}

interface StoppingRow extends Omit<StoppingBatch, 'number'> {
  readonly number: string;
}

/** `stopping`: it was cancelled before or now. `settled`: it is over, or is already ending by itself. */
export type CancelAnswer = 'stopping' | 'settled' | 'unknown';

interface LockedBatch {
  readonly number: string;
  readonly status: BatchStatus;
  readonly ends_as: BatchEnding | null;
}

const CANCELLABLE: ReadonlySet<BatchStatus> = new Set<BatchStatus>(['validating', 'in_progress', 'finalizing']);

/** How long running lines have for their results after no new line begins. */
export const WIND_UP_MS = 6_000;

/**
 * Ends batches before their last line: cancelled, expired, or failed midway.
 *
 * Stopping is one guarded UPDATE that sets how the batch will end and until when running lines may still get results.
 * The same commit closes every segment without a lease, and no claim or validation step touches a stopping batch.
 * Workers close the segments that they hold. `finish` deletes segments that were not closed in time before it computes
 * the sums: the DELETE waits for results that are being written, and a later result finds no segment. So these sums are
 * final.
 */
@Injectable()
export class BatchEndingsRepository {
  constructor(
    private readonly database: Database,
    private readonly ledger: LedgerRepository,
    private readonly outbox: OutboxRepository,
    private readonly announcements: BatchAnnouncementsRepository,
  ) {}

  /** validating | in_progress | finalizing → cancelling, with the job message that makes a worker end it. */
  async cancel(id: string, tenant: WorkspaceTenant): Promise<CancelAnswer> {
    return this.database.asTenant(tenant, [id]).transaction(async (session) => {
      const batch = await session.firstRow<LockedBatch>({
        name: 'batch-lock-to-cancel',
        sql: `SELECT number, status, ends_as FROM batches
              WHERE id = $1 AND workspace_id = $2 AND status <> 'receiving' AND deleted_at IS NULL FOR UPDATE`,
        values: [id, tenant.workspaceId],
      });
      if (batch === null) return 'unknown';
      if (batch.status === 'cancelling') return 'stopping';
      if (batch.ends_as !== null || !CANCELLABLE.has(batch.status)) return 'settled';
      await session.execute({
        name: 'batch-cancel',
        sql: `UPDATE batches SET status = 'cancelling', ends_as = 'cancelled', lease_until = NULL, fence = fence + 1,
                                 stop_by = now() + $2 * interval '1 millisecond' WHERE id = $1`,
        values: [id, WIND_UP_MS],
      });
      await closeUnheldSegments(session, batch.number);
      await this.outbox.add(session, AdvanceBatch, { batchId: id, workspaceId: tenant.workspaceId });
      return 'stopping';
    });
  }

  /** Returns the ids of batches whose 24 hours are over, except those in `exceptIds`. */
  async findExpired(limit: number, exceptIds: readonly string[] = []): Promise<string[]> {
    const rows = await this.database.rows<{ id: string }>({
      name: 'batches-expired',
      sql: `
        SELECT id FROM batches
        WHERE status IN ('validating', 'in_progress') AND finalized_at IS NULL AND stop_by IS NULL
          AND expires_at <= now() AND id <> ALL($2::text[])
        ORDER BY expires_at LIMIT $1`,
      values: [limit, exceptIds],
    });
    return rows.map(({ id }) => id);
  }

  /** Begins to end a batch whose 24 hours are over; returns false if it is already ending. */
  async expire(id: string): Promise<boolean> {
    return this.database.transaction(async (session) => {
      const row = await session.firstRow<{ number: string }>({
        name: 'batch-expire',
        sql: `
          UPDATE batches SET ends_as = 'expired', stop_by = now() + $2 * interval '1 millisecond', fence = fence + 1
          WHERE id = $1 AND status IN ('validating', 'in_progress') AND stop_by IS NULL AND expires_at <= now()
          RETURNING number`,
        values: [id, WIND_UP_MS],
      });
      if (row === null) return false;
      await closeUnheldSegments(session, row.number);
      return true;
    });
  }

  /** Ends a running batch as failed; existing results are kept. Returns false if it is ending anyway. */
  async fail(id: string, message: string): Promise<boolean> {
    return this.database.transaction(async (session) => {
      const row = await session.firstRow<{ number: string }>({
        name: 'batch-fail',
        sql: `UPDATE batches SET ends_as = 'failed', error_message = $2, fence = fence + 1,
                                 stop_by = now() + $3 * interval '1 millisecond'
              WHERE id = $1 AND status IN ('validating', 'in_progress') AND stop_by IS NULL RETURNING number`,
        values: [id, storableText(message), WIND_UP_MS],
      });
      if (row === null) return false;
      await closeUnheldSegments(session, row.number);
      return true;
    });
  }

  /** Returns batches that must end before their last line, the earliest due first, except those in `exceptIds`. */
  async findStopping(limit: number, exceptIds: readonly string[] = []): Promise<StoppingBatch[]> {
    const rows = await this.database.rows<StoppingRow>({
      name: 'batches-stopping',
      sql: `SELECT id, number, organization_id AS "organizationId", ends_as AS "endsAs" FROM batches
            WHERE stop_by IS NOT NULL AND finalized_at IS NULL AND id <> ALL($2::text[]) ORDER BY stop_by LIMIT $1`,
      values: [limit, exceptIds],
    });
    return rows.map((row) => ({ ...row, number: BigInt(row.number) }));
  }

  /**
   * Ends a stopping batch when none of its segments is leased or its time to finish is over: fixes counts and usage,
   * counts lines without a result as failed, and resolves the hold. Returns how it ended, or null if it is too early or
   * another worker is ending it. Later results are discarded.
   *
   * A batch that has lost lines still ends as planned; its error message names the loss, and so does `report`.
   */
  async finish(
    number: bigint,
    toUsage: (totals: BatchTotals) => object,
    report?: ReportLoss,
  ): Promise<BatchEnding | null> {
    const end = await this.database.transaction(async (session) => {
      await session.mayTake(60);
      const row = await session.firstRow<{ id: string; created_on: string; total: number; ends_as: BatchEnding }>({
        name: 'batch-lock-to-finish',
        sql: `
          SELECT b.id, b.created_on::text AS created_on, b.total, b.ends_as FROM batches b
          WHERE b.number = $1 AND b.stop_by IS NOT NULL AND b.finalized_at IS NULL
            AND (b.stop_by <= now() OR NOT EXISTS (
              SELECT 1 FROM batch_segments s
              WHERE s.batch_number = b.number
                AND (s.state = 'parked' OR (s.state = 'open' AND s.available_at > now()))))
          FOR UPDATE OF b SKIP LOCKED`,
        values: [number],
      });
      if (row === null) return null;
      await session.execute({
        name: 'batch-delete-segments',
        sql: 'DELETE FROM batch_segments WHERE batch_number = $1',
        values: [number],
      });
      const of = { createdOn: row.created_on, number, total: row.total };
      const totals = await sumResults(session, of);
      const problem = await linesLostOf(session, of);
      await session.execute({
        name: 'batch-end',
        sql: `UPDATE batches SET status = ends_as, completed = $2, failed = greatest(0, total - $2), usage = $3,
                                 finalized_at = now(), lease_until = NULL,
                                 error_message = nullif(concat_ws('. ', error_message, $4::text), '') WHERE id = $1`,
        values: [row.id, totals.completed, JSON.stringify(toUsage(totals)), problem],
      });
      await this.announcements.announceEnd(session, row.id);
      await this.ledger.resolveHold(session, row.id);
      return { ending: row.ends_as, problem };
    });
    if (end?.problem) report?.(end.problem);
    return end?.ending ?? null;
  }
}

/**
 * A leased segment stays with its worker, which will close it. Locked in key order, like every other lock on segments.
 */
async function closeUnheldSegments(session: Session, number: string): Promise<void> {
  await session.execute({
    name: 'segments-close-unheld',
    sql: `
      UPDATE batch_segments s SET state = 'done', fence = s.fence + 1
      FROM (SELECT number FROM batch_segments
            WHERE batch_number = $1 AND (state IN ('waiting', 'suspect') OR (state = 'open' AND available_at <= now()))
            ORDER BY number FOR UPDATE) unheld
      WHERE s.batch_number = $1 AND s.number = unheld.number`,
    values: [number],
  });
}
