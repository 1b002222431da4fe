import type { ProviderAdapter, UpstreamCall, UpstreamResult, UpstreamStream } from './provider';
import { upstreamError } from './upstream-error';
import type { UpstreamHttp } from './upstream-http';

const JSON_TYPE = 'application/json';
const EVENT_STREAM_TYPE = 'text/event-stream';

/** The header that carries the key. */
export type Authenticate = (apiKey: string) => readonly [name: string, value: string];

const asBearer: Authenticate = (apiKey) => ['authorization', `Bearer ${apiKey}`];

/** OpenAI's REST protocol, which most upstreams and self-hosted model servers speak. */
export class OpenAiProvider implements ProviderAdapter {
  readonly protocol = 'openai';
  readonly #http: UpstreamHttp;
  readonly #authenticate: Authenticate;

  constructor(http: UpstreamHttp, authenticate: Authenticate = asBearer) {
    this.#http = http;
    this.#authenticate = authenticate;
  }

  chat(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#post('/chat/completions', call);
  }

  embed(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#post('/embeddings', call);
  }

  chatStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#stream('/chat/completions', call);
  }

  responses(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#post('/responses', call);
  }

  responsesStream(call: UpstreamCall): Promise<UpstreamStream> {
    return this.#stream('/responses', call);
  }

  async #stream(path: string, call: UpstreamCall): Promise<UpstreamStream> {
    const opened = await this.#http.stream(path, this.#headersOf(call, EVENT_STREAM_TYPE), call);
    if ('read' in opened) return opened;
    throw upstreamError(call.endpoint.provider, opened.status, opened.headers, opened.body);
  }

  async #post(path: string, call: UpstreamCall): Promise<UpstreamResult> {
    const { status, headers, body } = await this.#http.request(path, this.#headersOf(call, JSON_TYPE), call);
    if (status >= 200 && status < 300) return { status, body };
    throw upstreamError(call.endpoint.provider, status, headers, body);
  }

  #headersOf({ apiKey, headers }: UpstreamCall, accept: string): string[] {
    const list = ['content-type', JSON_TYPE, 'accept', accept];
    if (apiKey) list.push(...this.#authenticate(apiKey.reveal()));
    if (headers) for (const [name, value] of Object.entries(headers)) list.push(name, value);
    return list;
  }
}
