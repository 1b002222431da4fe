import { cohereChatTranslation } from '../dialects/cohere-chat';
import { joinEmbedAnswers, toEmbedBatches } from '../dialects/cohere-embed';
import { callInOrder } from './ordered-calls';
import type { ProviderAdapter, UpstreamCall, UpstreamResult, UpstreamStream } from './provider';
import { upstreamError } from './upstream-error';
import type { UpstreamHttp } from './upstream-http';

const JSON_TYPE = 'application/json';
const EVENT_STREAM_TYPE = 'text/event-stream';
const CHAT_PATH = '/chat';
const EMBED_PATH = '/embed';
/** Of the calls that one long list of inputs takes. */
const CALLS_AT_ONCE = 4;

/** Cohere's REST protocol, version 2. */
export class CohereProvider implements ProviderAdapter {
  readonly protocol = 'cohere';
  readonly conversation = cohereChatTranslation;
  readonly #http: UpstreamHttp;

  constructor(http: UpstreamHttp) {
    this.#http = http;
  }

  converse(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#post(CHAT_PATH, call);
  }

  async converseStream(call: UpstreamCall): Promise<UpstreamStream> {
    const opened = await this.#http.stream(CHAT_PATH, headersOf(call, EVENT_STREAM_TYPE), call);
    if ('read' in opened) return opened;
    throw upstreamError(call.endpoint.provider, opened.status, opened.headers, opened.body);
  }

  /** A list of any length: what the upstream does not take in one call goes in several, whose usage adds up. */
  async embed(call: UpstreamCall): Promise<UpstreamResult> {
    const batches = toEmbedBatches(call.body);
    const answers = await callInOrder(batches, call, CALLS_AT_ONCE, async ({ body }, one) => {
      return (await this.#post(EMBED_PATH, { ...one, body })).body;
    });
    return { status: 200, body: joinEmbedAnswers(answers, batches, call.endpoint.provider) };
  }

  async #post(path: string, call: UpstreamCall): Promise<UpstreamResult> {
    const { status, headers, body } = await this.#http.request(path, headersOf(call, JSON_TYPE), call);
    if (status >= 200 && status < 300) return { status, body };
    // Embeddings have no 422 (interface §4.6): what cannot be embedded is a wrong request.
    const told = status === 422 && path === EMBED_PATH ? 400 : status;
    throw upstreamError(call.endpoint.provider, told, headers, body);
  }
}

function headersOf({ apiKey, headers = {} }: UpstreamCall, accept: string): string[] {
  const list = ['content-type', JSON_TYPE, 'accept', accept];
  if (apiKey) list.push('authorization', `Bearer ${apiKey.reveal()}`);
  for (const [name, value] of Object.entries(headers)) list.push(name, value);
  return list;
}
