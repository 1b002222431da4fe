import { AnthropicBatches } from './anthropic-batch';
import type { NativeBatches } from './native-batch';
import type { ProviderAdapter } from './provider';
import type { UpstreamStream } from '../wire/upstream-stream';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';
import { upstreamError } from '../wire/upstream-error';
import type { UpstreamHttp } from '../wire/upstream-http';

const JSON_TYPE = 'application/json';
const EVENT_STREAM_TYPE = 'text/event-stream';
const VERSION_HEADER = 'anthropic-version';
const VERSION = '2023-06-01';

/** Anthropic's REST protocol. Betas are sent in the call's header `anthropic-beta`. */
export class AnthropicProvider implements ProviderAdapter {
  readonly batch: NativeBatches;
  readonly batchRules = { takesPlainIdsOnly: true };
  readonly #http: UpstreamHttp;

  constructor(http: UpstreamHttp) {
    this.#http = http;
    this.batch = new AnthropicBatches(http, { headersOf: ownHeaders, refusal: upstreamError });
  }

  messages(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#post('/messages', call);
  }

  countTokens(call: UpstreamCall): Promise<UpstreamResult> {
    return this.#post('/messages/count_tokens', call);
  }

  async messagesStream(call: UpstreamCall): Promise<UpstreamStream> {
    const opened = await this.#http.stream('/messages', headersOf(call, EVENT_STREAM_TYPE), call);
    if ('read' in opened) return opened;
    throw upstreamError(call.endpoint.provider, opened.status, opened.headers, opened.body);
  }

  async #post(path: string, call: UpstreamCall): Promise<UpstreamResult> {
    const { status, headers, body } = await this.#http.request(path, headersOf(call, JSON_TYPE), call);
    if (status >= 200 && status < 300) return { status, body };
    throw upstreamError(call.endpoint.provider, status, headers, body);
  }
}

function headersOf(call: UpstreamCall, accept: string): string[] {
  return ['content-type', JSON_TYPE, 'accept', accept, ...ownHeaders(call)];
}

function ownHeaders({
  apiKey,
  headers = {},
  endpoint,
}: Pick<UpstreamCall, 'apiKey' | 'headers' | 'endpoint'>): string[] {
  const list: string[] = [];
  const given = [...Object.keys(headers), ...Object.keys(endpoint.provider.headers)];
  if (!given.some((name) => name.toLowerCase() === VERSION_HEADER)) list.push(VERSION_HEADER, VERSION);
  if (apiKey) list.push('x-api-key', apiKey.reveal());
  for (const [name, value] of Object.entries(headers)) list.push(name, value);
  return list;
}
