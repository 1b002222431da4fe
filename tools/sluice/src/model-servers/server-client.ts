import type { Secret } from '@libs/contracts';
import { AppError, systemCodeOf } from '@libs/errors';
import { isObject, type JsonObject } from '@libs/json';
import { boundedText } from '../bounded-body';

export interface ServerBounds {
  /** Time limit of one answer. */
  readonly timeoutMs: number;
  /** Time limit of all answers together. */
  readonly totalMs: number;
  /** Most bytes of one answer. */
  readonly bytes: number;
}

export const SERVER_BOUNDS: ServerBounds = { timeoutMs: 15_000, totalMs: 120_000, bytes: 8 * 1024 * 1024 };

export interface ServerAnswer {
  readonly status: number;
  /** Null if the answer is not a JSON object. */
  readonly body: JsonObject | null;
}

/** Asks one model server. Follows no redirect: the key would go with it. Its errors never show an answer or the key. */
export class ServerClient {
  readonly #deadline: number;

  constructor(
    private readonly root: string,
    private readonly key: Secret | null,
    private readonly bounds: ServerBounds = SERVER_BOUNDS,
  ) {
    this.#deadline = performance.now() + bounds.totalMs;
  }

  get(path: string): Promise<ServerAnswer> {
    return this.#ask(path, { method: 'GET' });
  }

  post(path: string, body: object): Promise<ServerAnswer> {
    return this.#ask(path, { method: 'POST', body: JSON.stringify(body) });
  }

  async #ask(path: string, request: { method: string; body?: string }): Promise<ServerAnswer> {
    const limitMs = Math.min(this.bounds.timeoutMs, this.#deadline - performance.now());
    if (limitMs <= 0) throw unreachable(`did not answer all questions within ${this.bounds.totalMs / 1000} s`);
    const signal = AbortSignal.timeout(Math.ceil(limitMs));
    try {
      const answer = await fetch(`${this.root}${path}`, {
        ...request,
        headers: this.#headers,
        redirect: 'manual',
        signal,
      });
      const text = await boundedText(answer, this.bounds.bytes);
      if (text === null) throw unreachable(`answered ${path} with more than ${this.bounds.bytes} bytes`);
      return { status: answer.status, body: objectIn(text) };
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      throw unreachable(`did not answer ${path} (${signal.aborted ? 'no answer in time' : reasonOf(cause)})`, cause);
    }
  }

  get #headers(): Record<string, string> {
    const plain = { accept: 'application/json', 'content-type': 'application/json' };
    return this.key === null ? plain : { ...plain, authorization: `Bearer ${this.key.reveal()}` };
  }
}

/** Something that keeps the models of a server from being known. */
export function unreachable(what: string, cause?: unknown): AppError {
  return new AppError('provider_unavailable', 'The model server cannot be read', { internal: `it ${what}`, cause });
}

function reasonOf(cause: unknown): string {
  return systemCodeOf(cause) ?? systemCodeOf((cause as { cause?: unknown }).cause) ?? 'the connection broke';
}

function objectIn(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
