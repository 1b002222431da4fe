import { AppError } from '@libs/errors';
import { StreamMeter } from '../dialects/answer-billing';
import type { AnswerContext } from '../dialects/dialect';
import { reservedUses } from '../dialects/left-work';
import { isAbandoned } from '../model/cancellation';
import { chargeLeft } from '../model/left-charge';

/**
 * Returns the error of a call for a whole answer. An answer that was given up does not show what its provider's tools
 * used. So if the call has reserved tool uses, the error carries a charge of the full reservation.
 */
export function chargedAsReserved(thrown: unknown, context: AnswerContext): unknown {
  if (!(thrown instanceof AppError) || !isAbandoned(thrown) || reservedUses(context).length === 0) return thrown;
  return chargeLeft(thrown, { ...new StreamMeter(context).left(true), upstreamId: null });
}
