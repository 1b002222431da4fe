import { cohereChatTranslation } from '../dialects/cohere-chat';
import { joinEmbedAnswers, readEmbedAnswer } from '../dialects/cohere-embeddings/answer-reader';
import { toEmbedBatches } from '../dialects/cohere-embeddings/request-writer';
import { JsonExchange } from '../wire/json-exchange';
import { embeddingsLimitsAt } from '../dialects/embeddings-limits';
import { callInOrder } from '../wire/ordered-calls';
import type { ProviderAdapter } from './provider';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import { upstreamError } from '../wire/upstream-error';
import type { UpstreamHttp } from '../wire/upstream-http';

const CHAT_PATH = '/chat';
/** Most calls at once for one long list of inputs. */
const CALLS_AT_ONCE = 4;

/** Cohere's REST protocol, version 2. */
export class CohereProvider implements ProviderAdapter {
  readonly conversation = cohereChatTranslation;
  readonly #chat: JsonExchange;
  readonly #embeddings: JsonExchange;

  constructor(http: UpstreamHttp) {
    this.#chat = new JsonExchange(http);
    // The embeddings API has no 422: input that cannot be embedded is an invalid request (400).
    this.#embeddings = new JsonExchange(http, {
      toError: (provider, status, headers, body) =>
        upstreamError(provider, status === 422 ? 400 : status, headers, body),
    });
  }

  converse(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#chat.post(CHAT_PATH, call);
  }

  converseStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#chat.stream(CHAT_PATH, call);
  }

  /** Embeds a list of any length; splits it into several calls if needed and adds up their usage. */
  async embed(call: UpstreamCall): Promise<UpstreamResult> {
    const { endpoint } = call;
    return await callInOrder(
      {
        items: toEmbedBatches(call.body, embeddingsLimitsAt(endpoint).mostInputs),
        mostAtOnce: CALLS_AT_ONCE,
        inputsOf: ({ inputs }) => inputs,
        ask: async ({ body, inputs }, one) =>
          readEmbedAnswer((await this.#embeddings.post('/embed', { ...one, body })).body, inputs, endpoint.provider),
        join: (answers) => ({ status: 200, body: joinEmbedAnswers(answers) }),
      },
      call,
    );
  }
}
