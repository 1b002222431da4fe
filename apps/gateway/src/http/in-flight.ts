import type { FastifyRequest } from 'fastify';
import { EdgePools } from './edge-pools';
import { RequestClaim } from './request-claim';

/** Why a request ends before its answer is through. */
export type EarlyEnd = 'left' | 'stopped';

/** One request while it is being worked on. */
export class RequestLife {
  readonly startedMs = performance.now();
  /** Whoever works on the request long enough to care. Called at most once. */
  onEarlyEnd: ((why: EarlyEnd) => void) | null = null;

  /** What the request has taken of what all requests share. */
  readonly claim: RequestClaim;

  /** @param headers what every answer to the request says: names in lower case and values, in turn */
  constructor(
    readonly headers: readonly string[] = [],
    pools: EdgePools = new EdgePools(),
  ) {
    this.claim = new RequestClaim(pools);
  }

  endEarly(why: EarlyEnd): void {
    const listener = this.onEarlyEnd;
    this.onEarlyEnd = null;
    listener?.(why);
  }
}

export interface LiveRequest extends FastifyRequest {
  life: RequestLife;
}

/** The requests that have no answer yet, what they share, and their end when the app stops. */
export class InFlight {
  private readonly lives = new Set<RequestLife>();
  private readonly idleWaiters = new Set<() => void>();

  constructor(readonly pools: EdgePools = new EdgePools()) {}

  get size(): number {
    return this.lives.size;
  }

  enter(life: RequestLife): void {
    this.lives.add(life);
  }

  leave(life: RequestLife): void {
    this.lives.delete(life);
    life.claim.release();
    if (this.lives.size > 0) return;
    for (const wake of this.idleWaiters) wake();
    this.idleWaiters.clear();
  }

  /** Waits until nothing is under way; at `signal` whatever still is has to come to its end. */
  async drain(signal: AbortSignal): Promise<void> {
    if (this.lives.size === 0) return;
    const idle = new Promise<void>((resolve) => this.idleWaiters.add(resolve));
    const stop = (): void => {
      for (const life of this.lives) life.endEarly('stopped');
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    await idle;
    signal.removeEventListener('abort', stop);
  }
}
