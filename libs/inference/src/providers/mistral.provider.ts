import { mistralChatTranslation } from '../dialects/mistral-chat';
import { toMistralEmbeddings } from '../dialects/mistral-embeddings/request-writer';
import { embeddingsLimitsAt } from '../dialects/embeddings-limits';
import { embedBatched } from './batched-embeddings';
import { asBearer, JsonExchange } from '../wire/json-exchange';
import { MistralBatches } from './mistral-batch';
import { mistralError } from './mistral-error';
import type { NativeBatches } from './native-batch';
import type { ProviderAdapter } from './provider';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import { MistralSpeech } from './speech/mistral-speech';
import type { UpstreamHttp } from '../wire/upstream-http';

const CHAT_PATH = '/chat/completions';

/** Mistral's REST protocol. */
export class MistralProvider implements ProviderAdapter {
  readonly conversation = mistralChatTranslation;
  readonly batch: NativeBatches;
  readonly speech: MistralSpeech;
  readonly #exchange: JsonExchange;

  constructor(http: UpstreamHttp) {
    this.#exchange = new JsonExchange(http, { toError: mistralError });
    this.batch = new MistralBatches(http, {
      headersOf: ({ apiKey }) => (apiKey === null ? [] : asBearer(apiKey.reveal())),
      refusal: mistralError,
    });
    this.speech = new MistralSpeech(http);
  }

  converse(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#exchange.post(CHAT_PATH, call);
  }

  converseStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#exchange.stream(CHAT_PATH, call);
  }

  embed(call: UpstreamCall): Promise<UpstreamResult> {
    const written = { ...call, body: toMistralEmbeddings(call.body) };
    return embedBatched(written, embeddingsLimitsAt(call.endpoint), (one) => this.#exchange.post('/embeddings', one));
  }
}
