import { Pool, type Dispatcher } from 'undici';
import { parseExact } from '../support/client';
import type { RequestRecord } from './evidence';
import type { StormHistory } from './history';
import { GATEWAYS, type GatewayName } from './parts';

const CONNECTIONS = 64;
/** Longer than a process is ever frozen, and than the gateway lets an upstream take. */
const TIMEOUT_MS = 45_000;

export interface Ask {
  readonly actor: string;
  /** For the history: what this request is about. */
  readonly what: string;
  readonly gateway: GatewayName;
  readonly key: string;
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer<T> {
  /** Null when there was no whole answer: whether it was done is unknown. */
  readonly status: number | null;
  readonly body: T | null;
  readonly endMs: number;
}

/** The public API of both gateways; each request goes into the history. */
export class StormClient {
  readonly #pools: ReadonlyMap<GatewayName, Pool>;

  constructor(
    baseUrl: (gateway: GatewayName) => string,
    private readonly history: StormHistory,
  ) {
    const options = { connections: CONNECTIONS, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS };
    this.#pools = new Map(GATEWAYS.map((name) => [name, new Pool(new URL(baseUrl(name)).origin, options)]));
  }

  /** Never throws. */
  async ask<T>(ask: Ask): Promise<Answer<T>> {
    const { actor, gateway, what } = ask;
    const { isCalm } = this.history;
    const head = { actor, gateway, what, isCalm, startMs: Date.now() };
    const record: RequestRecord = { ...head, endMs: 0, status: null, brokeOff: false, error: null, requestId: null };
    let body: T | null = null;
    try {
      const answer = await this.open(ask);
      record.status = answer.statusCode;
      record.requestId = String(answer.headers['x-request-id'] ?? '') || null;
      const text = await answer.body.text();
      body = (text === '' ? null : parseExact(text)) as T | null;
      if (answer.statusCode >= 400) record.error = errorTypeIn(body);
    } catch (error) {
      record.error = codeOf(error);
      record.brokeOff = record.status !== null;
    }
    record.endMs = Date.now();
    this.history.addRequest(record);
    return { status: record.brokeOff ? null : record.status, body, endMs: record.endMs };
  }

  /** Sends a request and hands out the answer as it comes. @throws when no head of an answer comes */
  open(
    { gateway, key, method, path, body, headers }: Omit<Ask, 'actor' | 'what'>,
    signal?: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    return this.#pools.get(gateway)!.request({
      method,
      path: `/api/v1${path}`,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }
}

/** `error_type` of an error body in either of its forms, else its status. */
export function errorTypeIn(body: unknown): string {
  const error = (body as { error?: Readonly<Record<string, unknown>> } | null)?.error ?? {};
  const metadata = (error['metadata'] ?? {}) as { readonly error_type?: unknown };
  const names = [metadata.error_type, error['error_type'], error['code'], error['type']];
  return String(names.find((name) => name != null) ?? 'unreadable');
}

export function codeOf(error: unknown): string {
  const { code, name, message } = error as { code?: unknown; name?: unknown; message?: unknown };
  return String(code ?? name ?? message);
}
