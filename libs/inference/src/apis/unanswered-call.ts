import { isMasked, type AppError } from '@libs/errors';
import type { Bill } from '../dialects/translation';
import { emptyUsage } from '../pricing/usage';

/** A streamed call that no provider answered. */
export interface UnansweredCall {
  readonly generationId: string;
  readonly requestId: string;
  readonly requestBody: Buffer;
  /** Slug of the model that was tried last. */
  readonly model: string;
  /** Name of the provider that was tried last; null if none was. */
  readonly provider: string | null;
  /** Fields that are sent next to the error. Left out of a masked error. */
  readonly beside: Readonly<Record<string, unknown>>;
}

export const NOTHING_USED: Bill = {
  usage: emptyUsage('estimated'),
  cost: { totalCost: 0n, promptCost: 0n, completionCost: 0n },
};

/** Returns the fields that are sent next to an error: none for one that is masked. */
export function besideOf({ beside }: UnansweredCall, error: AppError): UnansweredCall['beside'] {
  return isMasked(error) ? {} : beside;
}
