import { Injectable } from '@nestjs/common';
import { mintId, VIDEO_ID, type VideoDto } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  accountReferenceIn,
  byokCost,
  CallerCredentials,
  countedCost,
  formatUsd,
  parsePercent,
  quoteVideo,
  specifyVideo,
  type Candidate,
  type CredentialScope,
  type RoutedRequest,
  type RoutePolicy,
  type VideoOperation,
  type VideoRequest,
  type VideoSpecification,
} from '@libs/inference';
import {
  CommitUnknown,
  countsByok,
  VideoIntakeRepository,
  SubmittedBefore,
  type SubmissionKey,
  VideoViewsRepository,
  type KeyLimit,
  type NewVideo,
  type SpendingLimit,
  type VideoDimensions,
  type VideoView,
  type WorkspaceTenant,
} from '@libs/persistence';
import { Egress, OutboxRelay } from '@libs/platform';
import type { CallMemory } from '../http/fetched-bytes';
import { GatewayEnv } from '../gateway.env';
import { storedTrace, traceAttributes, traceparentOf } from '../generations/caller-trace';
import { IntakeTurns } from '../submissions/intake-turns';
import { tracedSubmission } from '../submissions/submission-trace';
import { UnknownSubmission } from '../idempotency/unknown-submission';
import { InferenceRouting } from '../routing/inference-routing';
import { routeWishOf } from '../routing/route-request';
import { CallbackUrls } from '../webhooks/callback-urls';
import { MediaReader } from './media-reader';

/** The owner of a video job. */
export interface VideoOwner {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly apiKeyHash: string;
  readonly keyLimit: KeyLimit | null;
  /** Budgets of the workspace; absent if it has none. */
  readonly budgets?: readonly SpendingLimit[] | undefined;
  readonly defaultCallbackUrl: string | null;
}

export interface VideoSubmission {
  readonly dto: VideoDto;
  /** The caller's idempotency key, and the SHA-256 (hex) of the request. */
  readonly idempotency: SubmissionKey | null;
  /** Whose own keys may be used. */
  readonly scope: CredentialScope;
  /** Policies of the workspace and of the key. */
  readonly policies: readonly RoutePolicy[];
  /** Default sort of the workspace. */
  readonly defaultSort?: RoutedRequest['defaultSort'];
  /** `traceparent` of the span that caused it (W3C Trace Context), as the caller sent it. */
  readonly traceparent?: string | undefined;
  /** Reserves memory for media that are fetched. */
  readonly memory: CallMemory;
  /** Aborts when the request ends early; then no job is made, unless it is being stored. */
  readonly signal?: AbortSignal;
}

/** Takes video jobs in and shows them. */
@Injectable()
export class VideosService {
  private readonly media: MediaReader;

  constructor(
    private readonly intake: VideoIntakeRepository,
    private readonly videos: VideoViewsRepository,
    private readonly relay: OutboxRelay,
    private readonly turns: IntakeTurns,
    private readonly routing: InferenceRouting,
    private readonly credentials: CallerCredentials,
    egress: Egress,
    private readonly callbackUrls: CallbackUrls,
    private readonly env: GatewayEnv,
  ) {
    this.media = new MediaReader(egress);
  }

  /**
   * Returns the new job, or the earlier job if the idempotency key was used before with the same body. The row, the
   * hold of its whole price and its first job message commit together.
   * @throws AppError for every refusal of the API; nothing is stored then
   * @throws UnknownSubmission if it is unknown whether the job was accepted
   */
  async submit(owner: VideoOwner, submission: VideoSubmission): Promise<VideoView> {
    const { idempotency } = submission;
    const earlier = idempotency && (await this.intake.findSubmitted(owner, idempotency.key));
    if (earlier) return this.repeated(owner, earlier, idempotency);
    const startMs = Date.now();
    const video = await this.prepare(owner, submission);
    const trace = traceOf(video, startMs, submission);
    try {
      const accept = (): Promise<VideoView> => this.intake.accept({ ...video, idempotency, trace });
      const accepted = await this.turns.run(owner, accept, submission.signal);
      this.relay.wake();
      return accepted;
    } catch (error) {
      if (error instanceof CommitUnknown) throw new UnknownSubmission('video', video.id, error);
      if (!(error instanceof SubmittedBefore) || idempotency === null) throw error;
      return this.repeated(owner, await this.intake.findSubmitted(owner, idempotency.key), idempotency);
    }
  }

  /** @throws AppError not_found (unknown or another workspace's) */
  async get(id: string, tenant: WorkspaceTenant): Promise<VideoView> {
    // Text that is not a valid id cannot name a job, and PostgreSQL refuses some of it (such as a NUL).
    const video = VIDEO_ID.test(id) ? await this.videos.findForWorkspace(id, tenant) : null;
    if (video === null) throw new AppError('not_found', 'Video not found');
    return video;
  }

