import { AppError } from '@libs/errors';
import type { FastifyRequest } from 'fastify';

/** Why a request ends before its answer is through. */
export type EarlyEnd = 'left' | 'stopped';

/** One request while it is being worked on. */
export class RequestLife {
  readonly startedMs = performance.now();
  /** Whoever works on the request long enough to care. Called at most once. */
  onEarlyEnd: ((why: EarlyEnd) => void) | null = null;

  /** @param headers what every answer to the request says: names in lower case and values, in turn */
  constructor(readonly headers: readonly string[] = []) {}

  endEarly(why: EarlyEnd): void {
    const listener = this.onEarlyEnd;
    this.onEarlyEnd = null;
    listener?.(why);
  }
}

export interface LiveRequest extends FastifyRequest {
  life: RequestLife;
}

/** The requests that are being worked on, how many there may be, and their end when the app stops. */
export class InFlight {
  private readonly lives = new Set<RequestLife>();
  private readonly idleWaiters = new Set<() => void>();

  constructor(private readonly max: number) {}

  get size(): number {
    return this.lives.size;
  }

  /** What the latest request is refused with, if it is one too many. */
  get problem(): AppError | null {
    if (this.lives.size <= this.max) return null;
    return new AppError('provider_overloaded', 'The service is overloaded', { retryAfterSeconds: 1 });
  }

  enter(life: RequestLife): void {
    this.lives.add(life);
  }

  leave(life: RequestLife): void {
    this.lives.delete(life);
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
