import type { LoggerService } from '@nestjs/common';
import { counter } from '@libs/platform';

const inconsistent = counter({
  name: 'sluice_batches_inconsistent_total',
  help: 'Batches that did not have exactly one line or one result for each request',
  labelNames: ['found_at'],
});

export interface InconsistentBatch {
  readonly id: string;
  readonly foundAt: 'validation' | 'completion' | 'stop';
  /** The problem in the words that the batch's owner sees. */
  readonly problem: string;
}

/** Counts and logs a batch that lost something: an operator has to look at it (`sluice batches check`). */
export function reportInconsistent(logger: LoggerService, { id, foundAt, problem }: InconsistentBatch): void {
  inconsistent.inc({ found_at: foundAt });
  logger.error(`batch ${id} is inconsistent, found at its ${foundAt}: ${problem}`);
}
