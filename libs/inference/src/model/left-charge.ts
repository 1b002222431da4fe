import type { AppError } from '@libs/errors';
import type { Cost } from '../pricing/price';
import type { Usage } from '../pricing/usage';

/** What an upstream call used that has no answer and is paid all the same. */
export interface LeftCharge {
  readonly usage: Usage;
  readonly cost: Cost;
  readonly upstreamId: string | null;
}

/** Beside the errors and not inside: what is in an error may be shown to callers. */
const charges = new WeakMap<AppError, LeftCharge>();

/** Returns the same error, which now says what its call used. */
export function chargeLeft(error: AppError, charge: LeftCharge): AppError {
  charges.set(error, charge);
  return error;
}

/** Returns what `chargeLeft` noted of the call that failed with this error; undefined if nothing was noted. */
export function leftChargeOf(error: AppError): LeftCharge | undefined {
  return charges.get(error);
}
