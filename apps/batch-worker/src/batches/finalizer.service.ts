import { Injectable, Logger } from '@nestjs/common';
import { failpoint } from '@libs/failpoints';
import { BatchesRepository, BatchQuotesRepository } from '@libs/persistence';
import { toBatchUsage } from './batch-usage';
import { reportInconsistent } from './inconsistent-batches';
import { countQuoteOutcome } from './quote-outcomes';

/** Ends batches: once every segment is done, counts and usage are frozen and the rest of the hold goes back. */
@Injectable()
export class FinalizerService {
  private readonly logger = new Logger(FinalizerService.name);

  constructor(
    private readonly batches: BatchesRepository,
    private readonly quotes: BatchQuotesRepository,
  ) {}

  /** Takes the batch to its end if nothing is left to do; harmless at any other time and when repeated. */
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
