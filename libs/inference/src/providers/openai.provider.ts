import { embeddingsLimitsAt } from '../dialects/embeddings-limits';
import { embedBatched } from './batched-embeddings';
import { asBearer, JsonExchange, type Authenticate } from '../wire/json-exchange';
import type { BatchManners } from './batch-rest';
import type { NativeBatches } from './native-batch';
import { OpenAiBatches, type OpenAiBatchOptions } from './openai-batch';
import type { ProviderAdapter } from './provider';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import { OpenAiSpeech } from './speech/openai-speech';
import { upstreamError } from '../wire/upstream-error';
import type { UpstreamHttp } from '../wire/upstream-http';
import { OpenAiVideos } from './videos/openai-videos';
import { VideoRest } from './videos/video-rest';

/** Differences between hosts that have this batch API. */
export type BatchFlavour = Omit<OpenAiBatchOptions, keyof BatchManners>;

const OPENAI_BATCHES: BatchFlavour = {
  endpoints: { chat: '/v1/chat/completions', responses: '/v1/responses', embeddings: '/v1/embeddings' },
  mostLines: 50_000,
  mostInputs: 50_000,
};

/** OpenAI's REST protocol, which most upstreams and self-hosted model servers have. */
export class OpenAiProvider implements ProviderAdapter {
  readonly batch: NativeBatches;
  readonly batchRules = { takesSearchOptions: true };
  readonly speech: OpenAiSpeech;
  readonly video: OpenAiVideos;
  readonly #exchange: JsonExchange;

  constructor(http: UpstreamHttp, authenticate: Authenticate = asBearer, flavour: BatchFlavour = OPENAI_BATCHES) {
    this.#exchange = new JsonExchange(http, { authenticate });
    this.speech = new OpenAiSpeech(http, authenticate);
    this.video = new OpenAiVideos(new VideoRest(http, authenticate));
    this.batch = new OpenAiBatches(http, {
      ...flavour,
      headersOf: ({ apiKey }) => (apiKey === null ? [] : authenticate(apiKey.reveal())),
      refusal: upstreamError,
    });
  }

  chat(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#exchange.post('/chat/completions', call);
  }

  embed(call: UpstreamCall): Promise<UpstreamResult> {
    return embedBatched(call, embeddingsLimitsAt(call.endpoint), (one) => this.#exchange.post('/embeddings', one));
  }

  chatStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#exchange.stream('/chat/completions', call);
  }

  responses(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#exchange.post('/responses', call);
  }

  responsesStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#exchange.stream('/responses', call);
  }
}
