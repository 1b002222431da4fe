import { AppError } from '@libs/errors';
import { leftChargeOf, type LeftCharge } from '../model/left-charge';
import type { Candidate } from '../routing/planned-route';

/** What an upstream call used whose caller left before there was an answer, and where the call was made. */
export interface LeftCall extends LeftCharge, Candidate {}

/** Beside the errors and not inside: what is in an error may be shown to callers. */
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

/** Returns what the call used that its caller left, or null for any other error: such a call costs nothing. */
export function leftCallOf(error: unknown): LeftCall | null {
  return error instanceof AppError ? (calls.get(error) ?? null) : null;
}
