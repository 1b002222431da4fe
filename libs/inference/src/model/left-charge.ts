import type { AppError } from '@libs/errors';
import type { Cost } from '../pricing/price';
import type { Usage } from '../pricing/usage';

/** What an upstream call without an answer used; it is charged all the same. */
export interface LeftCharge {
  readonly usage: Usage;
  readonly cost: Cost;
  readonly upstreamId: string | null;
}

/** Charges by error. They are no fields of the error, because callers may be shown those. */
const charges = new WeakMap<AppError, LeftCharge>();

/** Notes what the call used that failed with this error. Returns the error. */
export function chargeLeft(error: AppError, charge: LeftCharge): AppError {
  charges.set(error, charge);
  return error;
}

/** Returns what `chargeLeft` noted of the call that failed with this error; undefined if nothing was noted. */
export function leftChargeOf(error: AppError): LeftCharge | undefined {
  return charges.get(error);
}
