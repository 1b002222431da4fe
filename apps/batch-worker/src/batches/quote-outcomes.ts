import type { QuoteOutcome } from '@libs/persistence';
import { counter } from '@libs/platform';

const outcomes = counter({
  name: 'sluice_batch_quote_outcomes_total',
  help: 'Batches that came to their end inside, below or above what they had been quoted',
  labelNames: ['quantity', 'verdict', 'basis'],
});

/** Four of five verdicts should be `inside`. */
export function countQuoteOutcome({ cost, finish }: QuoteOutcome): void {
  if (cost !== null) outcomes.inc({ quantity: 'cost', ...cost });
  outcomes.inc({ quantity: 'finish', ...finish });
}
