import type { UpstreamTranslation } from '../dialects/translation';
import type { BatchRules, NativeBatches } from './native-batch';
import type { SpeechAdapter } from './speech/speech-adapter';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { VideoApi } from '../videos/video-provider';

/**
 * Implements one upstream protocol. A method that exists is a capability; the endpoint's `apis` in the catalogue say
 * which of them a model supports.
 *
 * Every method throws only AppError: statuses of the upstream are mapped by `upstreamError`, and no error contains a
 * key, a header or a body of the upstream. An aborted `signal` ends the upstream's work at once and throws
 * `request_timeout`.
 */
export interface ProviderAdapter {
  /** False if the upstream accepts pictures and files only as bytes: links to them are dropped. */
  readonly takesLinks?: boolean;
  chat?(call: UpstreamCall): Promise<UpstreamResult>;
  chatStream?(call: UpstreamCall): Promise<UpstreamStream>;
  /** Makes embeddings. Body and answer have the form of OpenAI's API, whatever the upstream's form is. */
  embed?(call: UpstreamCall): Promise<UpstreamResult>;
  responses?(call: UpstreamCall): Promise<UpstreamResult>;
  responsesStream?(call: UpstreamCall): Promise<UpstreamStream>;
  messages?(call: UpstreamCall): Promise<UpstreamResult>;
  messagesStream?(call: UpstreamCall): Promise<UpstreamStream>;
  /** Counts the tokens of a prompt for `messages` without generating an answer. */
  countTokens?(call: UpstreamCall): Promise<UpstreamResult>;
  /**
   * The dialect of a protocol that has none of the callers' APIs. Endpoints of such a protocol whose `apis` contain
   * `chat` are called through `converse` and `converseStream`, whatever API the caller uses.
   */
  readonly conversation?: UpstreamTranslation;
  converse?(call: UpstreamCall): Promise<UpstreamResult>;
  /** Returns a stream of server-sent events. An adapter whose upstream uses another framing converts it. */
  converseStream?(call: UpstreamCall): Promise<UpstreamStream>;
  /** The provider's own batch API. */
  readonly batch?: NativeBatches;
  /** Checked before a batch begins. */
  readonly batchRules?: BatchRules;
  /** Transcription (`transcription` in an endpoint's `apis`). */
  readonly speech?: SpeechAdapter;
  /** Videos, in jobs. */
  readonly video?: VideoApi;
}
