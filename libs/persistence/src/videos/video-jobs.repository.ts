import { Injectable } from '@nestjs/common';
import { withinRooms, type ClaimRooms } from '../claims/claim-rooms';
import { Database } from '../database';
import type { VideoStatusName, VideoStep } from './video-state';

/** A job that a worker holds. */
export interface VideoJob {
  readonly id: string;
  /** Every write contains it; a write of a former holder changes no row. */
  readonly fence: bigint;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly apiKeyHash: string;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly region: string;
  readonly credentialId: string | null;
  readonly status: VideoStatusName;
  readonly step: VideoStep;
  readonly attempts: number;
  /** How often its provider reported that its outputs no longer exist. */
  readonly outputAttempts: number;
  /** How often the provider was searched for it. */
  readonly searches: number;
  /** True if it is unknown whether the provider accepted it, and its time in review is over. */
  readonly needsReview: boolean;
  readonly operation: Readonly<Record<string, unknown>> | null;
  readonly callbackUrl: string | null;
  readonly priceUsd: string;
  readonly listPriceUsd: string;
  /** True if its lifetime is over. */
  readonly isOverdue: boolean;
}

/** A poll that brought nothing final. */
export interface VideoWait {
  readonly job: Pick<VideoJob, 'id' | 'fence'>;
  readonly status: 'pending' | 'in_progress';
  readonly delayMs: number;
  /** True if the provider calls it finished and reports that its outputs no longer exist. */
  readonly isOutputGone?: boolean;
}

type JobRow = Omit<VideoJob, 'fence'> & { readonly fence: string };

const JOB_COLUMNS = `v.id, v.fence::text AS fence, v.organization_id AS "organizationId",
  v.workspace_id AS "workspaceId", v.api_key_hash AS "apiKeyHash", v.model, v.provider,
  v.upstream_model AS "upstreamModel", v.region, v.credential_id AS "credentialId", v.status, v.step, v.attempts,
  v.output_attempts AS "outputAttempts", v.searches, v.needs_review AS "needsReview", v.operation, v.callback_url AS "callbackUrl", v.price_usd::text AS "priceUsd",
  v.list_price_usd::text AS "listPriceUsd", v.expires_at < now() AS "isOverdue"`;

const OPEN = 'finished_at IS NULL';
const DUE = 'next_at <= now() AND (lease_until IS NULL OR lease_until < now())';
const CLAIMED = { table: 'videos', id: 'id', at: 'next_at', open: OPEN, due: `${DUE} AND id <> ALL($3::text[])` };

/**
 * The life of a video job up to its end. A job belongs to the worker that claimed it last: the claim raises its fence,
 * every later write contains that fence, and a write that comes too late changes no row.
 */
@Injectable()
export class VideoJobsRepository {
  constructor(private readonly database: Database) {}

  /** Claims up to `limit` jobs whose next step is due, the longest waiting first, except those in `exceptIds`. */
  async claimDue(
    limit: number,
    leaseMs: number,
    exceptIds: readonly string[] = [],
    rooms: ClaimRooms | null = null,
  ): Promise<VideoJob[]> {
    const rows = await this.database.rows<JobRow>({
      name: 'videos-claim-due',
      sql: `
        UPDATE videos v SET fence = v.fence + 1, lease_until = now() + $2 * interval '1 millisecond'
        FROM (
          SELECT o.id FROM (${withinRooms(CLAIMED, '$4', '$1')}) due JOIN videos o ON o.id = due.id
          WHERE ${OPEN} AND ${DUE} ORDER BY due.at, due.id LIMIT $1 FOR UPDATE OF o SKIP LOCKED
        ) picked
        WHERE v.id = picked.id
        RETURNING ${JOB_COLUMNS}`,
      values: [limit, leaseMs, exceptIds, rooms && JSON.stringify(rooms)],
    });
    return rows.map((row) => ({ ...row, fence: BigInt(row.fence) }));
  }

  /** Gives jobs back that were not begun: they are due as they were. */
  async giveBack(jobs: readonly Pick<VideoJob, 'id' | 'fence'>[]): Promise<void> {
    await this.database.execute({
      name: 'videos-give-back',
      sql: `
        UPDATE videos v SET lease_until = NULL FROM unnest($1::text[], $2::bigint[]) AS held(id, fence)
        WHERE v.id = held.id AND v.fence = held.fence AND v.finished_at IS NULL`,
      values: [jobs.map(({ id }) => id), jobs.map(({ fence }) => fence)],
    });
  }

  /**
   * Extends the leases of jobs that are still held here. One that was just given back keeps its fence but has no lease:
   * it must stay free. One that is being written at this moment is renewed the next time.
   */
  async renew(jobs: readonly Pick<VideoJob, 'id' | 'fence'>[], leaseMs: number): Promise<void> {
    await this.database.execute({
      name: 'videos-renew',
      sql: `
        UPDATE videos v SET lease_until = now() + $3 * interval '1 millisecond'
        FROM (
          SELECT v.id FROM videos v JOIN unnest($1::text[], $2::bigint[]) AS held(id, fence) USING (id, fence)
          WHERE v.finished_at IS NULL AND v.lease_until IS NOT NULL
          FOR UPDATE OF v SKIP LOCKED
        ) kept
        WHERE v.id = kept.id`,
      values: [jobs.map(({ id }) => id), jobs.map(({ fence }) => fence), leaseMs],
    });
  }

