import { Injectable } from '@nestjs/common';
import { Database, type Session } from '../database';
import { LedgerRepository } from '../ledger/ledger.repository';
import { storableText } from '../storable-text';
import type { BatchEnding, BatchStatus } from './batch-status';
import { BatchAnnouncementsRepository } from './batch-announcements.repository';
import { resultsLostOf, sumResults, type BatchTotals, type ReportLoss } from './batch-totals';
import { selectLines, type BatchLine } from './select-lines';

/** A batch as a worker needs it. */
export interface BatchWork {
  readonly id: string;
  readonly number: bigint;
  readonly createdOn: string;
  readonly endpoint: string;
  readonly model: string;
  readonly provider: string;
  readonly total: number;
  readonly fence: bigint;
  readonly isOwnKey: boolean;
}

interface WorkRow {
  id: string;
  number: string;
  created_on: string;
  endpoint: string;
  model: string;
  provider: string;
  total: number;
  fence: string;
  is_own_key: boolean;
}

/** Largest number of the column's type, so that lines beyond `total` are found too. */
const LAST_SEQ = 2_147_483_647;
const WORK_COLUMNS =
  'id, number, created_on::text AS created_on, endpoint, model, provider, total, fence, credential_id IS NOT NULL AS is_own_key';

/** The state of an unfinished batch. */
export interface BatchStep {
  readonly number: bigint;
  readonly status: BatchStatus;
  /** How it will end, if it was stopped before its last line. */
  readonly endsAs: BatchEnding | null;
}

/** A batch that waits for its next step. */
export interface StalledBatch {
  readonly id: string;
  readonly status: BatchStatus;
  readonly organizationId: string;
}

/** The life of a batch row. Every step forward is one guarded UPDATE, so a repeated or late step changes nothing. */
@Injectable()
export class BatchesRepository {
  constructor(
    private readonly database: Database,
    private readonly ledger: LedgerRepository,
    private readonly announcements: BatchAnnouncementsRepository,
  ) {}

  /** Claims the batch for validation; null if it is not waiting for that or another worker has it. */
  async claimValidation(id: string, leaseMs: number): Promise<BatchWork | null> {
    const row = await this.database.firstRow<WorkRow>({
      name: 'batch-claim-validation',
      sql: `
        UPDATE batches SET fence = fence + 1, lease_until = now() + $2 * interval '1 millisecond'
        WHERE id = $1 AND status = 'validating' AND stop_by IS NULL AND (lease_until IS NULL OR lease_until < now())
        RETURNING ${WORK_COLUMNS}`,
      values: [id, leaseMs],
    });
    return row === null ? null : toWork(row);
  }

  /** Extends the lease of a validation; returns false if it was lost. */
  async renewValidation(work: BatchWork, leaseMs: number): Promise<boolean> {
    const touched = await this.database.execute({
      name: 'batch-renew-validation',
      sql: `UPDATE batches SET lease_until = now() + $3 * interval '1 millisecond'
            WHERE id = $1 AND fence = $2 AND status = 'validating' AND stop_by IS NULL`,
      values: [work.id, work.fence, leaseMs],
    });
    return touched === 1;
  }

  /**
   * Returns lines after `afterSeq` in order, for validation: at most `page.lines`, and none after the one that reaches
   * `page.bytes`. Empty if there are no more.
   */
  async linesAfter(
    work: BatchWork,
    afterSeq: number,
    page: { readonly lines: number; readonly bytes: number },
  ): Promise<BatchLine[]> {
    const following = `created_on = '${work.createdOn}' AND batch_number = ${work.number} AND seq > ${afterSeq}`;
    // The length of a body is known without reading it, so large lines are counted and not fetched.
    const lastOfPage = `
      SELECT min(p.seq) FROM (
        SELECT seq, sum(octet_length(body)) OVER (ORDER BY seq) AS bytes
        FROM batch_lines WHERE ${following} ORDER BY seq LIMIT ${page.lines}
      ) p WHERE p.bytes >= ${page.bytes}`;
    return selectLines(
      this.database,
      `l.created_on = '${work.createdOn}' AND l.batch_number = ${work.number} AND l.seq > ${afterSeq}
       AND l.seq <= coalesce((${lastOfPage}), ${LAST_SEQ}) ORDER BY l.seq LIMIT ${page.lines}`,
    );
  }

  /**
   * validating → in_progress. Its segments become claimable in the same commit, in which `assign` may give some of them
   * to the provider's lane.
   */
  async beginProgress(work: BatchWork, assign?: (session: Session) => Promise<void>): Promise<boolean> {
    return this.database.transaction(async (session) => {
      const touched = await session.execute({
        name: 'batch-begin-progress',
        sql: `UPDATE batches SET status = 'in_progress', in_progress_at = now(), lease_until = NULL
              WHERE id = $1 AND fence = $2 AND status = 'validating' AND stop_by IS NULL`,
        values: [work.id, work.fence],
      });
      if (touched !== 1) return false;
      await session.execute({
        name: 'batch-open-segments',
        sql: `UPDATE batch_segments SET state = 'open', available_at = now() WHERE batch_number = $1 AND state = 'waiting'`,
        values: [work.number],
      });
      await assign?.(session);
      return true;
    });
  }

