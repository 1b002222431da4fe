import type { AppError } from '@libs/errors';
import type { Cost } from '../pricing/price';
import type { Usage } from '../pricing/usage';

/** The usage of an upstream call that is charged although it has no answer. */
export interface LeftCharge {
  readonly usage: Usage;
  readonly cost: Cost;
  readonly upstreamId: string | null;
}

/** Charges by error. They are stored outside the errors, because errors may be shown to callers. */
const charges = new WeakMap<AppError, LeftCharge>();

/** Notes the usage of the call that failed with this error. Returns the error. */
export function chargeLeft(error: AppError, charge: LeftCharge): AppError {
  charges.set(error, charge);
  return error;
}

/** Returns the usage that `chargeLeft` noted for this error; undefined if there is none. */
export function leftChargeOf(error: AppError): LeftCharge | undefined {
  return charges.get(error);
}
