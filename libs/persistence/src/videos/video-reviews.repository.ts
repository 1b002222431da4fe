import { Injectable } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { AuditRepository } from '../audit/audit.repository';
import { Database, type Session } from '../database';

/** A job that its provider may or may not have accepted. */
export interface VideoInReview {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  /** US dollars, exact. */
  readonly priceUsd: string;
  readonly createdAt: Date;
  /** When it ends as failed without a decision. */
  readonly endsAt: Date;
}

/** What an operator found out at the provider. */
export type ReviewVerdict =
  /** The job exists, with this id. */
  | { readonly kind: 'submitted'; readonly upstreamId: string }
  /** The job does not exist, or is no longer wanted. */
  | { readonly kind: 'failed' };

export interface Reviewer {
  /** Who decides, by the name in the audit trail. */
  readonly operator: string;
  readonly requestId: string;
}

/** A job that was found is polled for at least this long. */
const LEAST_LIFETIME = `interval '1 hour'`;

/**
 * Decisions of operators about jobs in review. A decision raises the fence, so a worker that still holds the job can
 * write nothing more, and its audit entry is in the same commit. The worker does the rest: it polls the job like any
 * other, or ends it with its charge and its webhook event.
 */
@Injectable()
export class VideoReviewsRepository {
  constructor(
    private readonly database: Database,
    private readonly audit: AuditRepository,
  ) {}

  /** Returns jobs in review, the longest waiting first. */
  async list(limit: number): Promise<VideoInReview[]> {
    return this.database.rows<VideoInReview>({
      sql: `SELECT id, organization_id AS "organizationId", workspace_id AS "workspaceId", model, provider,
              upstream_model AS "upstreamModel", price_usd::text AS "priceUsd", created_at AS "createdAt",
              next_at AS "endsAt"
            FROM videos WHERE needs_review AND finished_at IS NULL ORDER BY created_at LIMIT $1`,
      values: [limit],
    });
  }

  /** @throws AppError not_found; conflict if it is not, or no longer, in review, or if another job has the id */
  async resolve(id: string, verdict: ReviewVerdict, { operator, requestId }: Reviewer): Promise<void> {
    await this.database.transaction(async (session) => {
      const { organizationId, provider } = await lockInReview(session, id);
      await this.audit.addOperatorEntry(session, {
        organizationId,
        operator,
        requestId,
        action: `sluice videos resolve --${verdict.kind}`,
        target: id,
      });
      if (verdict.kind === 'failed') await endReview(session, id);
      else await resume(session, { id, provider, upstreamId: verdict.upstreamId });
    });
  }
}

async function lockInReview(session: Session, id: string): Promise<{ organizationId: string; provider: string }> {
  const row = await session.firstRow<{ organizationId: string; provider: string; waits: boolean }>({
    sql: `SELECT organization_id AS "organizationId", provider,
            needs_review AND finished_at IS NULL AND (lease_until IS NULL OR lease_until < now()) AS waits
          FROM videos WHERE id = $1 FOR UPDATE`,
    values: [id],
  });
  if (row === null) throw new AppError('not_found', 'There is no such video');
  if (!row.waits) throw new AppError('conflict', 'The video is not in review');
  return row;
}

/** Makes the job due now, so that the next worker that looks for due jobs ends it. */
async function endReview(session: Session, id: string): Promise<void> {
  await session.execute({
    sql: 'UPDATE videos SET fence = fence + 1, lease_until = NULL, next_at = now() WHERE id = $1',
    values: [id],
  });
}

interface FoundVideo {
  readonly id: string;
  readonly provider: string;
  readonly upstreamId: string;
}

async function resume(session: Session, { id, provider, upstreamId }: FoundVideo): Promise<void> {
  // Of two simultaneous decisions about one id of a provider, the second waits here and then finds the first.
  await session.execute({
    sql: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))',
    values: [`video ${provider} ${upstreamId}`],
  });
  const other = await session.firstRow({
    sql: `SELECT 1 FROM videos WHERE provider = $1 AND operation->>'id' = $2 LIMIT 1`,
    values: [provider, upstreamId],
  });
  if (other !== null) throw new AppError('conflict', 'This id is that of another video');
  await session.execute({
    sql: `UPDATE videos SET fence = fence + 1, lease_until = NULL, next_at = now(), step = 'poll', request = NULL,
            operation = $2, attempts = 0, needs_review = false, expires_at = greatest(expires_at, now() + ${LEAST_LIFETIME})
          WHERE id = $1`,
    values: [id, JSON.stringify({ id: upstreamId })],
  });
}
