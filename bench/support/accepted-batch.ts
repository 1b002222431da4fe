import { randomUUID } from 'node:crypto';
import { mintId } from '@libs/contracts';
import {
  BatchIntakeRepository,
  BatchLineEncoder,
  LedgerRepository,
  type BatchKey,
  type BatchOwner,
  type Database,
  type SegmentRange,
} from '@libs/persistence';

export interface AcceptedBatch {
  readonly endpoint: string;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly bodies: readonly Buffer[];
  readonly owner: BatchOwner;
}

/** As the gateway cuts its uploads. */
const SEGMENT_LINES = 128;
const SLICE_BYTES = 8 * 1024 * 1024;
const LEASE_MS = 120_000;
const CREDITS_USD = '1000';
const HOLD_MS = 26 * 3_600_000;

/** Stores a batch as the gateway does that has just answered 202, for an organization that can pay for it. */
export async function storeAcceptedBatch(database: Database, batch: AcceptedBatch): Promise<BatchKey> {
  const intake = new BatchIntakeRepository(database);
  const ledger = new LedgerRepository(database);
  const { owner } = batch;
  await ledger.topUp(owner.organizationId, CREDITS_USD, randomUUID());
  const key = await intake.reserve(mintId('batch'));
  const encoder = new BatchLineEncoder(key.createdOn, key.number, SLICE_BYTES);
  let isBegun = false;
  for (const [seq, body] of batch.bodies.entries()) {
    encoder.add(seq, `line-${seq}`, body);
    if (encoder.size < SLICE_BYTES) continue;
    await intake.slice(async (session) => {
      const partition = await intake.keepReceiving(session, key, owner, { leaseMs: LEASE_MS, isBegun });
      await intake.copyLines(session, partition, encoder.take());
    });
    isBegun = true;
  }
  await intake.slice(async (session) => {
    const partition = await intake.keepReceiving(session, key, owner, { leaseMs: LEASE_MS, isBegun });
    await intake.copyLines(session, partition, encoder.take());
    await intake.addSegments(session, key, segmentsOf(batch.bodies.length));
    await ledger.openHold(session, {
      id: key.id,
      organizationId: owner.organizationId,
      workspaceId: owner.workspaceId,
      apiKeyHash: owner.apiKeyHash,
      keyLimit: null,
      amountUsd: CREDITS_USD,
      lifetimeMs: HOLD_MS,
    });
    const { endpoint, model, provider, upstreamModel } = batch;
    await intake.accept(session, key, {
      endpoint,
      model,
      provider,
      upstreamModel,
      total: batch.bodies.length,
      idempotency: null,
    });
  });
  return key;
}

function segmentsOf(total: number): SegmentRange[] {
  return Array.from({ length: Math.ceil(total / SEGMENT_LINES) }, (_, number) => ({
    number,
    firstSeq: number * SEGMENT_LINES,
    lastSeq: Math.min(total, (number + 1) * SEGMENT_LINES) - 1,
  }));
}
