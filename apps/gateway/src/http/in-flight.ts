import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { EdgePools } from './edge-pools';
import { RequestClaim } from './request-claim';
import { refuseUpload } from './stopped-upload';

/** Why a request ends before its answer is complete. */
export type EarlyEnd = 'left' | 'stopped';

/** The life of one running request. */
export class RequestLife {
  readonly startedMs = performance.now();
  /** Slots and memory that the request has taken from the shared pools. */
  readonly claim: RequestClaim;
  /** Bytes that the client must read of the answer within the idle limit. */
  leastBytes = 1;
  #early: EarlyEnd | null = null;
  #listener: ((why: EarlyEnd) => void) | null = null;
  #response: ServerResponse | null;
  readonly #headers: string[];

  /**
   * @param common headers of every answer to the request: lower-case names and values, in turn
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

  /** Headers of the answer: lower-case names and values, in turn. */
  get headers(): readonly string[] {
    return this.#headers;
  }

  /** Has no effect after the answer has begun. `name` is in lower case. */
  addHeader(name: string, value: string): void {
    this.#headers.push(name, value);
  }

  /** Null after the request is over. */
  get response(): ServerResponse | null {
    return this.#response;
  }

  /** Calls the listener at most once; immediately if the request has already ended early. */
  set onEarlyEnd(listener: (why: EarlyEnd) => void) {
    if (this.#early === null) this.#listener = listener;
    else listener(this.#early);
  }

  /** Returns a signal that aborts when the request ends early. Takes the place of the listener. */
  earlyEnd(): AbortSignal {
    const controller = new AbortController();
    this.onEarlyEnd = () => controller.abort();
    return controller.signal;
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
   * Releases everything that the request has taken. A call keeps a reference to this object until it is charged, so it
   * must not hold sockets and bodies in memory: each garbage collection would copy them.
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

/** The requests that are not answered yet, their shared pools, and their end when the app stops. */
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

  /** Waits until no request is running. When `signal` aborts, all running requests and any later ones must end. */
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
