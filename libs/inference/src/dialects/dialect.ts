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

/** What an answer needs to know of its request. */
export interface AnswerContext {
  /** Becomes the answer's `id`. */
  readonly generationId: string;
  readonly model: Model;
  readonly endpoint: Endpoint;
  readonly priceList: PriceListName;
  /** When the call began, in milliseconds since the epoch: some providers charge by the hour of the day. */
  readonly beganMs: number;
  /** What is charged of the list price; present where a key of the caller's own is used. */
  readonly byokFee?: Share;
  /** The caller's body; of a long one that is answered by a stream, only the members that are read later. */
  readonly requestBody: Buffer;
  /** Absent for calls without a client that can disconnect: hidden tokens are not charged. */
  readonly expected?: (() => ExpectedOutput) | undefined;
  /** The uses of the provider's tools that the call has reserved at the endpoint; none where it is absent. */
  readonly toolUses?: (() => readonly AllowedUses[]) | undefined;
  /** The estimate by which the prompt was reserved; made again from the body where it is absent. */
  readonly prompt?: PromptEstimate | undefined;
  /** Tools that the request asks providers for; where it is absent, `requestBody` is whole and says it. */
  readonly providerTools?: readonly ProviderTool[] | undefined;
  /** What the upstream was sent, as JSON in one line; present where a stream is to begin with it. */
  readonly echoedBody?: string;
}

/** A complete answer in the caller's dialect, and what it used. */
export interface Answer {
  readonly body: Buffer;
  readonly usage: Usage;
  readonly cost: Cost;
  /** Absent where the upstream reported nothing but its counts. */
  readonly details?: UsageDetails;
  /** The tier that served, in the caller's words; absent where nobody says. */
  readonly serviceTier?: string;
  readonly finishReason: FinishReason | null;
  /** The upstream's own word for it. */
  readonly nativeFinishReason: string | null;
  /** The upstream's own id of the answer. */
  readonly upstreamId: string | null;
}

/**
 * One API shape of callers, asked of an endpoint that speaks the same one: the few members that are between
 * the caller and us or between us and the upstream are rewritten, and all other bytes left alone. Endpoints
 * of another dialect are asked through a Translation.
 */
export interface Dialect {
  readonly api: Api;
  /**
   * The caller's body as the endpoint's upstream shall see it. The few members that it has other words for go to
   * the log where it is not said exactly. What may be asked for depends on the account. Throws `invalid_request` for what is no object.
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
