import { AppError } from '@libs/errors';

/** A limit: an average number per minute, and a number at once after a pause. */
export interface RateLimit {
  /** Part of the key under which the state is stored. */
  readonly name: string;
  readonly perMinute: number;
  readonly burst: number;
  /**
   * What happens while the shared store is unavailable: each process grants its `share` of the limit (the default), or
   * all `refuse`. `refuse` is for actions that must rather be refused than done too often.
   */
  readonly withoutStore?: 'share' | 'refuse';
}

/**
 * How much of a limit is requested at once. A count above the burst is lowered to the burst, because it could never be
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
  /** How many more would be allowed now. */
  readonly remaining: number;
  /** Time until the requested count is allowed; 0 if it is allowed now. */
  readonly retryAfterMs: number;
  /** Time until the limit is fully available again. */
  readonly resetAfterMs: number;
  /** True if the store was unavailable and the limit then refuses. */
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
   * Counts all demands, or none if one of them is too much. Returns the verdict of the demand that takes longest to be
   * granted, or of the first one if all are granted.
   */
  abstract takeAll(demands: readonly RateDemand[], entity: string): Promise<RateVerdict>;

  /** Changes what was taken by `count`, even beyond the limit, because it was really used. */
  abstract adjust(limit: RateLimit, entity: string, count: number): Promise<void>;
}

const UNDECIDED_RETRY_SECONDS = 1;

/** Returns the error for a verdict that does not allow. `X-RateLimit-Reset` is in Unix milliseconds. */
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
