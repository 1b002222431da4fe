import { AppError } from '@libs/errors';
import type { Cost, CountedPrompt, PicoUsd } from '@libs/inference';

/** The money for an answer in several turns: every turn and every tool use reserves its cost before it begins. */
export interface ToolFund {
  /** Resolves with the amount that was reserved for a turn with this prompt. @throws AppError payment_required */
  reserveTurn(prompt: CountedPrompt): Promise<PicoUsd>;
  /** Resolves with the reserved amount. @throws AppError payment_required */
  reserve(picoUsd: PicoUsd): Promise<PicoUsd>;
  /** Replaces a reserved amount by the actual cost of the work, which has ended. */
  spent(reservedPicoUsd: PicoUsd, cost: Pick<Cost, 'totalCost' | 'upstreamCost'>): void;
}

/** Error codes of a refused payment: there is not enough money, or the key may not spend any more. */
const REFUSALS: ReadonlySet<string> = new Set(['payment_required', 'authentication']);

/** Returns null if the error says that the payment for a turn was refused; throws any other error. */
export function refusalToPay(error: unknown): null {
  if (error instanceof AppError && REFUSALS.has(error.code)) return null;
  throw error;
}
