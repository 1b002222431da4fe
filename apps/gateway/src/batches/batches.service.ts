import { Injectable } from '@nestjs/common';
import { toBatchObject } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  BATCH_RETENTION_DAYS,
  BatchEndingsRepository,
  BatchResultPagesRepository,
  BatchViewsRepository,
  type BatchView,
  type WorkspaceTenant,
} from '@libs/persistence';
import { OutboxRelay } from '@libs/platform';
import { piecesOf } from '../http/whole-answer';
import type { BatchListQuery } from './batch-list-query';
import { PageMemory, type ReaderMemory } from './page-memory';
import { ResultArray } from './result-array';

const BATCH_ID = /^batch-\d{1,11}-[0-9A-Za-z]{20}$/;
/** Target size of a page in bytes; a large last result may exceed it. */
const PAGE_BYTES = 2 * 1024 * 1024;
/**
 * Most results of a page. A page requests as many as the sizes in the last page suggest; its bytes are limited as well.
 */
const MAX_PAGE_RESULTS = 8_000;
const FIRST_RESULT_BYTES = 128 * 1024;
/** Bytes of a result in the answer, other than its body and its `custom_id`. */
const FRAME_BYTES = 320;

/** Reads and cancels batches for callers. */
@Injectable()
export class BatchesService {
  constructor(
    private readonly batches: BatchViewsRepository,
    private readonly results: BatchResultPagesRepository,
    private readonly endings: BatchEndingsRepository,
    private readonly relay: OutboxRelay,
  ) {}

  /** @throws AppError not_found (unknown, deleted or in another workspace), gone (older than the retention time) */
  async get(id: string, tenant: WorkspaceTenant): Promise<BatchView> {
    const batch = await this.find(id, tenant);
    if (batch.resultsGone) {
      throw new AppError(
        'gone',
        `The results of this batch have expired: they are kept for ${BATCH_RETENTION_DAYS} days`,
      );
    }
    return batch;
  }

  /** Returns the batch without its results, which may already be deleted. @throws AppError not_found */
  async find(id: string, tenant: WorkspaceTenant): Promise<BatchView> {
    // Text that is not a valid id cannot name a batch, and PostgreSQL refuses some of it (such as a NUL).
    const batch = isBatchId(id) ? await this.batches.findForWorkspace(id, tenant) : null;
    if (batch === null) throw batchNotFound();
    return batch;
  }

  /** Returns the page of GET /batches, newest first. @throws AppError invalid_request (`after` names no batch) */
  async list(tenant: WorkspaceTenant, { limit, after, ...filter }: BatchListQuery): Promise<object> {
    const isCursor = after === null || isBatchId(after);
    // Reads one more than requested, to know whether there are more.
    const found = isCursor ? await this.batches.listForWorkspace(tenant, filter, after, limit + 1) : null;
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
   * Cancels a batch: no further line begins, and running lines have some seconds to finish. Repeating it changes
   * nothing.
   * @throws AppError not_found, conflict (it is over, or is already ending by itself)
   */
  async cancel(id: string, tenant: WorkspaceTenant): Promise<BatchView> {
    const answer = isBatchId(id) ? await this.endings.cancel(id, tenant) : 'unknown';
    if (answer === 'settled') {
      throw new AppError('conflict', 'The batch can no longer be cancelled: it is over or about to end');
    }
    if (answer === 'stopping') this.relay.wake();
    return this.find(id, tenant);
  }

  /**
   * Yields a finished batch as the bytes of its JSON object. Results are read page by page, as fast as the reader takes
   * them. So neither a large batch nor a slow reader holds a database snapshot, and each page counts as memory of the
   * reader. Resolves when the first page is ready.
   * @throws AppError provider_overloaded (no memory)
   */
  async write(batch: BatchView, tenant: WorkspaceTenant, memory: ReaderMemory): Promise<AsyncGenerator<Buffer>> {
    const results = this.writeResults(batch, tenant, new PageMemory(memory));
    return withObject(batch, await results.next(), results);
  }

  private async *writeResults(
    batch: BatchView,
    tenant: WorkspaceTenant,
    memory: PageMemory,
  ): AsyncGenerator<Buffer, void> {
    // A batch that failed validation has no results at all.
    let missing = batch.completed + batch.failed;
    let afterSeq = -1;
    let resultBytes = FIRST_RESULT_BYTES;
    while (missing > 0) {
      const { bytes, count, lastSeq } = await this.readPage(batch, tenant, { afterSeq, resultBytes, memory });
      if (count === 0) {
        // The batch was removed meanwhile: a broken answer is better than one that looks complete.
        await this.get(batch.id, tenant);
        // Some results are missing, as the batch's error message says. All existing ones have been written.
        return;
      }
      if (afterSeq !== -1) yield COMMA;
      yield* piecesOf(bytes);
      memory.end();
      missing -= count;
      afterSeq = lastSeq;
      resultBytes = bytes.length / count;
    }
  }

  private async readPage(
    batch: BatchView,
    tenant: WorkspaceTenant,
    { afterSeq, resultBytes, memory }: PageStart,
  ): Promise<ResultArray> {
    const { id, createdOn, number, status } = batch;
    const mostItems = Math.max(1, Math.min(MAX_PAGE_RESULTS, Math.floor(PAGE_BYTES / resultBytes)));
    const range = { afterSeq, mostItems, mostBytes: PAGE_BYTES };
    const results = { id, createdOn, number, isStopped: status !== 'completed' };
    const { items, bytes } = await this.results.weigh(tenant, results, range);
    const expected = bytes + items * FRAME_BYTES;
    await memory.begin(expected);
    const page = new ResultArray(batch, expected);
    await this.results.page(tenant, results, range, page.add);
    memory.isRead(expected);
    return page;
  }
}

interface PageStart {
  readonly afterSeq: number;
  /** Average bytes of a result on the last page. */
  readonly resultBytes: number;
  readonly memory: PageMemory;
}

/** Yields the object of a batch around its results. The first piece of the results has already been read. */
async function* withObject(
  batch: BatchView,
  first: IteratorResult<Buffer, void>,
  others: AsyncGenerator<Buffer, void>,
): AsyncGenerator<Buffer> {
  const object = JSON.stringify(toBatchObject(batch));
  yield Buffer.from(`${object.slice(0, -'null}'.length)}[`);
  if (first.done !== true) yield first.value;
  yield* others;
  yield Buffer.from(']}');
}

const COMMA = Buffer.from(',');

export function isBatchId(text: string): boolean {
  return BATCH_ID.test(text);
}

export function batchNotFound(): AppError {
  return new AppError('not_found', 'Batch not found');
}
