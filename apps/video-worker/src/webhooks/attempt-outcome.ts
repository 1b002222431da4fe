import { AppError } from '@libs/errors';
import type { EgressResponse } from '@libs/platform';
import type { ReceiverVerdict } from './receiver-breaker';

/** The outcome of one attempt. */
export type AttemptOutcome =
  | { readonly kind: 'delivered'; readonly status: number }
  /** `retryAfterMs`: the wait that the receiver asks for; null if it names none. */
  | {
      readonly kind: 'failed';
      readonly status: number | null;
      readonly error: string;
      readonly retryAfterMs: number | null;
    }
  /** Another attempt would end in the same way. */
  | { readonly kind: 'final'; readonly status: number | null; readonly error: string };

const GONE = 410;
const REQUEST_TIMEOUT = 408;
const TOO_MANY_REQUESTS = 429;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Ten attempts within about three days. */
const DELAYS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const;

export const MAX_ATTEMPTS = DELAYS_MS.length + 1;
/** Randomizes retries, so that receivers that failed together are not called together again. */
const JITTER = 0.2;
const LONGEST_RETRY_AFTER_MS = 24 * HOUR_MS;

/** Returns the outcome of a response: any 2xx is a delivery. Redirects are not, as their target was not checked. */
export function outcomeOf(
  { status, headers }: Pick<EgressResponse, 'status' | 'headers'>,
  nowMs: number,
): AttemptOutcome {
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  const error = `the receiver answered with ${status}`;
  if (status === GONE) return { kind: 'final', status, error };
  return { kind: 'failed', status, error, retryAfterMs: readRetryAfter(headers['retry-after'], nowMs) };
}

/** A URL that is refused stays refused; any other error may be temporary. */
export function outcomeOfError(thrown: unknown): AttemptOutcome {
  const { code, message, internal } = AppError.from(thrown);
  if (code === 'invalid_request') return { kind: 'final', status: null, error: message };
  const error = internal === undefined ? message : `${message} (${internal})`;
  return { kind: 'failed', status: null, error, retryAfterMs: null };
}

/**
 * Returns what an attempt says about its receiver. One that refuses an event (4xx) is alive and may accept the next. It
 * is failing if it cannot be reached, has an error, is too slow, or reports too many requests.
 */
export function receiverVerdict(outcome: AttemptOutcome): ReceiverVerdict {
  const { kind, status } = outcome;
  // A URL that may not be called says nothing about its receiver.
  if (status === null) return kind === 'final' ? 'unknown' : 'failing';
  return status >= 500 || status === REQUEST_TIMEOUT || status === TOO_MANY_REQUESTS ? 'failing' : 'alive';
}

/**
 * The wait after attempt number `attempts`, or null when that was the last one.
 *
 * @param dice 0 to 1
 */
export function retryDelayMs(attempts: number, retryAfterMs: number | null, dice: number): number | null {
  const delayMs = DELAYS_MS[attempts - 1];
  if (delayMs === undefined) return null;
  const wishedMs = Math.min(retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS);
  return Math.round(Math.max(delayMs, wishedMs) * (1 + JITTER * dice));
}

/** Seconds or a date (RFC 9110 §10.2.3). */
function readRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * SECOND_MS;
  // `Date.parse` would read a bare number as a year.
  const atMs = value.endsWith('GMT') ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? null : Math.max(0, atMs - nowMs);
}