  /** validating → failed: nothing ran, nothing is charged, and the hold is released. */
  async failValidation(work: BatchWork, message: string): Promise<boolean> {
    return this.database.transaction(async (session) => {
      const touched = await session.execute({
        sql: `UPDATE batches SET status = 'failed', error_message = $3, finalized_at = now(), lease_until = NULL,
                                 completed = 0, failed = 0
              WHERE id = $1 AND fence = $2 AND status = 'validating' AND stop_by IS NULL`,
        values: [work.id, work.fence, storableText(message)],
      });
      if (touched !== 1) return false;
      await this.closeBooks(session, work.id, work.number);
      return true;
    });
  }

  /** in_progress → finalizing when no segment has work left. */
  async beginFinalizing(number: bigint): Promise<string | null> {
    const row = await this.database.firstRow<{ id: string }>({
      name: 'batch-begin-finalizing',
      sql: `
        UPDATE batches b SET status = 'finalizing', finalizing_at = now()
        WHERE b.number = $1 AND b.status = 'in_progress' AND b.stop_by IS NULL
          AND NOT EXISTS (SELECT 1 FROM batch_segments s WHERE s.batch_number = b.number AND s.state <> 'done')
        RETURNING b.id`,
      values: [number],
    });
    return row?.id ?? null;
  }

  /**
   * finalizing → completed: sums the results, fixes counts and usage, resolves the hold and removes the segments, in
   * one commit. Because of the row lock, a second finalizer finds nothing to do.
   *
   * A batch that does not have one result for each request ends as failed: existing results are kept and charged,
   * requests without a result count as failed, and `report` says so.
   * @returns false if it was already ended
   */
  async complete(id: string, toUsage: (totals: BatchTotals) => object, report?: ReportLoss): Promise<boolean> {
    const end = await this.database.transaction(async (session) => {
      await session.mayTake(60);
      const row = await session.firstRow<WorkRow>({
        name: 'batch-lock-to-complete',
        sql: `SELECT ${WORK_COLUMNS} FROM batches WHERE id = $1 AND status = 'finalizing' FOR UPDATE SKIP LOCKED`,
        values: [id],
      });
      if (row === null) return null;
      const work = toWork(row);
      const totals = await sumResults(session, work);
      const problem = resultsLostOf(work.total, totals);
      await session.execute({
        name: 'batch-complete',
        sql: `UPDATE batches SET status = CASE WHEN $4::text IS NULL THEN 'completed' ELSE 'failed' END, completed = $2,
                                 failed = greatest(0, total - $2), usage = $3, error_message = $4, finalized_at = now(),
                                 lease_until = NULL
              WHERE id = $1`,
        values: [id, totals.completed, JSON.stringify(toUsage(totals)), problem],
      });
      await this.closeBooks(session, id, work.number);
      return { problem };
    });
    if (end?.problem) report?.(end.problem);
    return end !== null;
  }

  /** Returns the facts that decide a batch's next step; null if the batch is unknown or finished. */
  async findStep(id: string): Promise<BatchStep | null> {
    const row = await this.database.firstRow<Omit<BatchStep, 'number'> & { readonly number: string }>({
      name: 'batch-step',
      sql: `SELECT number, status, ends_as AS "endsAs" FROM batches WHERE id = $1 AND finalized_at IS NULL`,
      values: [id],
    });
    return row === null ? null : { ...row, number: BigInt(row.number) };
  }

  async isOfWorkspace(id: string, workspaceId: string): Promise<boolean> {
    const row = await this.database.firstRow({
      name: 'batch-of-workspace',
      sql: 'SELECT 1 FROM batches WHERE id = $1 AND workspace_id = $2',
      values: [id, workspaceId],
    });
    return row !== null;
  }

  /** Returns batches that wait for a step that no worker seems to run, except those in `exceptIds`. */
  async findStalled(limit: number, exceptIds: readonly string[] = []): Promise<StalledBatch[]> {
    return this.database.rows<StalledBatch>({
      name: 'batches-stalled',
      sql: `
        SELECT b.id, b.status, b.organization_id AS "organizationId" FROM batches b
        WHERE b.finalized_at IS NULL AND b.stop_by IS NULL AND b.id <> ALL($2::text[]) AND (
          (b.status = 'validating' AND (b.lease_until < now()
            OR (b.lease_until IS NULL AND b.created_at < now() - interval '2 seconds')))
          OR b.status = 'finalizing'
          OR (b.status = 'in_progress'
            AND NOT EXISTS (SELECT 1 FROM batch_segments s WHERE s.batch_number = b.number AND s.state <> 'done')))
        ORDER BY b.created_at LIMIT $1`,
      values: [limit, exceptIds],
    });
  }

  private async closeBooks(session: Session, id: string, number: bigint): Promise<void> {
    await this.announcements.announceEnd(session, id);
    await session.execute({
      name: 'batch-delete-segments',
      sql: 'DELETE FROM batch_segments WHERE batch_number = $1',
      values: [number],
    });
    // Done last, because all batches of an organization wait for the row of its account until this one has committed.
    await this.ledger.resolveHold(session, id);
  }
}

function toWork(row: WorkRow): BatchWork {
  return {
    id: row.id,
    number: BigInt(row.number),
    createdOn: row.created_on,
    endpoint: row.endpoint,
    model: row.model,
    provider: row.provider,
    total: row.total,
    fence: BigInt(row.fence),
    isOwnKey: row.is_own_key,
  };
}
