import { AppError } from '@libs/errors';
import { attemptsBefore, isHeldBack, isOfOwnKey, keyRefusalOf, monotonicMs, upstreamStatusOf } from '@libs/inference';
import type { HeldLine, HeldSegment } from './held-segment';
import type { CallNews } from './lane-quotas';
import type { QuotaNews } from './quota-news';

/** Failures that count against a line before it ends with the last one. */
export const MOST_TRIES = 8;
/** In this time before the end of a batch's window, a line whose try fails ends with that failure. */
export const WINDOW_MARGIN_MS = 2 * 60_000;
/** During this time failures do not count against a line if there is no other line to compare it with. */
const BENEFIT_OF_DOUBT_MS = 30 * 60_000;
const FIRST_BACKOFF_MS = 500;
const LAST_BACKOFF_MS = 5_000;
/** Longest accepted `Retry-After`; a provider that asks for a longer pause is called again anyway. */
const MAX_RETRY_AFTER_MS = 10 * 60_000;

/** A temporary failure of a try. */
export interface LineFailure extends CallNews {
  readonly error: AppError;
  /** True if the line itself may be the cause. Never for errors about an account, a limit or an overload. */
  readonly mayBeLines: boolean;
  /**
   * True if the provider processed the line and returned an error for it, as it does for a line that it cannot handle.
   */
  readonly isAnswer: boolean;
}

/**
 * Error codes that mean that we send too many requests. An overload may be caused by any client, so it is simply waited
 * for.
 */
const CONGESTION: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'timeout']);
/** Error codes that never count against a line, however often they occur: the provider's capacity is exceeded. */
const OF_CAPACITY: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'provider_overloaded']);
/** Statuses that show a problem of the account, the key or the model in the catalogue, whatever our error code is. */
const OF_ACCOUNT: ReadonlySet<number> = new Set([400, 401, 402, 403, 404]);
/** Error codes that a line itself can cause, or a plain 500 of an upstream. */
const OWN_FAULTS: ReadonlySet<string> = new Set(['server', 'unmapped']);

/** Returns the failure of a try that ended before the provider was called, which is never the line's fault. */
export function unasked(error: AppError, of: 'quota' | 'caller'): LineFailure {
  return {
    error,
    quota: of === 'quota' ? 'failed' : 'none',
    caller: of === 'caller' ? 'failed' : 'none',
    window: 'other',
    pauseMs: null,
    isHeard: false,
    mayBeLines: false,
    isAnswer: false,
  };
}

/** Describes a temporary failure of a call: whether the line may be the cause, and what it means for other lines. */
export function failureOf({ segment: { claim } }: HeldLine, error: AppError): LineFailure {
  // The catalogue's limit for this process was reached, so the call was not sent.
  if (isHeldBack(error)) return { ...unasked(error, 'quota'), quota: 'none', window: 'congested' };
  // RabbitMQ, PostgreSQL or the app that opens the key is unavailable. The line is not to blame, and the problem is
  // temporary.
  if (error.code === 'unavailable') return unasked(error, 'caller');
  const last = attemptsBefore(error).at(-1);
  // The line's credentials could not be read or forbid the call, or an own key failed although the lines are for the
  // operator's key.
  if (last === undefined || (last.isByok && !claim.isOwnKey)) return unasked(error, 'caller');
  return {
    error,
    quota: 'failed',
    caller: 'none',
    ...paceAfter(error),
    isHeard: upstreamStatusOf(error) !== null,
    mayBeLines: !OF_CAPACITY.has(error.code) && !isOfAccount(error),
    isAnswer: upstreamStatusOf(error) === 500 || OWN_FAULTS.has(error.code),
  };
}

/** Returns the pause that the provider asks for, or else a smaller window; both together would slow down twice. */
function paceAfter(error: AppError): Pick<LineFailure, 'window' | 'pauseMs'> {
  if (error.retryAfterSeconds !== undefined) {
    return { window: 'other', pauseMs: Math.min(MAX_RETRY_AFTER_MS, error.retryAfterSeconds * 1_000) };
  }
  return { window: CONGESTION.has(error.code) ? 'congested' : 'other', pauseMs: null };
}

function isOfAccount(error: AppError): boolean {
  const status = upstreamStatusOf(error) ?? 0;
  // Returns whether the provider account has no credit; providers report that with 429 too.
  const isOutOfCredit = status === 429 && error.code !== 'rate_limit_exceeded';
  return isOfOwnKey(error) || keyRefusalOf(error) !== null || OF_ACCOUNT.has(status) || isOutOfCredit;
}

/**
 * Returns whether the line ends with this failure: because its window is nearly over, or because the line itself is the
 * cause. The latter is assumed if, eight times, the quota answered other lines since the line's previous try and is not
 * one that fails at random.
 * @param nowMs of the process's own clock, by which tries are measured
 */
export function isGivenUp(line: HeldLine, failure: LineFailure, news: QuotaNews, nowMs: number): boolean {
  if (countsAgainst(line, failure, news, nowMs)) line.counted += 1;
  return line.counted >= MOST_TRIES || isWindowNearlyOver(line.segment, nowMs);
}

/** @param nowMs of the process's own clock, because the host's time of day may be wrong */
export function isWindowNearlyOver({ windowEndsAtMs }: HeldSegment, nowMs = monotonicMs()): boolean {
  return nowMs >= windowEndsAtMs - WINDOW_MARGIN_MS;
}

function countsAgainst(line: HeldLine, failure: LineFailure, news: QuotaNews, nowMs: number): boolean {
  if (!failure.mayBeLines) return false;
  line.doubtful += 1;
  if (news.isWellSince(line.segment.quota, line.comparedFromMs)) return true;
  // If no other line is left to try, it is only known that the others were answered before.
  const isDoubtful = failure.isAnswer && news.hasAnsweredAllBut(line);
  return isDoubtful && nowMs - line.firstTryMs! >= BENEFIT_OF_DOUBT_MS;
}

/** Returns how long a line waits for its next try. `tries` starts at 1. */
export function backoffMs(tries: number, dice: number = Math.random()): number {
  return Math.ceil(dice * Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (tries - 1)));
}
