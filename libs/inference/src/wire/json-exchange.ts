import type { IncomingHttpHeaders } from 'node:http';
import type { AppError } from '@libs/errors';
import type { Provider } from '../catalogue/catalogue';
import type { UpstreamStream } from './upstream-stream';
import type { UpstreamCall, UpstreamResult } from './upstream-call';
import { upstreamError } from './upstream-error';
import type { UpstreamHttp } from './upstream-http';

const JSON_TYPE = 'application/json';
const EVENT_STREAM_TYPE = 'text/event-stream';

/** The header that carries the key. */
export type Authenticate = (apiKey: string) => readonly [name: string, value: string];

export const asBearer: Authenticate = (apiKey) => ['authorization', `Bearer ${apiKey}`];

/** Maps an unsuccessful answer to an error. */
export type ToError = (provider: Provider, status: number, headers: IncomingHttpHeaders, body: Buffer) => AppError;

export interface ExchangeTraits {
  /** Bearer where absent. */
  readonly authenticate?: Authenticate;
  /** Makes the error of a refusal; absent: by its status only. */
  readonly toError?: ToError;
}

/** Posts JSON to a path of an upstream. Returns a success or throws AppError, as adapters must. */
export class JsonExchange {
  readonly #http: UpstreamHttp;
  readonly #authenticate: Authenticate;
  readonly #toError: ToError;

  constructor(http: UpstreamHttp, { authenticate = asBearer, toError = upstreamError }: ExchangeTraits = {}) {
    this.#http = http;
    this.#authenticate = authenticate;
    this.#toError = toError;
  }

  async post(path: string, call: UpstreamCall): Promise<UpstreamResult> {
    const { status, headers, body } = await this.#http.request(path, this.#headersOf(call, JSON_TYPE), call);
    if (status >= 200 && status < 300) return { status, body };
    throw this.#toError(call.endpoint.provider, status, headers, body);
  }

  async stream(path: string, call: UpstreamCall): Promise<UpstreamStream> {
    const opened = await this.#http.stream(path, this.#headersOf(call, EVENT_STREAM_TYPE), call);
    if ('read' in opened) return opened;
    throw this.#toError(call.endpoint.provider, opened.status, opened.headers, opened.body);
  }

  #headersOf({ apiKey, headers }: UpstreamCall, accept: string): string[] {
    const list = ['content-type', JSON_TYPE, 'accept', accept];
    if (apiKey) list.push(...this.#authenticate(apiKey.reveal()));
    if (headers) for (const [name, value] of Object.entries(headers)) list.push(name, value);
    return list;
  }
}
