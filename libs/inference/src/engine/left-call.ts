import { AppError } from '@libs/errors';
import { isAbandoned } from '../model/cancellation';
import { leftChargeOf, type LeftCharge } from '../model/left-charge';
import type { Candidate } from '../routing/planned-route';
import { hasAnsweredPart } from '../wire/answered-part';
import { isOversized } from '../wire/oversized-answer';
import { isUpstreamFault } from '../wire/upstream-fault';

/** What an upstream call used that has no answer and is paid all the same, and where the call was made. */
export interface LeftCall extends LeftCharge, Candidate {}

/**
 * Whether a call that failed is paid: its caller left, or asked for what cannot be read or made, or one of several
 * calls failed by what the caller sent, or by all that it sent taking too long. Work that is lost because a provider
 * failed is the operator's loss.
 */
export function isPaid(error: AppError, leftMs: number): boolean {
  if (isAbandoned(error) || isOversized(error) || leftChargeOf(error) !== undefined) return true;
  return hasAnsweredPart(error) && isUpstreamFault(error) && (!error.retryable || leftMs <= LEAST_MS);
}

/** Nothing can be done in less. */
const LEAST_MS = 1;

/** Kept outside the errors: what is in an error may be shown to callers. */
const calls = new WeakMap<AppError, LeftCall>();

/** Returns the same error, which now says where its call was made. `estimate` is asked where nothing was counted. */
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
