import { AppError } from '@libs/errors';
import { attemptsBefore, isHeldBack, keyRefusalOf, monotonicMs, upstreamStatusOf } from '@libs/inference';
import type { HeldLine, HeldSegment } from './held-segment';
import type { CallNews } from './lane-quotas';
import type { QuotaNews } from './quota-news';

/** Failures that count against a line before it ends with the last one. */
export const MOST_TRIES = 8;
/** So long before a batch's window is over, a line whose try fails ends with that failure. */
export const WINDOW_MARGIN_MS = 2 * 60_000;
/** Failures do not count against a line during this time if there is no other line to compare it with. */
const BENEFIT_OF_DOUBT_MS = 30 * 60_000;
const FIRST_BACKOFF_MS = 500;
const LAST_BACKOFF_MS = 5_000;
/** A provider that asks for more quiet than this is asked again anyway. */
const MAX_RETRY_AFTER_MS = 10 * 60_000;

/** A failure of a try that may pass. */
export interface LineFailure extends CallNews {
  readonly error: AppError;
  /** Whether it may be the line's own fault. Never for what is said of an account, a limit or an overload. */
  readonly mayBeLines: boolean;
  /** The provider took the line and gave an error for it, as it does for a line that it cannot cope with. */
  readonly isAnswer: boolean;
}

/** What says that we ask for too much at once; an overload may be of any caller's making, and is waited for. */
const CONGESTION: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'timeout']);
/** However often a line meets them: the provider takes less than it is sent. */
const OF_CAPACITY: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'provider_overloaded']);
/** Statuses, whatever our code: the account, the key or the model is not as the catalogue says. */
const OF_ACCOUNT: ReadonlySet<number> = new Set([400, 401, 402, 403, 404]);
/** Ours: what a line alone can bring about, or an upstream's plain 500. */
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

/** Returns a temporary failure of a call: whether it may be the line's fault, and what it means for other lines. */
export function failureOf({ segment: { claim } }: HeldLine, error: AppError): LineFailure {
  // More at once than the catalogue allows this process: it was not sent.
  if (isHeldBack(error)) return { ...unasked(error, 'quota'), quota: 'none', window: 'congested' };
  // RabbitMQ, PostgreSQL or the app that opens its key is away: that is no line's fault, and passes.
  if (error.code === 'unavailable') return unasked(error, 'caller');
  const last = attemptsBefore(error).at(-1);
  // Its credentials could not be read or forbid the call; or its own key failed where its lines are the operator's.
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
  // Out of credit: providers answer that with 429 too.
  const isOutOfCredit = status === 429 && error.code !== 'rate_limit_exceeded';
  return error.code === 'authentication' || keyRefusalOf(error) !== null || OF_ACCOUNT.has(status) || isOutOfCredit;
}

/**
 * Whether the line ends with this failure: because its window is nearly over, or because it is the line's own. That is
 * taken for granted where the quota answered other lines since the line's previous try, eight times, and was not one
 * that fails at random.
 *
 * @param nowMs of the process's own clock, by which tries are measured
 */
export function isGivenUp(line: HeldLine, failure: LineFailure, news: QuotaNews, nowMs: number): boolean {
  if (countsAgainst(line, failure, news, nowMs)) line.counted += 1;
  return line.counted >= MOST_TRIES || isWindowNearlyOver(line.segment, nowMs);
}

/** @param nowMs of the process's own clock: the host's time of day may be wrong */
export function isWindowNearlyOver({ windowEndsAtMs }: HeldSegment, nowMs = monotonicMs()): boolean {
  return nowMs >= windowEndsAtMs - WINDOW_MARGIN_MS;
}

function countsAgainst(line: HeldLine, failure: LineFailure, news: QuotaNews, nowMs: number): boolean {
  if (!failure.mayBeLines) return false;
  line.doubtful += 1;
  if (news.isWellSince(line.segment.quota, line.comparedFromMs)) return true;
  // With no other line left to try, all that can be known is that they were answered up to then.
  const isDoubtful = failure.isAnswer && news.hasAnsweredAllBut(line);
  return isDoubtful && nowMs - line.firstTryMs! >= BENEFIT_OF_DOUBT_MS;
}

/** How long a line waits for its next try. `tries` from 1. */
export function backoffMs(tries: number, dice: number = Math.random()): number {
  return Math.ceil(dice * Math.min(LAST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (tries - 1)));
}