  /** Does all checks of a job that may refuse it before money is reserved. */
  private async prepare(owner: VideoOwner, submission: VideoSubmission): Promise<Omit<NewVideo, 'idempotency'>> {
    const { dto } = submission;
    const callbackUrl = this.callbackUrls.resolve(owner, dto.callback_url ?? null);
    const previous = await this.previousOf(owner, dto);
    const { candidate, specification } = await this.route(submission, previous);
    const request: VideoRequest = {
      ...specification,
      ...(await this.media.read(dto, submission.memory)),
      continues: (previous?.operation as VideoOperation | undefined) ?? null,
    };
    const { endpoint, model, credential } = candidate;
    return {
      ...owner,
      id: mintId('gen-vid'),
      model: model.slug,
      provider: endpoint.provider.slug,
      upstreamModel: endpoint.upstreamModel,
      region: endpoint.region,
      credentialId: credential?.id ?? null,
      request,
      dimensions: dimensionsOf(request),
      ...this.pricesOf(owner, candidate, request),
      callbackUrl,
      lifetimeMs: this.env.VIDEO_LIFETIME_SECONDS * 1_000,
    };
  }

  private async repeated(
    owner: VideoOwner,
    earlier: { id: string; requestHash: string } | null,
    { requestHash }: SubmissionKey,
  ): Promise<VideoView> {
    if (earlier === null) {
      throw new AppError('conflict', 'The video of this Idempotency-Key is being deleted: use another key');
    }
    if (earlier.requestHash === requestHash) return this.get(earlier.id, owner);
    throw new AppError('unprocessable', 'Idempotency-Key was used before with another body', {
      metadata: { param: 'Idempotency-Key' },
    });
  }

  private async previousOf(owner: VideoOwner, dto: VideoDto): Promise<VideoView | null> {
    const { previous_job_id: id } = dto;
    if (!id) return null;
    const previous = await this.videos.findForWorkspace(id, owner);
    if (previous === null) throw refusal('previous_job_id', 'names no job', 'not_found');
    if (previous.status !== 'completed') throw refusal('previous_job_id', 'names a job that is not completed');
    const asked = this.routing.catalogue().findModel(dto.model)?.slug ?? dto.model;
    if (previous.model !== asked) throw refusal('previous_job_id', 'names a job of another model');
    if (previous.dimensions === null) throw refusal('previous_job_id', 'names a job whose size is not known');
    return previous;
  }

  /** Returns the best endpoint for this video. A job that continues another one uses the endpoint of that job. */
  private async route(
    { dto, scope, policies, defaultSort }: VideoSubmission,
    previous: VideoView | null,
  ): Promise<{ candidate: Candidate; specification: VideoSpecification }> {
    const wish = routeWishOf(dto);
    if (wish.preferences.zdr === true) {
      throw new AppError('not_found', 'No provider makes videos without keeping what it is asked', {
        metadata: { param: 'provider.zdr' },
      });
    }
    if (policies.some(({ isZdrRequired }) => isZdrRequired)) {
      throw new AppError('permission_denied', 'A policy asks for zero data retention, and providers keep videos', {
        metadata: { param: 'policy.zdr' },
      });
    }
    const own = await this.credentials.ownCredentials(scope);
    const accountReference = accountReferenceIn({ provider: dto.provider });
    const { candidates } = this.routing.planVideo({ ...wish, scope, policies, defaultSort, accountReference }, own);
    const possible = previous === null ? candidates : candidates.filter((candidate) => ranAt(candidate, previous));
    let refused = refusal('previous_job_id', 'names a job whose provider is not available');
    for (const candidate of possible) {
      try {
        return { candidate, specification: specifyVideo(dto, candidate, previous?.dimensions ?? null) };
      } catch (thrown) {
        if (candidate === possible[0]) refused = AppError.from(thrown);
      }
    }
    throw refused;
  }

  private pricesOf(
    owner: VideoOwner,
    { endpoint, credential }: Candidate,
    request: VideoRequest,
  ): Pick<NewVideo, 'priceUsd' | 'listPriceUsd' | 'holdUsd'> {
    const list = quoteVideo(endpoint.pricing, request);
    const cost = credential ? byokCost(list, parsePercent(this.env.BYOK_FEE_PERCENT)) : list;
    const hold = countsByok(owner) ? countedCost(cost) : cost.totalCost;
    return {
      priceUsd: formatUsd(cost.totalCost),
      listPriceUsd: formatUsd(list.totalCost),
      holdUsd: formatUsd(hold),
    };
  }
}

function dimensionsOf({ resolution, aspectRatio, width, height }: VideoRequest): VideoDimensions {
  return { resolution, aspectRatio, width, height };
}

function ranAt({ endpoint, credential }: Candidate, previous: VideoView): boolean {
  return (
    endpoint.provider.slug === previous.provider &&
    endpoint.upstreamModel === previous.upstreamModel &&
    endpoint.region === previous.region &&
    (credential?.id ?? null) === previous.credentialId
  );
}

function refusal(param: string, why: string, code: 'invalid_request' | 'not_found' = 'invalid_request'): AppError {
  return new AppError(code, `${param} ${why}`, { metadata: { param } });
}

function traceOf(
  { id, model, workspaceId }: Omit<NewVideo, 'idempotency'>,
  startMs: number,
  { dto, traceparent }: Pick<VideoSubmission, 'dto' | 'traceparent'>,
) {
  return tracedSubmission({
    name: `create_video ${model}`,
    startMs,
    cause: traceparent ?? traceparentOf(dto.trace),
    attributes: {
      'gen_ai.request.model': model,
      'sluice.workspace.id': workspaceId,
      'sluice.video.id': id,
      ...traceAttributes(storedTrace(dto.trace)),
    },
  });
}
