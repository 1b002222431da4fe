import { mistralChatTranslation } from '../dialects/mistral-chat';
import { toMistralEmbeddings } from '../dialects/mistral-embed';
import { mistralError } from './mistral-error';
import type { ProviderAdapter, UpstreamCall, UpstreamResult, UpstreamStream } from './provider';
import type { UpstreamHttp } from './upstream-http';

const JSON_TYPE = 'application/json';
const EVENT_STREAM_TYPE = 'text/event-stream';
const CHAT_PATH = '/chat/completions';

/** Mistral's REST protocol. */
export class MistralProvider implements ProviderAdapter {
  readonly protocol = 'mistral';
  readonly conversation = mistralChatTranslation;
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
    throw mistralError(call.endpoint.provider, opened.status, opened.headers, opened.body);
  }

  embed(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#post('/embeddings', { ...call, body: toMistralEmbeddings(call.body) });
  }

  async #post(path: string, call: UpstreamCall): Promise<UpstreamResult> {
    const { status, headers, body } = await this.#http.request(path, headersOf(call, JSON_TYPE), call);
    if (status >= 200 && status < 300) return { status, body };
    throw mistralError(call.endpoint.provider, status, headers, body);
  }
}

function headersOf({ apiKey, headers = {} }: UpstreamCall, accept: string): string[] {
  const list = ['content-type', JSON_TYPE, 'accept', accept];
  if (apiKey) list.push('authorization', `Bearer ${apiKey.reveal()}`);
  for (const [name, value] of Object.entries(headers)) list.push(name, value);
  return list;
}