  /**
   * Records the intent to submit, before the provider is called. A worker that later finds the job in this state knows
   * that it may have been submitted.
   * @returns what to submit; null if the lease of the job was lost
   */
  async beginSubmission({ id, fence }: VideoJob): Promise<object | null> {
    const row = await this.database.firstRow<{ request: object }>({
      name: 'video-begin-submission',
      sql: `
        UPDATE videos SET step = 'submitting', attempts = attempts + 1
        WHERE id = $1 AND fence = $2 AND step IN ('submit', 'submitting') AND finished_at IS NULL
        RETURNING request`,
      values: [id, fence],
    });
    return row?.request ?? null;
  }

  /** Records that the provider accepted the job; its request is no longer needed. */
  async markSubmitted({ id, fence }: VideoJob, operation: object, delayMs: number): Promise<boolean> {
    const touched = await this.database.execute({
      name: 'video-submitted',
      sql: `
        UPDATE videos SET step = 'poll', operation = $3, request = NULL, attempts = 0, lease_until = NULL,
          next_at = least(expires_at, now() + $4 * interval '1 millisecond')
        WHERE id = $1 AND fence = $2 AND step <> 'poll' AND finished_at IS NULL`,
      values: [id, fence, JSON.stringify(operation), delayMs],
    });
    return touched === 1;
  }

  /**
   * Stores the provider's id of a job whose lease was lost during the request, or whose id may already be stored. The
   * id is certain, so it is stored whichever worker holds the job now, and ends a review. The holder can write nothing
   * more.
   * @returns false if the job has ended, or has another id
   */
  async submittedAfterAll({ id }: VideoJob, operation: { readonly id?: unknown }, delayMs: number): Promise<boolean> {
    const touched = await this.database.execute({
      name: 'video-submitted-after-all',
      sql: `
        UPDATE videos SET step = 'poll', operation = $2, request = NULL, attempts = 0, needs_review = false,
          fence = fence + 1, lease_until = NULL, next_at = least(expires_at, now() + $3 * interval '1 millisecond')
        WHERE id = $1 AND operation IS NULL AND finished_at IS NULL`,
      values: [id, JSON.stringify(operation), delayMs],
    });
    if (touched === 1) return true;
    const known = await this.database.firstRow({
      name: 'video-is-submitted',
      sql: `SELECT 1 FROM videos WHERE id = $1 AND operation->>'id' = $2::json->>'id'`,
      values: [id, JSON.stringify(operation)],
    });
    return known !== null;
  }

  /** Retries a submission later: from its start if there is definitely no job yet; otherwise as one that may exist. */
  async retrySubmission({ id, fence }: VideoJob, step: 'submit' | 'submitting', delayMs: number): Promise<void> {
    await this.database.execute({
      name: 'video-retry-submission',
      sql: `
        UPDATE videos SET step = $3, lease_until = NULL,
          next_at = least(expires_at, now() + $4 * interval '1 millisecond')
        WHERE id = $1 AND fence = $2 AND step <> 'poll' AND finished_at IS NULL`,
      values: [id, fence, step, delayMs],
    });
  }

  /** Counts a search for a job that may have been submitted. */
  async countSearch({ id, fence }: VideoJob): Promise<void> {
    await this.database.execute({
      name: 'video-count-search',
      sql: 'UPDATE videos SET searches = searches + 1 WHERE id = $1 AND fence = $2 AND finished_at IS NULL',
      values: [id, fence],
    });
  }

  /**
   * Sends a job that may have been submitted to review by an operator for `reviewMs`. After that it is due again.
   * @returns false if the lease was lost
   */
  async sendToReview({ id, fence }: VideoJob, reviewMs: number): Promise<boolean> {
    const touched = await this.database.execute({
      name: 'video-to-review',
      sql: `
        UPDATE videos SET needs_review = true, lease_until = NULL, next_at = now() + $3 * interval '1 millisecond'
        WHERE id = $1 AND fence = $2 AND step = 'submitting' AND finished_at IS NULL`,
      values: [id, fence, reviewMs],
    });
    return touched === 1;
  }

  /** Gives jobs back until they are looked at again, many in one statement. */
  async wait(waits: readonly VideoWait[]): Promise<void> {
    await this.database.execute({
      name: 'videos-wait',
      sql: `
        UPDATE videos v SET lease_until = NULL, attempts = v.attempts + 1,
          output_attempts = v.output_attempts + waiting.gone::integer,
          status = CASE WHEN v.status = 'in_progress' THEN v.status ELSE waiting.status END,
          next_at = least(v.expires_at, now() + waiting.delay_ms * interval '1 millisecond')
        FROM unnest($1::text[], $2::bigint[], $3::text[], $4::integer[], $5::boolean[])
          AS waiting(id, fence, status, delay_ms, gone)
        WHERE v.id = waiting.id AND v.fence = waiting.fence AND v.finished_at IS NULL`,
      values: [
        waits.map(({ job }) => job.id),
        waits.map(({ job }) => job.fence),
        waits.map(({ status }) => status),
        waits.map(({ delayMs }) => delayMs),
        waits.map(({ isOutputGone = false }) => isOutputGone),
      ],
    });
  }
}
