import { Injectable } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { BatchLinesRepository, type BatchView } from '@libs/persistence';
import { BatchIntakeService, type BatchCaller } from './batch-intake.service';
import { BatchesService } from './batches.service';
import { isTerminal } from './batch-view';

const PAGE_LINES = 500;

/**
 * Makes a new batch from the lines of a finished one that have no response. It is submitted like any other, so it is
 * checked, priced and reserved as if the caller had sent these lines again. It runs on the same provider and has the
 * same webhook URL.
 */
@Injectable()
export class BatchRetryService {
  constructor(
    private readonly batches: BatchesService,
    private readonly lines: BatchLinesRepository,
    private readonly intake: BatchIntakeService,
  ) {}

  /**
   * @throws AppError not_found, gone (also if the results expire meanwhile), conflict (the batch is not over, or every
   * line has a response), and every refusal of a submission
   */
  async retry(id: string, owner: BatchCaller, idempotencyKey: string | null, signal?: AbortSignal): Promise<BatchView> {
    const batch = await this.batches.get(id, owner);
    if (!isTerminal(batch)) {
      throw new AppError(
        'conflict',
        'The batch is not over yet: wait until it is completed, failed, expired or cancelled',
      );
    }
    if (batch.completed === batch.total) {
      throw new AppError('conflict', 'Every request of the batch has a response: there is nothing to retry');
    }
    return this.intake.receive(owner, this.submissionOf(owner, batch), idempotencyKey, signal);
  }

  /** Yields the body that the caller would send. Pages are read as fast as the intake accepts them. */
  private async *submissionOf(owner: BatchCaller, batch: BatchView): AsyncGenerator<Buffer> {
    const { endpoint, model, completionWindow, provider, callbackUrl } = batch;
    const head = {
      endpoint,
      model,
      completion_window: completionWindow,
      ...(provider !== null && { provider: { only: [provider] } }),
      ...(callbackUrl !== null && { callback_url: callbackUrl }),
    };
    yield Buffer.from(`${JSON.stringify(head).slice(0, -1)},"requests":[`);
    let afterSeq = -1;
    let count = 0;
    for (;;) {
      const page = await this.lines.unanswered(owner, batch, afterSeq, PAGE_LINES);
      for (const { seq, customId, body } of page) {
        yield Buffer.from(`${afterSeq === -1 ? '' : ','}{"custom_id":${JSON.stringify(customId)},"body":`);
        yield body;
        yield CLOSE;
        afterSeq = seq;
      }
      count += page.length;
      if (page.length < PAGE_LINES) break;
    }
    // The owner may have removed the batch between two pages; the retry would then be incomplete.
    if (count !== batch.total - batch.completed) await this.batches.get(batch.id, owner);
    yield Buffer.from(']}');
  }
}

const CLOSE = Buffer.from('}');
