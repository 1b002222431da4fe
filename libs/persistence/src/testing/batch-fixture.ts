import { randomUUID } from 'node:crypto';
import { BatchIntakeRepository, type BatchKey, type BatchOwner } from '../batches/batch-intake.repository';
import { BatchLineEncoder } from '../batches/batch-line-encoder';
import type { SpendingLimit } from '../ledger/key-limit';
import { LedgerRepository } from '../ledger/ledger.repository';
import { BatchAnnouncementsRepository } from '../batches/batch-announcements.repository';
import { BatchResultsRepository } from '../batches/batch-results.repository';
import { BatchSegmentsRepository } from '../batches/batch-segments.repository';
import { BatchesRepository } from '../batches/batches.repository';
import type { Database } from '../database';
import { OutboxRepository } from '../outbox/outbox.repository';
import { aLineOutcome } from './line-outcome-fixture';
import { WebhookDeliveriesRepository } from '../webhooks/webhook-deliveries.repository';

export interface StoredBatch extends BatchKey {
  readonly owner: BatchOwner;
}

const SEGMENT_LINES = 4;
const LEASE_MS = 30_000;
const SLICE_BYTES = 1024 * 1024;

/** What pays for a batch of a test; by default ten dollars of a new organization, and a key without a limit. */
export interface BatchPayer {
  /** Of the batch. */
  readonly id?: string;
  readonly organizationId?: string;
  /** Added to what the organization has. */
  readonly creditsUsd?: string;
  readonly apiKeyHash?: string;
  readonly budgets?: readonly SpendingLimit[];
  readonly keyLimit?: SpendingLimit | null;
}

/** A funded organization and an accepted batch of `total` lines in segments of four, waiting for validation. */
export async function storeBatch(
  database: Database,
  total: number,
  holdUsd = '1',
  {
    id = `batch-test-${randomUUID()}`,
    organizationId = randomUUID(),
    creditsUsd = '10',
    apiKeyHash = 'a'.repeat(64),
    budgets,
    keyLimit = null,
  }: BatchPayer = {},
): Promise<StoredBatch> {
  const ledger = new LedgerRepository(database);
  const intake = new BatchIntakeRepository(database);
  const owner = { organizationId, workspaceId: randomUUID(), apiKeyHash };
  if (creditsUsd !== '0') await ledger.topUp(owner.organizationId, creditsUsd, randomUUID());
  const key = await intake.reserve(id);
  await intake.slice(async (session) => {
    const partition = await intake.keepReceiving(session, key, owner, { leaseMs: 60_000, isBegun: false });
    const encoder = new BatchLineEncoder(key.createdOn, key.number, SLICE_BYTES);
    for (let seq = 0; seq < total; seq += 1) encoder.add(seq, `line-${seq}`, Buffer.from(`{"seq":${seq}}`));
    await intake.copyLines(session, partition, encoder.take());
    const segments = [];
    for (let first = 0; first < total; first += SEGMENT_LINES) {
      segments.push({
        number: first / SEGMENT_LINES,
        firstSeq: first,
        lastSeq: Math.min(total, first + SEGMENT_LINES) - 1,
      });
    }
    await intake.addSegments(session, key, segments);
    await ledger.openHold(session, {
      id: key.id,
      organizationId: owner.organizationId,
      workspaceId: owner.workspaceId,
      apiKeyHash: owner.apiKeyHash,
      keyLimit,
      budgets,
      amountUsd: holdUsd,
      lifetimeMs: 86_400_000,
    });
    await intake.accept(session, key, {
      endpoint: '/v1/chat/completions',
      model: 'vendor/model',
      provider: 'vendor',
      upstreamModel: 'model',
      total,
      idempotency: null,
    });
  });
  return { ...key, owner };
}

/** Takes a stored batch past validation, so that its lines can be claimed. */
export async function beginBatch(database: Database, { id }: Pick<BatchKey, 'id'>): Promise<void> {
  const batches = batchesOf(database);
  const work = await batches.claimValidation(id, LEASE_MS);
  if (work === null || !(await batches.beginProgress(work))) throw new Error(`batch ${id} could not begin`);
}

/** Stores a batch as `storeBatch` does, past validation: its lines can be claimed. */
export async function startBatch(database: Database, total: number): Promise<StoredBatch> {
  const batch = await storeBatch(database, total);
  await beginBatch(database, batch);
  return batch;
}

/** Claims up to `lines` segments and stores an answer for each of their lines before `seq`. Returns how many were stored. */
export async function answerLinesBefore(database: Database, seq: number, lines: number): Promise<number> {
  const leases = await new BatchSegmentsRepository(database).claim(lines, LEASE_MS);
  const outcomes = leases.flatMap((lease) =>
    Array.from({ length: lease.lastSeq - lease.firstSeq + 1 }, (_, at) => aLineOutcome(lease, lease.firstSeq + at)),
  );
  const report = await new BatchResultsRepository(database).store(outcomes.filter((one) => one.seq < seq));
  return report.stored;
}

export function announcementsOf(database: Database): BatchAnnouncementsRepository {
  return new BatchAnnouncementsRepository(new WebhookDeliveriesRepository(database, new OutboxRepository(database)));
}

/** The repository of batch rows with all that it needs. */
export function batchesOf(database: Database): BatchesRepository {
  return new BatchesRepository(database, new LedgerRepository(database), announcementsOf(database));
}
