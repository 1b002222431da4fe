import { Injectable } from '@nestjs/common';
import { AdvanceVideo, type JobPayload } from '@libs/contracts';
import { outcomeOfRow } from '../commit-outcome';
import { Database, type Session } from '../database';
import type { KeyLimit, SpendingLimit } from '../ledger/key-limit';
import { LedgerRepository } from '../ledger/ledger.repository';
import { tryWhileHeldBack } from '../ledger/held-back';
import { OutboxRepository } from '../outbox/outbox.repository';
import { SubmittedRows, type SubmissionKey } from '../submitted-rows';
import type { VideoDimensions } from './video-state';
import type { VideoView } from './video-views.repository';

/** A job to accept. Amounts are exact decimal strings in US dollars. */
export interface NewVideo {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly apiKeyHash: string;
  readonly keyLimit: KeyLimit | null;
  readonly budgets?: readonly SpendingLimit[] | undefined;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly region: string;
  readonly credentialId: string | null;
  readonly request: object;
  readonly dimensions: VideoDimensions;
  readonly priceUsd: string;
  readonly listPriceUsd: string;
  /** Amount to reserve: the price, plus the list price if a limit counts what the own key is charged. */
  readonly holdUsd: string;
  readonly callbackUrl: string | null;
  readonly idempotency: SubmissionKey | null;
  /** How long the provider may take. */
  readonly lifetimeMs: number;
  /** Trace context that links the worker's spans to the request; absent without tracing. */
  readonly trace?: JobPayload;
}

/** Time after the job's deadline at which a hold that is still open expires. */
const HOLD_SLACK_MS = 3_600_000;

/** Takes video jobs in: the row, the hold on the organization's credits and the first nudge in one commit. */
@Injectable()
export class VideoIntakeRepository extends SubmittedRows {
  constructor(
    database: Database,
    private readonly ledger: LedgerRepository,
    private readonly outbox: OutboxRepository,
  ) {
    super(database, 'videos');
  }

  /**
   * Returns the accepted job, as its workspace sees it.
   * @throws AppError payment_required
   * @throws SubmittedBefore
   * @throws CommitUnknown if it is unknown whether the job was accepted
   */
  async accept(video: NewVideo): Promise<VideoView> {
    try {
      await tryWhileHeldBack(video.organizationId, () =>
        this.database.transaction(
          async (session) => {
            await insert(session, video);
            await this.ledger.openHold(session, {
              id: video.id,
              organizationId: video.organizationId,
              workspaceId: video.workspaceId,
              apiKeyHash: video.apiKeyHash,
              keyLimit: video.keyLimit,
              budgets: video.budgets,
              amountUsd: video.holdUsd,
              listUsd: video.listPriceUsd,
              lifetimeMs: video.lifetimeMs + HOLD_SLACK_MS,
            });
            await this.outbox.add(session, AdvanceVideo, { videoId: video.id, ...video.trace });
          },
          outcomeOfRow('videos', 'id', video.id),
        ),
      );
    } catch (error) {
      throw this.refusalOf(error);
    }
    return acceptedView(video);
  }
}

/** Does not read the row, because nothing after the commit may fail. */
function acceptedView({ id, model, provider, upstreamModel, region, credentialId, dimensions }: NewVideo): VideoView {
  return {
    id,
    model,
    status: 'pending',
    provider,
    upstreamModel,
    region,
    credentialId,
    dimensions,
    operation: null,
    errorMessage: null,
    costUsd: null,
    outputs: null,
    outputsExpireAt: null,
  };
}

async function insert(session: Session, video: NewVideo): Promise<void> {
  await session.execute({
    name: 'video-accept',
    sql: `
      INSERT INTO videos (id, organization_id, workspace_id, api_key_hash, model, provider, upstream_model, region,
        credential_id, request, price_usd, list_price_usd, status, step, callback_url, idempotency_key, request_hash,
        expires_at, dimensions)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'pending', 'submit', $13, $14, $15,
        now() + $16 * interval '1 millisecond', $17)`,
    values: [
      video.id,
      video.organizationId,
      video.workspaceId,
      video.apiKeyHash,
      video.model,
      video.provider,
      video.upstreamModel,
      video.region,
      video.credentialId,
      JSON.stringify(video.request),
      video.priceUsd,
      video.listPriceUsd,
      video.callbackUrl,
      video.idempotency?.key ?? null,
      video.idempotency?.requestHash ?? null,
      video.lifetimeMs,
      JSON.stringify(video.dimensions),
    ],
  });
}
