import type { BatchQuote, BatchView } from '@libs/persistence';

/** Statuses in which nothing changes any more. In them `results` is an array. */
const TERMINAL: ReadonlySet<BatchView['status']> = new Set(['completed', 'failed', 'expired', 'cancelled']);

export function isTerminal(batch: BatchView): boolean {
  return TERMINAL.has(batch.status);
}

/** Returns the error message for a line without a result, after its batch has ended. */
export function missingResultError({ status, errorMessage }: BatchView): string {
  const [type, message] = MISSING[status] ?? ['batch_failed', `The batch failed: ${errorMessage ?? 'unknown reason'}`];
  return JSON.stringify({ type, message, param: null });
}

const MISSING: Readonly<Partial<Record<BatchView['status'], readonly [string, string]>>> = {
  cancelled: ['batch_cancelled', 'The batch was cancelled before this request came to a result'],
  expired: ['batch_expired', 'The batch expired before this request came to a result'],
};

/**
 * Returns `quote` in the metadata of an accepted batch. Costs are JSON numbers in US dollars, times are Unix seconds.
 */
export function toQuoteObject(quote: BatchQuote): object {
  return {
    lane: quote.lane,
    cost: { low: Number(quote.costLowUsd), high: Number(quote.costHighUsd), basis: quote.costBasis },
    finish: { earliest: quote.earliest, latest: quote.latest, basis: quote.finishBasis },
  };
}
