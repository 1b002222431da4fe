import type { UpstreamTranslation } from '../dialects/translation';
import type { BatchRules, NativeBatches } from './native-batch';
import type { SpeechAdapter } from './speech/speech-adapter';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { VideoApi } from '../videos/video-provider';

/**
 * Speaks one wire protocol of upstreams. A method that is there is a capability; the endpoint's `apis` in
 * the catalogue say which of them a model has.
 *
 * Every method throws AppError and nothing else: statuses of the upstream are mapped by `upstreamError`, and
 * no key, header or upstream body is ever part of an error. An aborted `signal` ends the upstream's work at
 * once and throws `request_timeout`.
 */
export interface ProviderAdapter {
  /** False where pictures and files must come with the request: one that only links to them loses them here. */
  readonly takesLinks?: boolean;
  chat?(call: UpstreamCall): Promise<UpstreamResult>;
  chatStream?(call: UpstreamCall): Promise<UpstreamStream>;
  /** Body and answer in the shape of OpenAI's embeddings, whatever the wire has. */
  embed?(call: UpstreamCall): Promise<UpstreamResult>;
  responses?(call: UpstreamCall): Promise<UpstreamResult>;
  responsesStream?(call: UpstreamCall): Promise<UpstreamStream>;
  messages?(call: UpstreamCall): Promise<UpstreamResult>;
  messagesStream?(call: UpstreamCall): Promise<UpstreamStream>;
  /** Counts the tokens of a prompt for `messages` without an answer to it. */
  countTokens?(call: UpstreamCall): Promise<UpstreamResult>;
  /**
   * The dialect of a protocol that speaks none of the callers' own. With it, endpoints whose `apis` name
   * `chat` are asked through `converse` and `converseStream`, whatever API the caller used.
   */
  readonly conversation?: UpstreamTranslation;
  converse?(call: UpstreamCall): Promise<UpstreamResult>;
  /** The stream reads as server-sent events; an adapter whose wire frames them otherwise reframes them. */
  converseStream?(call: UpstreamCall): Promise<UpstreamStream>;
  /** The provider's own batch API. */
  readonly batch?: NativeBatches;
  /** Checked before a batch begins. */
  readonly batchRules?: BatchRules;
  /** Speech to text (`transcription` in an endpoint's `apis`). */
  readonly speech?: SpeechAdapter;
  /** Videos, in jobs. */
  readonly video?: VideoApi;
}
