import { AppError } from '@libs/errors';
import { isAbandoned } from '../model/cancellation';
import { leftChargeOf, type LeftCharge } from '../model/left-charge';
import type { Candidate } from '../routing/planned-route';
import { hasAnsweredPart } from '../wire/answered-part';
import { isOversized } from '../wire/oversized-answer';
import { isUpstreamFault } from '../wire/upstream-fault';

/** Usage of an upstream call that is charged although it failed, and where the call was made. */
export interface LeftCall extends LeftCharge, Candidate {}

/**
 * Whether a failed call is charged: if its caller left, its answer was too large, its error carries a charge, or it
 * was one of several calls, others were answered, and it failed because of the caller's input or the time limit.
 * Work that is lost because a provider failed is the operator's loss.
 */
export function isPaid(error: AppError, leftMs: number): boolean {
  if (isAbandoned(error) || isOversized(error) || leftChargeOf(error) !== undefined) return true;
  return hasAnsweredPart(error) && isUpstreamFault(error) && (!error.retryable || leftMs <= LEAST_MS);
}

/** A call with this many milliseconds left, or fewer, is out of time. */
const LEAST_MS = 1;

/** Kept outside the errors: what is in an error may be shown to callers. */
const calls = new WeakMap<AppError, LeftCall>();

/** Notes where the failed call was made. Returns the same error. `estimate` is called where nothing was counted. */
export function noteLeftCall(
  error: AppError,
  { model, endpoint, credential }: Candidate,
  estimate: () => LeftCharge,
): AppError {
  calls.set(error, { ...(leftChargeOf(error) ?? estimate()), model, endpoint, credential });
  return error;
}

/** Returns what a failed call used that is paid, or null for any other error: such a call costs nothing. */
export function leftCallOf(error: unknown): LeftCall | null {
  return error instanceof AppError ? (calls.get(error) ?? null) : null;
}
