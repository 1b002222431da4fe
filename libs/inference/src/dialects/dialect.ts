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

/** What an answer needs to know of its request. */
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
  /** The caller's body; of a long one with a streamed answer, only fields that `lasting-context.ts` lists. */
  readonly requestBody: Buffer;
  /** The output expected. Absent for calls without a client that can disconnect: hidden tokens are not charged. */
  readonly expected?: (() => ExpectedOutput) | undefined;
  /** The uses of provider tools that the call has reserved at the endpoint; absent: none. */
  readonly toolUses?: (() => readonly AllowedUses[]) | undefined;
  /** The estimate by which the prompt was reserved; absent: it is made again from the body. */
  readonly prompt?: PromptEstimate | undefined;
  /** Whether the call ended without its usage because its organization has too many abandoned calls; absent: no. */
  readonly isUnread?: () => boolean;
  /** Provider tools that the request asks for; absent: `requestBody` names them all. For `askedTools` alone. */
  readonly providerTools?: readonly ProviderTool[] | undefined;
  /** What the stream tells about its calls; present if the caller asked for it. */
  readonly debug?: StreamDebug;
}

/** A complete answer in the caller's dialect, and what it used. */
export interface Answer {
  readonly body: Buffer;
  readonly usage: Usage;
  readonly cost: Cost;
  /** Absent where the upstream reported nothing but its counts. */
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
 * One API of callers, for endpoints that speak the same API: a few fields that are for the gateway, or set by
 * it, are rewritten, and all other bytes stay as they are. Endpoints of another dialect are asked through a
 * Translation.
 */
export interface Dialect {
  readonly api: Api;
  /**
   * Returns the caller's body for the endpoint's upstream. Fields that are left out or sent with a loss go to the log.
   * What may be asked for depends on the account. Throws `invalid_request` if the body is no object.
   */
  toUpstream(body: Buffer, endpoint: Endpoint, isStream: boolean, log?: LossLog, account?: ProviderAccount): Buffer;
  /** Throws `provider_unavailable` when the upstream's 200 is no answer. */
  readAnswer(body: Buffer, context: AnswerContext): Answer;
  /**
   * Resolves when the first valid event has arrived. Until then a failure throws and another endpoint may be
   * tried; afterwards failures are events of the stream.
   */
  openStream?(upstream: UpstreamStream, context: AnswerContext): Promise<AnswerStream>;
}
