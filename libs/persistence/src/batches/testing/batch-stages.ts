import { mintId, numberedId } from '@libs/contracts';
import type { Database } from '../../database';
import { LedgerRepository } from '../../ledger/ledger.repository';
import { OutboxRepository } from '../../outbox/outbox.repository';
import { aLineOutcome, announcementsOf, batchesOf, beginBatch, storeBatch, type StoredBatch } from '../../testing';
import { BatchEndingsRepository } from '../batch-endings.repository';
import { BatchRemovalRepository } from '../batch-removal.repository';
import { BatchResultsRepository, type LineOutcome } from '../batch-results.repository';
import { BatchSegmentsRepository } from '../batch-segments.repository';
import type { BatchTotals } from '../batch-totals';

const LEASE_MS = 30_000;

export const LINES = 8;
/** Lines that have a result in a batch that is stopped or runs. */
const ANSWERED = 5;

/** Usage that the provider reports of one line, with a different number for each count. */
const TOKENS = { promptTokens: 7, completionTokens: 5, cachedTokens: 3, cacheWriteTokens: 2, reasoningTokens: 4 };
/** Calls on an own key cost their owner the list price, and us the fee. */
const OWN_KEY = { promptCostUsd: '0.1', completionCostUsd: '0.2', costUsd: '0.015', byokFeeUsd: '0.015' };

/** Makes batches of eight lines at every stage of their life, with ids and charges as the worker makes them. */
export class BatchStages {
  private readonly endings: BatchEndingsRepository;

  constructor(private readonly database: Database) {
    const [ledger, outbox] = [new LedgerRepository(database), new OutboxRepository(database)];
    this.endings = new BatchEndingsRepository(database, ledger, outbox, announcementsOf(database));
  }

  accepted(): Promise<StoredBatch> {
    return storeBatch(this.database, LINES, '1', { id: mintId('batch') });
  }

  async running(answered = ANSWERED, values: Partial<LineOutcome> = {}): Promise<StoredBatch> {
    const batch = await this.accepted();
    await beginBatch(this.database, batch);
    const leases = await new BatchSegmentsRepository(this.database).claim(LINES, LEASE_MS);
    const outcomes = leases
      .filter(({ batchNumber }) => batchNumber === batch.number)
      .flatMap((lease) =>
        Array.from({ length: lease.lastSeq - lease.firstSeq + 1 }, (_, at) => {
          const seq = lease.firstSeq + at;
          const generationId = numberedId('gen-batch', batch.id, seq);
          return aLineOutcome(lease, seq, { generationId, ...TOKENS, ...values });
        }),
      );
    await new BatchResultsRepository(this.database).store(outcomes.filter(({ seq }) => seq < answered));
    return batch;
  }

  async finalizing(values: Partial<LineOutcome> = {}): Promise<StoredBatch> {
    const batch = await this.running(LINES, values);
    await batchesOf(this.database).beginFinalizing(batch.number);
    return batch;
  }

  async completed(values: Partial<LineOutcome> = {}): Promise<StoredBatch> {
    const batch = await this.finalizing(values);
    await batchesOf(this.database).complete(batch.id, usageOf);
    return batch;
  }

  completedOnOwnKey(): Promise<StoredBatch> {
    return this.completed(OWN_KEY);
  }

  async completedWithErrors(): Promise<StoredBatch> {
    const nothing = { promptTokens: 0, completionTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
    const free = { promptCostUsd: '0', completionCostUsd: '0', costUsd: '0' };
    const error = { type: 'server_error', message: 'no', param: null };
    return this.completed({ ...nothing, ...free, body: null, statusCode: null, error });
  }

  async failedValidation(): Promise<StoredBatch> {
    const [batch, batches] = [await this.accepted(), batchesOf(this.database)];
    await batches.failValidation((await batches.claimValidation(batch.id, LEASE_MS))!, 'no');
    return batch;
  }

  async cancelling(): Promise<StoredBatch> {
    const batch = await this.running();
    await this.endings.cancel(batch.id, batch.owner);
    return batch;
  }

  async cancelled(): Promise<StoredBatch> {
    return this.ended(await this.cancelling());
  }

  async cancelledBeforeItBegan(): Promise<StoredBatch> {
    const batch = await this.accepted();
    await this.endings.cancel(batch.id, batch.owner);
    return this.ended(batch);
  }

  async expired(): Promise<StoredBatch> {
    const batch = await this.running();
    await this.set(batch, 'expires_at = now()');
    await this.endings.expire(batch.id);
    return this.ended(batch);
  }

  async failedMidway(): Promise<StoredBatch> {
    const batch = await this.running();
    await this.endings.fail(batch.id, 'no');
    return this.ended(batch);
  }

  async removedByItsOwner(): Promise<StoredBatch> {
    const batch = await this.completed();
    const removal = new BatchRemovalRepository(this.database, new OutboxRepository(this.database));
    await removal.remove(batch.id, batch.owner, true);
    return batch;
  }

  async pastItsRetention(): Promise<StoredBatch> {
    const batch = await this.completed();
    await this.set(batch, `created_at = now() - interval '31 days'`);
    for (const table of ['batch_lines', 'batch_results']) {
      const sql = `DELETE FROM ${table} WHERE batch_number = $1`;
      await this.database.execute({ sql, values: [batch.number] });
    }
    return batch;
  }

  private async ended(batch: StoredBatch): Promise<StoredBatch> {
    await this.set(batch, 'stop_by = now()');
    if ((await this.endings.finish(batch.number, usageOf)) === null) throw new Error(`${batch.id} did not end`);
    return batch;
  }

  private async set({ number }: StoredBatch, assignment: string): Promise<void> {
    await this.database.execute({ sql: `UPDATE batches SET ${assignment} WHERE number = $1`, values: [number] });
  }
}

/** The sums of `usage` as the worker states them. */
function usageOf(totals: BatchTotals): object {
  return {
    prompt_tokens: totals.promptTokens,
    completion_tokens: totals.completionTokens,
    total_tokens: totals.promptTokens + totals.completionTokens,
    prompt_tokens_details: { cached_tokens: totals.cachedTokens, cache_write_tokens: totals.cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: totals.reasoningTokens },
    cost: Number(totals.costUsd),
    cost_details: {
      upstream_inference_cost: totals.upstreamCostUsd === null ? null : Number(totals.upstreamCostUsd),
      upstream_inference_prompt_cost: Number(totals.promptCostUsd),
      upstream_inference_completions_cost: Number(totals.completionCostUsd),
    },
  };
}
