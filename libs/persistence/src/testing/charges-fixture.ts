import { randomBytes, randomUUID } from 'node:crypto';
import { mintId, numberedId } from '@libs/contracts';
import { BatchResultsRepository, type LineOutcome } from '../batches/batch-results.repository';
import { BatchSegmentsRepository, type SegmentLease } from '../batches/batch-segments.repository';
import type { Database } from '../database';
import type { GenerationOpening, GenerationSettlement } from '../generations/generation-records';
import { GenerationsRepository } from '../generations/generations.repository';
import { LedgerRepository } from '../ledger/ledger.repository';
import { VideoEndsRepository } from '../videos/video-ends.repository';
import type { NewVideo } from '../videos/video-intake.repository';
import { VideoJobsRepository } from '../videos/video-jobs.repository';
import { batchesOf, storeBatch, type StoredBatch } from './batch-fixture';
import { anOpening, aSettlement } from './generation-fixture';
import { aLineOutcome } from './line-outcome-fixture';
import { storeVideo } from './video-fixture';

const LEASE_MS = 30_000;

/** A call of an organization with credits that was opened, and settled unless `costUsd` is null. */
export async function chargedCall(
  database: Database,
  costUsd: string | null,
  terms: Partial<GenerationOpening> = {},
  answer: Partial<GenerationSettlement> = {},
): Promise<GenerationOpening> {
  const apiKeyHash = randomBytes(32).toString('hex');
  const call = anOpening({ id: mintId('gen'), apiKeyHash, holdUsd: '0.1', ...terms });
  await new LedgerRepository(database).topUp(call.organizationId, '10', randomUUID());
  const generations = new GenerationsRepository(database);
  await generations.open([call]);
  if (costUsd !== null) await generations.settle([aSettlement(call, costUsd, answer)]);
  return call;
}

export interface ChargedBatch extends StoredBatch {
  readonly generationIds: readonly string[];
}

/** Terms of a `chargedBatch`: what each line came to, and how it ran. */
export interface BatchTerms extends Partial<LineOutcome> {
  readonly isRunning?: boolean;
  /** An order at the provider ran the lines up to this one; the others ran as single calls. */
  readonly lastNativeSeq?: number;
}

/** A batch of `total` lines, which have all run; it is complete unless it `isRunning`. */
export async function chargedBatch(
  database: Database,
  total: number,
  { isRunning = false, lastNativeSeq = -1, ...line }: BatchTerms = {},
): Promise<ChargedBatch> {
  await database.execute({ sql: 'DELETE FROM batch_segments' });
  const batch = await storeBatch(database, total, '1', { id: mintId('batch') });
  const batches = batchesOf(database);
  await batches.beginProgress((await batches.claimValidation(batch.id, LEASE_MS))!);
  const results = new BatchResultsRepository(database);
  const generationIds: string[] = [];
  for (const segment of await new BatchSegmentsRepository(database).claim(total, LEASE_MS)) {
    for (let { firstSeq: seq } = segment; seq <= segment.lastSeq; seq += 1) {
      const generationId = numberedId('gen-batch', batch.id, seq);
      generationIds.push(generationId);
      await setState(database, segment, seq <= lastNativeSeq ? 'parked' : 'open');
      await results.store([aLineOutcome(segment, seq, { generationId, ...line })]);
    }
  }
  if (isRunning) return { ...batch, generationIds };
  await batches.beginFinalizing(batch.number);
  await batches.complete(batch.id, ({ costUsd, promptCostUsd, completionCostUsd, upstreamCostUsd }) => ({
    cost: Number(costUsd),
    cost_details: {
      upstream_inference_cost: upstreamCostUsd === null ? null : Number(upstreamCostUsd),
      upstream_inference_prompt_cost: Number(promptCostUsd),
      upstream_inference_completions_cost: Number(completionCostUsd),
    },
  }));
  return { ...batch, generationIds };
}

async function setState(database: Database, segment: SegmentLease, state: string): Promise<void> {
  const sql = `UPDATE batch_segments SET state = $3 WHERE batch_number = $1 AND number = $2 AND state IN ('open', 'parked')`;
  await database.execute({ sql, values: [segment.batchNumber, segment.number, state] });
}

/** Returns the id of a video that was delivered. */
export async function chargedVideo(
  database: Database,
  costUsd: string,
  upstreamCostUsd: string | null = null,
  terms: Partial<NewVideo> = {},
): Promise<string> {
  const { id } = await storeVideo(database, terms);
  const jobs = new VideoJobsRepository(database);
  const [job] = await jobs.claimDue(1, LEASE_MS);
  const end = { status: 'completed', outputs: [], keepMs: 3_600_000, costUsd, upstreamCostUsd } as const;
  const ends = new VideoEndsRepository(database, new LedgerRepository(database));
  if (job?.id !== id || !(await ends.finish(job, end, async () => undefined))) throw new Error('the video did not end');
  return id;
}
