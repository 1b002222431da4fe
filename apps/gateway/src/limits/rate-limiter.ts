import { AppError } from '@libs/errors';

/** So many per minute on average, and so many at once after a pause. */
export interface RateLimit {
  /** Part of the key under which the state is kept. */
  readonly name: string;
  readonly perMinute: number;
  readonly burst: number;
  /**
   * What happens while the shared store is unavailable: each process grants its `share` of the limit (the default), or
   * all `refuse`, for actions that must rather not be done than be done too often.
   */
  readonly withoutStore?: 'share' | 'refuse';
}

/**
 * How much of a limit is asked for at once. A count above the burst is lowered to the burst, or it could never be
 * granted.
 */
export interface RateDemand {
  readonly limit: RateLimit;
  readonly count: number;
}

export interface RateVerdict {
  readonly allowed: boolean;
  /** How many are allowed at once. */
  readonly limit: number;
  /** How many more would be allowed right now. */
  readonly remaining: number;
  /** Until what was asked for is allowed; 0 when it is now. */
  readonly retryAfterMs: number;
  /** Until the limit is as if nothing had been taken. */
  readonly resetAfterMs: number;
  /** The store could not be asked, and the limit says to refuse then. */
  readonly isUndecided?: boolean;
}

/** Limits per billable entity (status 429). Never throws: without its store it guesses. */
export abstract class RateLimiter {
  /** Counts one for the entity, unless it exceeds the limit. */
  take(limit: RateLimit, entity: string): Promise<RateVerdict> {
    return this.takeAll([{ limit, count: 1 }], entity);
  }

  /** Takes one count back. */
  giveBack(limit: RateLimit, entity: string): Promise<void> {
    return this.adjust(limit, entity, -1);
  }

  /**
   * Counts all demands or, when one of them is too much, none. The verdict is that of the demand that takes
   * longest to be granted; of the first one when all are.
   */
  abstract takeAll(demands: readonly RateDemand[], entity: string): Promise<RateVerdict>;

  /** Corrects what was taken by `count`, which may go beyond the limit: what is used is used. */
  abstract adjust(limit: RateLimit, entity: string, count: number): Promise<void>;
}

const UNDECIDED_RETRY_SECONDS = 1;

/** The refusal of a verdict that does not allow. `X-RateLimit-Reset` is in Unix milliseconds. */
export function rateLimitError(verdict: RateVerdict, nowMs: number = Date.now()): AppError {
  if (verdict.isUndecided === true) {
    return new AppError('provider_overloaded', 'The service is temporarily unavailable', {
      retryAfterSeconds: UNDECIDED_RETRY_SECONDS,
      internal: 'a limit that refuses without Redis, and Redis is away',
    });
  }
  return new AppError('rate_limit_exceeded', 'Rate limit exceeded', {
    retryAfterSeconds: Math.max(1, Math.ceil(verdict.retryAfterMs / 1_000)),
    headers: {
      'X-RateLimit-Limit': String(verdict.limit),
      'X-RateLimit-Remaining': String(verdict.remaining),
      'X-RateLimit-Reset': String(Math.ceil(nowMs + verdict.resetAfterMs)),
    },
  });
}
