import { AppError } from '@libs/errors';
import type { Cost } from '../pricing/price';
import type { Candidate } from '../routing/planned-route';
import type { Usage } from '../pricing/usage';

/** What an upstream call used whose caller left before there was an answer. */
export interface LeftCharge {
  readonly usage: Usage;
  readonly cost: Cost;
  readonly upstreamId: string | null;
}

/** The same, and where the call was made. */
export interface LeftCall extends LeftCharge, Candidate {}

/** Beside the errors and not inside: what is in an error may be shown to callers. */
const charges = new WeakMap<AppError, LeftCharge>();
const calls = new WeakMap<AppError, LeftCall>();

/** Returns the same error, which now says what its call used. */
export function chargeLeft(error: AppError, charge: LeftCharge): AppError {
  charges.set(error, charge);
  return error;
}

/** Returns the same error, which now says where its call was made. `estimate` is asked where nothing was counted. */
export function noteLeftCall(
  error: AppError,
  { model, endpoint, credential }: Candidate,
  estimate: () => LeftCharge,
): AppError {
  calls.set(error, { ...(charges.get(error) ?? estimate()), model, endpoint, credential });
  return error;
}

/** Returns what the call used that its caller left, or null for any other error: such a call costs nothing. */
export function leftCallOf(error: unknown): LeftCall | null {
  return error instanceof AppError ? (calls.get(error) ?? null) : null;
}
