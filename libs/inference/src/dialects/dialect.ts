import type { ExpectedOutput } from '../model/expected-output';
import type { PromptEstimate } from '../model/json-shape';
import type { LossLog } from '../model/loss-report';
import type { ProviderAccount } from '../model/provider-account';
import type { FinishReason } from '../model/finish-reason';
import type { Usage, UsageDetails } from '../pricing/usage';
import type { Share } from '../pricing/byok-fee';
import type { Cost, PriceListName } from '../pricing/price';
import type { AllowedUses, ProviderTool } from '../pricing/tool-uses';
import type { Api, Endpoint, Model } from '../catalogue/catalogue';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { AnswerStream } from '../model/answer-stream';
import type { StreamDebug } from './stream-debug';

/** Facts about the request that are needed to write its answer. */
export interface AnswerContext {
  /** Becomes the answer's `id`. */
  readonly generationId: string;
  readonly model: Model;
  readonly endpoint: Endpoint;
  readonly priceList: PriceListName;
  /** When the call began, in milliseconds since the epoch: some providers' prices depend on the hour of the day. */
  readonly beganMs: number;
  /** Share of the list price to charge; present if the caller's own key is used. */
  readonly byokFee?: Share;
  /**
   * The caller's body. For a long body with a streamed answer, it holds only the fields that `lasting-context.ts`
   * lists.
   */
  readonly requestBody: Buffer;
  /** The expected output. Absent for calls whose client cannot disconnect: they are never charged for hidden tokens. */
  readonly expected?: (() => ExpectedOutput) | undefined;
  /** Number of provider tool uses that the call has reserved at the endpoint; absent: none. */
  readonly toolUses?: (() => readonly AllowedUses[]) | undefined;
  /** The estimate of prompt tokens that was reserved; absent: the estimate is computed again from the body. */
  readonly prompt?: PromptEstimate | undefined;
  /**
   * True if the answer was not read for its usage because its organization has too many abandoned calls; absent: false.
   */
  readonly isUnread?: () => boolean;
  /**
   * Provider tools that the request asks for; absent: `requestBody` still lists all of them. Used by `askedTools` only.
   */
  readonly providerTools?: readonly ProviderTool[] | undefined;
  /** Number of the provider's calls that gave the answer; absent: 1. Only embeddings take several. */
  readonly calls?: number | undefined;
  /** Facts about the calls to providers, for the first events of a stream; present if the caller asked for them. */
  readonly debug?: StreamDebug;
}

/** A complete answer in the caller's dialect, with its usage and cost. */
export interface Answer {
  readonly body: Buffer;
  readonly usage: Usage;
  readonly cost: Cost;
  /** Absent if the upstream reported only counts. */
  readonly details?: UsageDetails;
  /** The tier that served, as the caller's API names it; absent if it is not known. */
  readonly serviceTier?: string;
  readonly finishReason: FinishReason | null;
  /** The finish reason as the upstream named it. */
  readonly nativeFinishReason: string | null;
  /** The upstream's own id of the answer. */
  readonly upstreamId: string | null;
}

/**
 * One API of callers, for endpoints that have the same API. A few fields that the gateway reads or sets are rewritten;
 * all other bytes stay as they are. Endpoints with another API are asked through a `Translation`.
 */
export interface Dialect {
  readonly api: Api;
  /**
   * Returns the caller's body for the endpoint's upstream. Logs fields that are left out or changed with a loss. The
   * account that pays decides which settings are allowed. Throws `invalid_request` if the body is not an object.
   */
  toUpstream(body: Buffer, endpoint: Endpoint, isStream: boolean, log?: LossLog, account?: ProviderAccount): Buffer;
  /** Throws `provider_unavailable` if the upstream's 200 does not contain an answer. */
  readAnswer(body: Buffer, context: AnswerContext): Answer;
  /**
   * Resolves when the first valid event has arrived. Until then a failure throws and another endpoint may be
   * tried; afterwards failures are events of the stream.
   */
  openStream?(upstream: UpstreamStream, context: AnswerContext): Promise<AnswerStream>;
}
