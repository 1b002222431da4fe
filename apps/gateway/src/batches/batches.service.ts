import { Injectable } from '@nestjs/common';
import { toBatchObject } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  BatchEndingsRepository,
  BatchResultsRepository,
  BatchViewsRepository,
  type BatchView,
  type StoredResult,
} from '@libs/persistence';
import { OutboxRelay } from '@libs/platform';
import type { BatchListQuery } from './batch-list-query';
import { writeResult } from './batch-view';

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
    private readonly endings: BatchEndingsRepository,
    private readonly relay: OutboxRelay,
  ) {}

  /** @throws AppError not_found (unknown, deleted or another workspace's), gone (older than the retention) */
  async get(id: string, workspaceId: string): Promise<BatchView> {
    const batch = await this.find(id, workspaceId);
    if (batch.resultsGone) throw new AppError('gone', 'The results of this batch have expired');
    return batch;
  }

  /** The batch without its results, which may be gone. @throws AppError not_found */
  async find(id: string, workspaceId: string): Promise<BatchView> {
    // What is no id names no batch, and some of it (a NUL) would not even be text to PostgreSQL.
    const batch = isBatchId(id) ? await this.batches.findForWorkspace(id, workspaceId) : null;
    if (batch === null) throw batchNotFound();
    return batch;
  }

  /** The page of GET /batches, newest first. @throws AppError invalid_request (`after` names no batch) */
  async list(workspaceId: string, { limit, after, ...filter }: BatchListQuery): Promise<object> {
    const isCursor = after === null || isBatchId(after);
    // One more than asked for tells whether there are more.
    const found = isCursor ? await this.batches.listForWorkspace(workspaceId, filter, after, limit + 1) : null;
    if (found === null) {
      throw new AppError('invalid_request', 'after names no batch', { metadata: { param: 'after' } });
    }
    const data = found.slice(0, limit);
    return {
      object: 'list',
      data: data.map(toBatchObject),
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: found.length > limit,
    };
  }

  /**
   * Begins to end a batch: no line is begun from now on, those in flight have seconds to come to a result.
   * Repeating it changes nothing.
   *
   * @throws AppError not_found, conflict (it is over, or at its end already)
   */
  async cancel(id: string, workspaceId: string): Promise<BatchView> {
    const answer = isBatchId(id) ? await this.endings.cancel(id, workspaceId) : 'unknown';
    if (answer === 'settled') throw new AppError('conflict', 'The batch can no longer be cancelled');
    if (answer === 'stopping') this.relay.wake();
    return this.find(id, workspaceId);
  }

  /**
   * A finished batch as the bytes of its object. Results are read page by page as fast as the reader takes them, so neither a
   * large batch nor a slow reader costs memory or holds a database snapshot.
   */
  async *write(batch: BatchView): AsyncGenerator<Buffer> {
    const object = JSON.stringify(toBatchObject(batch));
    const withoutResults = object.slice(0, -'null}'.length);
    yield Buffer.from(`${withoutResults}[`);
    yield* this.writeResults(batch);
    yield Buffer.from(']}');
  }

  /** A batch that was stopped has lines without a result. */
  private readPage({ createdOn, number, status }: BatchView, afterSeq: number, limit: number): Promise<StoredResult[]> {
    if (status === 'completed') return this.results.page(createdOn, number, afterSeq, limit);
    return this.results.pageOfLines(createdOn, number, afterSeq, limit);
  }

  private async *writeResults(batch: BatchView): AsyncGenerator<Buffer> {
    let afterSeq = -1;
    let limit = FIRST_PAGE_RESULTS;
    // One that did not pass validation has no results at all.
    let missing = batch.completed + batch.failed;
    while (missing > 0) {
      const page = await this.readPage(batch, afterSeq, limit);
      const parts: Buffer[] = [];
      for (const result of page) {
        if (afterSeq !== -1) parts.push(COMMA);
        parts.push(...writeResult(batch, result));
        afterSeq = result.seq;
      }
      const bytes = Buffer.concat(parts);
      if (bytes.length > 0) yield bytes;
      missing -= page.length;
      // It was deleted meanwhile: an answer that breaks off is better than one that looks whole.
      if (missing > 0 && page.length < limit) throw batchNotFound();
      limit = Math.max(1, Math.min(MAX_PAGE_RESULTS, Math.floor((PAGE_BYTES * page.length) / bytes.length)));
    }
  }
}

const COMMA = Buffer.from(',');

export function isBatchId(text: string): boolean {
  return BATCH_ID.test(text);
}

export function batchNotFound(): AppError {
  return new AppError('not_found', 'Batch not found');
}
