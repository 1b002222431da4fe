import { chatRequests, embeddingRequests, type TestLine } from '../../support/batch-lines';
import type { BatchBody } from '../../support/client';
import type { BatchRecord } from '../evidence';
import { REFUSED_WORDS } from '../storm-upstream';
import { Actor, type LoadTools } from './load';

export const TERMINAL: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);
/** Longer than the 8 MiB after which an upload is stored in slices. */
const SLICED_BYTES = 10_000_000;
const MOST_TRIES = 12;
/** A caller looks at what it began for so long; the end of the storm looks after the rest. */
const PATIENCE_STEPS = 60;

type Size = 'small' | 'medium' | 'sliced';

/** A program that submits batches of both lanes, follows them, and cancels, retries or deletes some. */
export class BatchSubmitter extends Actor {
  constructor(tools: LoadTools, number: number) {
    super(tools, `batches-${number}`, [200, 900]);
  }

  protected override async step(number: number): Promise<void> {
    const { random } = this;
    const lane = random.weighted({ managed: 7, native: 3 } as const);
    const isEmbedding = lane === 'managed' && random.chance(0.2);
    const size = random.weighted<Size>({ small: 55, medium: 30, sliced: lane === 'managed' && !isEmbedding ? 15 : 0 });
    const fate = random.weighted({ nothing: 55, cancel: 15, delete: 20, retry: 10 } as const);
    const isKeyed = random.chance(0.7);
    const lines = this.#lines(`${this.name}-${number}`, size);
    const endpoint = isEmbedding ? '/v1/embeddings' : '/v1/chat/completions';
    const model = isEmbedding ? 'storm/embed' : lane === 'native' ? 'storm/native' : 'storm/plain';
    const requests = isEmbedding ? embeddingRequests(lines) : chatRequests(lines);
    const body = JSON.stringify({ endpoint, model, requests });
    const submission = `${this.name}-${number}`;
    this.tools.history.addBatchSubmission({ name: submission, endpoint, lines });
    const accepted = await this.#submit('POST /batches', '/batches', body, isKeyed ? submission : null);
    if (accepted === null) return;
    const planted = lines.filter(({ prompt }) => prompt.includes(REFUSED_WORDS)).map(({ customId }) => customId);
    const record = this.#record(accepted, { submission, lane, endpoint, model, lines, planted });
    await this.#follow(record, fate);
  }

  #lines(tag: string, size: Size): TestLine[] {
    const { random } = this;
    const count = { small: random.int(1, 12), medium: random.int(30, 300), sliced: 560 }[size];
    const padding = size === 'sliced' ? 'x'.repeat(SLICED_BYTES / count) : '';
    return Array.from({ length: count }, (_, index) => {
      const customId = `${tag}-${index}`;
      const isRefused = random.chance(0.01);
      const words = `${'word '.repeat(1 + (index % 9))}${isRefused ? REFUSED_WORDS : 'please'}`;
      return { customId, marker: customId, prompt: `[[${customId}]] ${words}.${padding}` };
    });
  }

  #record(
    batch: BatchBody,
    about: Pick<BatchRecord, 'submission' | 'lane' | 'endpoint' | 'model' | 'lines' | 'planted'>,
  ): BatchRecord {
    const record: BatchRecord = {
      id: batch.id,
      ...about,
      acceptedMs: Date.now(),
      statuses: [batch.status],
      batch,
      wasLost: false,
      wasCancelled: false,
      wasDeleted: false,
    };
    this.tools.history.addBatch(record);
    return record;
  }

  /** Sends a submission; one that has an idempotency key is repeated until its answer is known. */
  async #submit(what: string, path: string, body: string | undefined, key: string | null): Promise<BatchBody | null> {
    for (let tries = 0; tries < (key === null ? 1 : MOST_TRIES); tries += 1) {
      const answer = await this.#ask<BatchBody>(what, 'POST', path, body, key);
      if (answer.status === 202) return answer.body;
      // Where the outcome is known and final there is nothing to repeat.
      if (answer.status !== null && answer.status < 500 && answer.status !== 409 && answer.status !== 429) return null;
      if (this.tools.isOver()) return null;
      await this.pause();
    }
    return null;
  }

  #ask<T>(
    what: string,
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: string,
    idempotencyKey?: string | null,
  ) {
    return this.tools.client.ask<T>({
      actor: this.name,
      what,
      gateway: this.gateway(),
      key: this.tools.apiKey.key,
      method,
      path,
      ...(body !== undefined && { body }),
      ...(idempotencyKey != null && { headers: { 'idempotency-key': idempotencyKey } }),
    });
  }

  async #follow(record: BatchRecord, fate: 'nothing' | 'cancel' | 'delete' | 'retry'): Promise<void> {
    await this.#watch(record, fate === 'cancel' ? this.random.int(0, 4) : null);
    if (!hasEnded(record) || this.tools.isOver()) return;
    if (fate === 'delete') await this.#remove(record);
    if (fate === 'retry') await this.#retry(record);
  }

  /** Looks until the batch has ended. @param cancelsAt the look before which it is cancelled */
  async #watch(record: BatchRecord, cancelsAt: number | null): Promise<void> {
    for (let looks = 0; looks < PATIENCE_STEPS && !this.tools.isOver(); looks += 1) {
      if (looks === cancelsAt) await this.#cancel(record);
      await this.#look(record);
      if (hasEnded(record)) return;
      await this.pause();
    }
  }

  async #look(record: BatchRecord): Promise<void> {
    const { status, body } = await this.#ask<BatchBody>('GET /batches/:id', 'GET', `/batches/${record.id}`);
    if (status === 200 && body !== null) see(record, body);
    if (status === 404 && !record.wasDeleted) record.wasLost = true;
  }

  async #cancel(record: BatchRecord): Promise<void> {
    record.wasCancelled = true;
    await this.#ask('POST /batches/:id/cancel', 'POST', `/batches/${record.id}/cancel`);
  }

  async #remove(record: BatchRecord): Promise<void> {
    record.wasDeleted = true;
    await this.#ask('DELETE /batches/:id', 'DELETE', `/batches/${record.id}`);
  }

  async #retry(record: BatchRecord): Promise<void> {
    const failed = new Set(
      (record.batch?.results ?? []).filter(({ error }) => error !== null).map((one) => one.custom_id),
    );
    const { lane, endpoint, model, planted } = record;
    const lines = record.lines.filter(({ customId }) => failed.has(customId));
    const submission = `${record.id}-again`;
    this.tools.history.addBatchSubmission({ name: submission, endpoint, lines });
    const path = `/batches/${record.id}/retry`;
    const accepted = await this.#submit('POST /batches/:id/retry', path, undefined, submission);
    if (accepted === null) return;
    const again = this.#record(accepted, { submission, lane, endpoint, model, lines, planted });
    await this.#follow(again, 'nothing');
  }
}

function hasEnded({ batch }: BatchRecord): boolean {
  return batch !== null && TERMINAL.has(batch.status);
}

/** Takes what a look at a batch showed into its record. */
export function see(record: BatchRecord, batch: BatchBody): void {
  record.batch = batch;
  if (record.statuses.at(-1) !== batch.status) record.statuses.push(batch.status);
}
