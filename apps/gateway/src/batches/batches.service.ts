import { Injectable } from '@nestjs/common';
import { AppError } from '@libs/errors';
import { BatchResultsRepository, BatchViewsRepository, type BatchView } from '@libs/persistence';
import { isTerminal, toBatchObject, writeResult } from './batch-view';

/** Results are kept for 30 days from the creation of their batch (interface §8). */
const RETENTION_SECONDS = 30 * 86_400;
const BATCH_ID = /^batch-\d{1,11}-[0-9A-Za-z]{20}$/;
/** Pages are sized by what the last one weighed, so large answers come a few at a time. */
const PAGE_BYTES = 4 * 1024 * 1024;
const FIRST_PAGE_RESULTS = 32;
const MAX_PAGE_RESULTS = 2_000;

/** What callers see of their batches. */
@Injectable()
export class BatchesService {
  constructor(
    private readonly batches: BatchViewsRepository,
    private readonly results: BatchResultsRepository,
  ) {}

  /** @throws AppError not_found (unknown or another workspace's), gone (older than the retention) */
  async get(id: string, workspaceId: string): Promise<BatchView> {
    // What is no id names no batch, and some of it (a NUL) would not even be text to PostgreSQL.
    const batch = BATCH_ID.test(id) ? await this.batches.findForWorkspace(id, workspaceId) : null;
    if (batch === null) throw new AppError('not_found', 'Batch not found');
    if (Date.now() / 1000 > batch.createdAt + RETENTION_SECONDS) {
      throw new AppError('gone', 'The results of this batch have expired');
    }
    return batch;
  }

  /**
   * The Batch object as bytes. Results are read page by page as fast as the reader takes them, so neither a
   * large batch nor a slow reader costs memory or holds a database snapshot.
   */
  async *write(batch: BatchView): AsyncGenerator<Buffer> {
    const object = JSON.stringify(toBatchObject(batch));
    if (!isTerminal(batch)) {
      yield Buffer.from(object);
      return;
    }
    const withoutResults = object.slice(0, -'null}'.length);
    yield Buffer.from(`${withoutResults}[`);
    yield* this.writeResults(batch);
    yield Buffer.from(']}');
  }

  private async *writeResults(batch: BatchView): AsyncGenerator<Buffer> {
    let afterSeq = -1;
    let limit = FIRST_PAGE_RESULTS;
    for (;;) {
      const page = await this.results.page(batch.createdOn, batch.number, afterSeq, limit);
      const parts: Buffer[] = [];
      for (const result of page) {
        if (afterSeq !== -1) parts.push(COMMA);
        parts.push(...writeResult(batch, result));
        afterSeq = result.seq;
      }
      const bytes = Buffer.concat(parts);
      if (bytes.length > 0) yield bytes;
      if (page.length < limit) return;
      limit = Math.max(1, Math.min(MAX_PAGE_RESULTS, Math.floor((PAGE_BYTES * page.length) / bytes.length)));
    }
  }
}

const COMMA = Buffer.from(',');
