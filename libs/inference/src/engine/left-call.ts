import { AppError } from '@libs/errors';
import { isAbandoned } from '../model/cancellation';
import { leftChargeOf, type LeftCharge } from '../model/left-charge';
import type { Candidate } from '../routing/planned-route';
import { hasAnsweredPart } from '../wire/answered-part';
import { isOversized } from '../wire/oversized-answer';
import { isUpstreamFault } from '../wire/upstream-fault';

/** The usage of a failed upstream call that is still charged, and the endpoint of the call. */
export interface LeftCall extends LeftCharge, Candidate {}

/**
 * Returns whether a failed call is charged. It is if its caller disconnected, its answer was too large, or its error
 * carries a charge. A call that was one of several is also charged if others were answered and this one failed because
 * of the caller's input or the time limit. If work is lost because a provider failed, the operator bears the loss.
 */
export function isPaid(error: AppError, leftMs: number): boolean {
  if (isAbandoned(error) || isOversized(error) || leftChargeOf(error) !== undefined) return true;
  return hasAnsweredPart(error) && isUpstreamFault(error) && (!error.retryable || leftMs <= LEAST_MS);
}

/** A call with this many milliseconds left, or fewer, is out of time. */
const LEAST_MS = 1;

/** Stored outside the errors, because the content of an error may be shown to callers. */
const calls = new WeakMap<AppError, LeftCall>();

/** Notes where the failed call was made. Returns the same error. `estimate` is called if nothing was counted. */
export function noteLeftCall(
  error: AppError,
  { model, endpoint, credential }: Candidate,
  estimate: () => LeftCharge,
): AppError {
  calls.set(error, { ...(leftChargeOf(error) ?? estimate()), model, endpoint, credential });
  return error;
}

/** Returns the usage of a failed call that must be paid; null for any other error, which costs nothing. */
export function leftCallOf(error: unknown): LeftCall | null {
  return error instanceof AppError ? (calls.get(error) ?? null) : null;
}
