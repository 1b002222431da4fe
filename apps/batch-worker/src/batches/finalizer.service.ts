import { Injectable, Logger } from '@nestjs/common';
import { failpoint } from '@libs/failpoints';
import { BatchesRepository, BatchQuotesRepository } from '@libs/persistence';
import { toBatchUsage } from './batch-usage';
import { reportInconsistent } from './inconsistent-batches';
import { countQuoteOutcome } from './quote-outcomes';

/** Ends batches: when every segment is done, fixes counts and usage and releases the rest of the hold. */
@Injectable()
export class FinalizerService {
  private readonly logger = new Logger(FinalizerService.name);

  constructor(
    private readonly batches: BatchesRepository,
    private readonly quotes: BatchQuotesRepository,
  ) {}

  /** Ends the batch if nothing is left to do; has no effect at any other time or when repeated. */
  async finishIfDone(number: bigint): Promise<void> {
    const id = await this.batches.beginFinalizing(number);
    if (id === null) return;
    failpoint('batch-finalizing');
    await this.complete(id);
  }

  async complete(id: string): Promise<void> {
    let isWhole = true;
    const report = (problem: string): void => {
      isWhole = false;
      reportInconsistent(this.logger, { id, foundAt: 'completion', problem });
    };
    if (!(await this.batches.complete(id, toBatchUsage, report))) return;
    failpoint('batch-completed');
    if (!isWhole) return;
    this.logger.log(`batch ${id} completed`);
    await this.compareWithQuote(id);
  }

  /** Compares the batch with its quote. Called once per batch, by the worker that ended it. */
  async compareWithQuote(id: string): Promise<void> {
    const outcome = await this.quotes.outcome(id);
    if (outcome !== null) countQuoteOutcome(outcome);
  }
}
