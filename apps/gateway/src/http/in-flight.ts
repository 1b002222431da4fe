import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { EdgePools } from './edge-pools';
import { RequestClaim } from './request-claim';
import { refuseUpload } from './stopped-upload';

/** Why a request ends before its answer is through. */
export type EarlyEnd = 'left' | 'stopped';

/** One request while it is being worked on. */
export class RequestLife {
  readonly startedMs = performance.now();
  /** Places and memory that the request has taken from the shared pools. */
  readonly claim: RequestClaim;
  /** Bytes that the client must read of the answer within the idle limit. */
  leastBytes = 1;
  #early: EarlyEnd | null = null;
  #listener: ((why: EarlyEnd) => void) | null = null;
  #response: ServerResponse | null;
  readonly #headers: string[];

  /**
   * @param common headers of every answer to the request: names in lower case and values, in turn
   * @param response null in tests that need none
   */
  constructor(
    common: readonly string[] = [],
    pools: EdgePools = new EdgePools(),
    response: ServerResponse | null = null,
  ) {
    this.#headers = [...common];
    this.#response = response;
    this.claim = new RequestClaim(pools, response?.req.socket);
  }

  /** Headers of the answer: names in lower case and values, in turn. */
  get headers(): readonly string[] {
    return this.#headers;
  }

  /** Has no effect on an answer that has begun. `name` is in lower case. */
  addHeader(name: string, value: string): void {
    this.#headers.push(name, value);
  }

  /** Null once the request is over. */
  get response(): ServerResponse | null {
    return this.#response;
  }

  /** The listener is called at most once; immediately if the request has ended early already. */
  set onEarlyEnd(listener: (why: EarlyEnd) => void) {
    if (this.#early === null) this.#listener = listener;
    else listener(this.#early);
  }

  endEarly(why: EarlyEnd): void {
    if (this.#early !== null) return;
    this.#early = why;
    if (why === 'stopped' && this.#response !== null) refuseUpload(this.#response);
    const listener = this.#listener;
    this.#listener = null;
    listener?.(why);
  }

  /**
   * Gives back what the request has taken. A call refers to its life until it is charged, so the life must not keep
   * sockets and bodies in memory: each garbage collection would copy them.
   */
  finish(): void {
    this.#response = null;
    this.#listener = null;
    this.claim.release();
  }
}

export interface LiveRequest extends FastifyRequest {
  life: RequestLife;
}

/** The requests that have no answer yet, what they share, and their end when the app stops. */
export class InFlight {
  private readonly lives = new Set<RequestLife>();
  private readonly idleWaiters = new Set<() => void>();
  private isStopped = false;

  constructor(readonly pools: EdgePools = new EdgePools()) {}

  get size(): number {
    return this.lives.size;
  }

  [Symbol.iterator](): IterableIterator<RequestLife> {
    return this.lives.values();
  }

  enter(life: RequestLife): void {
    this.lives.add(life);
    if (this.isStopped) life.endEarly('stopped');
  }

  leave(life: RequestLife): void {
    this.lives.delete(life);
    life.finish();
    if (this.lives.size > 0) return;
    for (const wake of this.idleWaiters) wake();
    this.idleWaiters.clear();
  }

  /** Waits until nothing is under way; at `signal` whatever still is, or comes later, has to come to its end. */
  async drain(signal: AbortSignal): Promise<void> {
    if (this.lives.size === 0) return;
    const idle = new Promise<void>((resolve) => this.idleWaiters.add(resolve));
    const stop = (): void => {
      this.isStopped = true;
      for (const life of this.lives) life.endEarly('stopped');
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    await idle;
    signal.removeEventListener('abort', stop);
  }
}
