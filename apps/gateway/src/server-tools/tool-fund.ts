import { AppError } from '@libs/errors';
import type { Cost, CountedPrompt, PicoUsd } from '@libs/inference';

/** What an answer in turns may spend: every turn and every use of a tool asks for its money before it begins. */
export interface ToolFund {
  /** Resolves with what was reserved for a turn with such a prompt. @throws AppError payment_required */
  reserveTurn(prompt: CountedPrompt): Promise<PicoUsd>;
  /** Resolves with what was reserved. @throws AppError payment_required */
  reserve(picoUsd: PicoUsd): Promise<PicoUsd>;
  /** What an amount was reserved for has ended, and cost this. */
  spent(reservedPicoUsd: PicoUsd, cost: Pick<Cost, 'totalCost' | 'upstreamCost'>): void;
}

/** The money is not there, or the key may no longer spend any. */
const REFUSALS: ReadonlySet<string> = new Set(['payment_required', 'authentication']);

/** Null for the refusal to pay for a turn. */
export function refusalToPay(error: unknown): null {
  if (error instanceof AppError && REFUSALS.has(error.code)) return null;
  throw error;
}
