import { AppError } from '@libs/errors';
import { StreamMeter } from '../dialects/answer-billing';
import type { AnswerContext } from '../dialects/dialect';
import { reservedUses } from '../dialects/left-work';
import { isAbandoned } from '../model/cancellation';
import { chargeLeft } from '../model/left-charge';

/**
 * Returns the error with which a call for a whole answer failed. An answer that is given up shows nothing of what its
 * provider did inside: where the call has reserved uses of tools, the error carries a charge of all that was reserved.
 */
export function chargedAsReserved(thrown: unknown, context: AnswerContext): unknown {
  if (!(thrown instanceof AppError) || !isAbandoned(thrown) || reservedUses(context).length === 0) return thrown;
  return chargeLeft(thrown, { ...new StreamMeter(context).left(true), upstreamId: null });
}
