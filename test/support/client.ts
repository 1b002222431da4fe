import { Pool, type Dispatcher } from 'undici';
import { judgeAnswer } from './documented-answers';

/** An answer of the API. */
export interface ApiAnswer<T = unknown> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed, see `parseExact`. */
  readonly body: T;
  readonly text: string;
}

export interface BatchRequestLine {
  readonly custom_id: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Costs are the text of the JSON number, digit for digit. */
export interface BatchUsageBody {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly cost: string;
}

export interface ResultBody {
  readonly id: string;
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly body: Readonly<Record<string, unknown>> } | null;
  readonly error: { readonly type: string; readonly message: string; readonly error_type?: string } | null;
}

/** A batch as callers see it. */
export interface BatchBody {
  readonly id: string;
  readonly object: string;
  readonly endpoint: string;
  readonly model: string;
  readonly status: string;
  readonly created_at: number;
  readonly finalized_at: number | null;
  readonly expires_at: number;
  readonly request_counts: { readonly total: number; readonly completed: number; readonly failed: number };
  readonly usage: BatchUsageBody | null;
  readonly error: { readonly message: string } | null;
  readonly results: readonly ResultBody[] | null;
}

export interface BatchSubmission {
  readonly endpoint: string;
  readonly model: string;
  readonly requests: readonly BatchRequestLine[];
}

const CONNECTIONS = 16;
const TIMEOUT_MS = 60_000;

/** The text of a JSON number, which `JSON.parse` hands to a reviver with the number it was read as. */
interface ReviverContext {
  readonly source?: string;
}

/** Parses JSON; the numbers of members called `cost` stay the text they were, so that no digit of money is lost. */
export function parseExact(text: string): unknown {
  const keep = (key: string, value: unknown, context?: ReviverContext): unknown =>
    key === 'cost' && typeof value === 'number' ? (context?.source ?? String(value)) : value;
  return JSON.parse(text, keep);
}

/**
 * The public API as a program sees it: no retries, no defaults, every status an answer. Answers in JSON and text
 * must be what the OpenAPI document says.
 */
export class ApiClient {
  readonly #pool: Pool;
  readonly #prefix: string;

  constructor(
    baseUrl: string,
    private readonly apiKey: string,
  ) {
    const { origin, pathname } = new URL(baseUrl);
    this.#prefix = pathname.replace(/\/$/, '');
    this.#pool = new Pool(origin, {
      connections: CONNECTIONS,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
  }

  /** @throws when there is no whole answer, or one that is not documented */
  async request<T = unknown>(
    method: Dispatcher.HttpMethod,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ApiAnswer<T>> {
    const answer = await this.#pool.request({
      method,
      path: this.#prefix + path,
      headers: {
        authorization: `Bearer ${this.apiKey}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    const type = String(answer.headers['content-type'] ?? '');
    const isJson = type.includes('json');
    if ((isJson || type.startsWith('text/')) && text !== '') {
      judgeAnswer(method, this.#prefix + path, answer.statusCode, text, type);
    }
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: (isJson ? parseExact(text) : text) as T,
      text,
    };
  }

  submitBatch(submission: BatchSubmission, idempotencyKey?: string): Promise<ApiAnswer<BatchBody>> {
    const headers: Record<string, string> = {};
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
    return this.request<BatchBody>('POST', '/batches', submission, headers);
  }

  getBatch(id: string): Promise<ApiAnswer<BatchBody>> {
    return this.request<BatchBody>('GET', `/batches/${encodeURIComponent(id)}`);
  }

  /** A chat completion that is not streamed. */
  chat(body: Readonly<Record<string, unknown>>): Promise<ApiAnswer> {
    return this.request('POST', '/chat/completions', body);
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}
