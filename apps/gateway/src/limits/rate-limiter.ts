import { AppError } from '@libs/errors';

/** So many per minute on average, and so many at once after a pause. */
export interface RateLimit {
  /** Part of the key under which the state is kept. */
  readonly name: string;
  readonly perMinute: number;
  readonly burst: number;
}

export interface RateVerdict {
  readonly allowed: boolean;
  /** How many are allowed at once. */
  readonly limit: number;
  /** How many more would be allowed right now. */
  readonly remaining: number;
  /** Until the next one is allowed; 0 when it is now. */
  readonly retryAfterMs: number;
  /** Until the limit is as if nothing had been taken. */
  readonly resetAfterMs: number;
}

/** Limits per billable entity (interface §5.6 and §7, status 429). Never throws: without its store it guesses. */
export abstract class RateLimiter {
  /** Counts one more for the entity, unless that is one too many. */
  abstract take(limit: RateLimit, entity: string): Promise<RateVerdict>;

  /** Takes one count back. */
  abstract giveBack(limit: RateLimit, entity: string): Promise<void>;
}

/** The refusal of a verdict that does not allow. `X-RateLimit-Reset` is in Unix milliseconds. */
export function rateLimitError(verdict: RateVerdict, nowMs: number = Date.now()): AppError {
  return new AppError('rate_limit_exceeded', 'Rate limit exceeded', {
    retryAfterSeconds: Math.max(1, Math.ceil(verdict.retryAfterMs / 1_000)),
    headers: {
      'X-RateLimit-Limit': String(verdict.limit),
      'X-RateLimit-Remaining': String(verdict.remaining),
      'X-RateLimit-Reset': String(Math.ceil(nowMs + verdict.resetAfterMs)),
    },
  });
}
