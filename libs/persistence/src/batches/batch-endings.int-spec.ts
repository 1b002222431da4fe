import { AppError } from '@libs/errors';
import { LedgerRepository } from '../ledger/ledger.repository';
import { OutboxRepository } from '../outbox/outbox.repository';
import {
  aLineOutcome,
  announcementsOf,
  batchesOf,
  startBatch,
  openTestDatabase,
  storeBatch,
  type OpenTestDatabase,
  type StoredBatch,
} from '../testing';
import { BatchEndingsRepository } from './batch-endings.repository';
import { BatchRemovalRepository } from './batch-removal.repository';
import { BatchResultsRepository } from './batch-results.repository';
import { BatchSegmentsRepository } from './batch-segments.repository';
import { BatchesRepository } from './batches.repository';
import type { BatchTotals } from './batch-totals';
import { BatchViewsRepository } from './batch-views.repository';

const LEASE_MS = 30_000;
const usage = (totals: BatchTotals): object => totals;

describe(BatchEndingsRepository.name, () => {
  let opened: OpenTestDatabase;
  let endings: BatchEndingsRepository;
  let removal: BatchRemovalRepository;
  let results: BatchResultsRepository;
  let segments: BatchSegmentsRepository;
  let batches: BatchesRepository;
  let views: BatchViewsRepository;
  let ledger: LedgerRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    const { database } = opened;
    ledger = new LedgerRepository(database);
    endings = new BatchEndingsRepository(database, ledger, new OutboxRepository(database), announcementsOf(database));
    removal = new BatchRemovalRepository(database, new OutboxRepository(database));
    results = new BatchResultsRepository(database);
    segments = new BatchSegmentsRepository(database);
    batches = batchesOf(database);
    views = new BatchViewsRepository(database);
  });

  afterAll(() => opened.close());

  beforeEach(async () => {
    await opened.database.execute({ sql: 'DELETE FROM batch_segments' });
    await opened.database.execute({ sql: `UPDATE batches SET expires_at = now() + interval '1 day'` });
  });

  /** Whatever a test did, the books balance and no hold of a finished batch is open. */
  afterEach(async () => {
    expect(await ledger.audit()).toEqual([]);
    const open = await opened.database.rows({
      sql: `SELECT h.id FROM ledger_holds h JOIN batches b ON b.id = h.id
            WHERE (h.state = 'open') = (b.finalized_at IS NOT NULL)`,
    });
    expect(open).toEqual([]);
  });

  const started = (total: number): Promise<StoredBatch> => startBatch(opened.database, total);

  const cancel = ({ id, owner }: StoredBatch): Promise<string> => endings.cancel(id, owner);
  const viewOf = async ({ id, owner }: StoredBatch): Promise<object | null> => views.findForWorkspace(id, owner);
  const timeIsUp = ({ id }: StoredBatch): Promise<number> =>
    opened.database.execute({ sql: 'UPDATE batches SET stop_by = now() WHERE id = $1', values: [id] });

  it('hands out no segment of a cancelled batch, and ends it when its last lease is given up', async () => {
    const batch = await started(12);
    const [held] = await segments.claim(1, LEASE_MS);
    await results.store([aLineOutcome(held!, 0)]);
    expect(await cancel(batch)).toBe('stopping');
    expect(await cancel(batch)).toBe('stopping');
    expect(await segments.claim(10, LEASE_MS)).toEqual([]);
    expect(await endings.finish(batch.number, usage)).toBeNull();

    // Nor a segment whose worker died meanwhile.
    const leaseOf = (until: string): Promise<number> =>
      opened.database.execute({
        sql: `UPDATE batch_segments SET available_at = now() + $2::interval WHERE batch_number = $1 AND state = 'open'`,
        values: [batch.number, until],
      });
    await leaseOf('0');
    expect(await segments.claim(10, LEASE_MS)).toEqual([]);
    await leaseOf('30 seconds');

    // What was in flight may still come to its result, once.
    expect((await results.store([aLineOutcome(held!, 1)])).stored).toBe(1);
    await segments.close([held!]);
    expect(await endings.finish(batch.number, usage)).toBe('cancelled');
    expect(await viewOf(batch)).toMatchObject({
      status: 'cancelled',
      completed: 2,
      failed: 10,
      usage: { costUsd: '0.040000000000', promptTokens: 2 },
    });
    expect(await ledger.accountOf(batch.owner.organizationId)).toMatchObject({
      balanceUsd: '9.960000000000',
      heldUsd: '0.000000000000',
    });
    expect(await cancel(batch)).toBe('settled');
    expect(await endings.finish(batch.number, usage)).toBeNull();
  });

  it('takes nothing from a worker that wakes after its batch has ended: 0 rows in every table', async () => {
    const batch = await started(8);
    const [frozen] = await segments.claim(1, LEASE_MS);
    await cancel(batch);
    await timeIsUp(batch);
    expect(await endings.finish(batch.number, usage)).toBe('cancelled');
    const ended = await viewOf(batch);

    expect(await results.store([aLineOutcome(frozen!, 0)])).toMatchObject({ stored: 0, batchesWithDoneSegments: [] });
    expect(await segments.renew([frozen!], LEASE_MS)).toEqual([]);
    await segments.close([frozen!]);
    await segments.release([frozen!]);
    expect(await batches.beginFinalizing(batch.number)).toBeNull();
    expect(await batches.complete(batch.id, usage)).toBe(false);
    expect(await viewOf(batch)).toEqual(ended);
    expect(ended).toMatchObject({ completed: 0, failed: 8 });
    expect((await ledger.accountOf(batch.owner.organizationId)).balanceUsd).toBe('10.000000000000');
  });

  it('asks to cancel again soon while the results of the batch are being summed, and cancels it then', async () => {
    const batch = await storeBatch(opened.database, 2);
    await opened.database.transaction(async (session) => {
      await session.execute({ sql: 'SELECT 1 FROM batches WHERE id = $1 FOR UPDATE', values: [batch.id] });
      const answer = await endings.cancel(batch.id, batch.owner).catch((error: unknown) => AppError.from(error));
      expect(answer).toMatchObject({ status: 503, retryAfterSeconds: 2 });
    });
    expect(await endings.cancel(batch.id, batch.owner)).toBe('stopping');
  });

  it('takes nothing from a validator that wakes after its batch was cancelled or has expired', async () => {
    const [cancelled, expired] = [await storeBatch(opened.database, 2), await storeBatch(opened.database, 2)];
    const works = [
      (await batches.claimValidation(cancelled.id, LEASE_MS))!,
      (await batches.claimValidation(expired.id, LEASE_MS))!,
    ];
    await cancel(cancelled);
    await opened.database.execute({
      sql: 'UPDATE batches SET expires_at = now() WHERE id = $1',
      values: [expired.id],
    });
    expect(await endings.findExpired(10)).toEqual([expired.id]);
    expect(await endings.expire(expired.id)).toBe(true);
    for (const work of works) {
      expect(await batches.renewValidation(work, LEASE_MS)).toBe(false);
      expect(await batches.beginProgress(work)).toBe(false);
      expect(await batches.failValidation(work, 'too late')).toBe(false);
      expect(await batches.claimValidation(work.id, LEASE_MS)).toBeNull();
    }
    expect(await endings.finish(cancelled.number, usage)).toBe('cancelled');
    expect(await endings.finish(expired.number, usage)).toBe('expired');
    expect(await viewOf(expired)).toMatchObject({ status: 'expired', completed: 0, failed: 2 });
  });

  it('fails a batch whatever its caller calls the member that does not fit', async () => {
    const [invalid, running] = [await storeBatch(opened.database, 2), await started(2)];
    const work = (await batches.claimValidation(invalid.id, LEASE_MS))!;
    expect(await batches.failValidation(work, 'my\0member does not fit')).toBe(true);
    expect(await viewOf(invalid)).toMatchObject({ status: 'failed', errorMessage: 'my\u{fffd}member does not fit' });
    expect(await endings.fail(running.id, 'my\0model is gone')).toBe(true);
  });

  it('ends a batch once, whoever else is at it', async () => {
    const batch = await started(4);
    await cancel(batch);
    const ended = await Promise.all([1, 2, 3, 4].map(() => endings.finish(batch.number, usage)));
    expect(ended.filter((ending) => ending !== null)).toEqual(['cancelled']);
  });

  it('counts a result that is being written when the batch ends, or nobody does', async () => {
    for (let round = 0; round < 10; round += 1) {
      const batch = await started(4);
      const [held] = await segments.claim(1, LEASE_MS);
      await cancel(batch);
      await timeIsUp(batch);
      const [stored] = await Promise.all([
        results.store([0, 1, 2, 3].map((seq) => aLineOutcome(held!, seq))),
        endings.finish(batch.number, usage),
      ]);
      if ((await endings.findStopping(10)).length > 0) await endings.finish(batch.number, usage);
      expect(await viewOf(batch)).toMatchObject({ status: 'cancelled', completed: stored.stored });
      const balance = { 0: '10.000000000000', 4: '9.920000000000' }[stored.stored];
      expect((await ledger.accountOf(batch.owner.organizationId)).balanceUsd).toBe(balance);
    }
  });

  it('cancels a batch whose last result is there already, with all of its results', async () => {
    for (let round = 0; round < 10; round += 1) {
      const batch = await started(1);
      const [held] = await segments.claim(1, LEASE_MS);
      await results.store([aLineOutcome(held!, 0)]);
      const [answer] = await Promise.all([cancel(batch), batches.beginFinalizing(batch.number)]);
      expect(answer).toBe('stopping');
      expect(await batches.complete(batch.id, usage)).toBe(false);
      expect(await endings.finish(batch.number, usage)).toBe('cancelled');
      expect(await viewOf(batch)).toMatchObject({ status: 'cancelled', completed: 1, failed: 0 });
    }
  });

  it('answers a cancel that meets the end with one of the two ends', async () => {
    for (let round = 0; round < 10; round += 1) {
      const batch = await started(1);
      const [held] = await segments.claim(1, LEASE_MS);
      await results.store([aLineOutcome(held!, 0)]);
      await batches.beginFinalizing(batch.number);
      const [answer, isComplete] = await Promise.all([cancel(batch), batches.complete(batch.id, usage)]);
      expect(answer).toBe(isComplete ? 'settled' : 'stopping');
      if (!isComplete) expect(await endings.finish(batch.number, usage)).toBe('cancelled');
      expect(await viewOf(batch)).toMatchObject({ completed: 1, failed: 0 });
      expect(await cancel(batch)).toBe('settled');
    }
  });

  it('fails a running batch with its reason and keeps what it has', async () => {
    const batch = await started(4);
    const [held] = await segments.claim(1, LEASE_MS);
    await results.store([aLineOutcome(held!, 2)]);
    expect(await endings.fail(batch.id, 'the provider lost it')).toBe(true);
    expect(await endings.fail(batch.id, 'again')).toBe(false);
    await segments.close([held!]);
    expect(await endings.finish(batch.number, usage)).toBe('failed');
    expect(await viewOf(batch)).toMatchObject({
      status: 'failed',
      errorMessage: 'the provider lost it',
      completed: 1,
      failed: 3,
    });
  });

  it('charges nothing for being looked at', async () => {
    const batch = await started(4);
    const [held] = await segments.claim(1, LEASE_MS);
    await results.store([aLineOutcome(held!, 0)]);
    const before = await ledger.accountOf(batch.owner.organizationId);
    await Promise.all(Array.from({ length: 20 }, () => viewOf(batch)));
    expect(await ledger.accountOf(batch.owner.organizationId)).toEqual(before);
    await cancel(batch);
    await timeIsUp(batch);
    await endings.finish(batch.number, usage);
  });

  async function linesOf({ number }: StoredBatch): Promise<number> {
    const row = await opened.database.firstRow<{ lines: number }>({
      sql: 'SELECT count(*)::integer AS lines FROM batch_lines WHERE batch_number = $1',
      values: [number],
    });
    return row!.lines;
  }

  it('owes the end of a batch to whoever its caller named, once, without results', async () => {
    const [batch, silent] = [await started(4), await started(4)];
    await opened.database.execute({
      sql: `UPDATE batches SET callback_url = 'https://example.test/hook' WHERE id = $1`,
      values: [batch.id],
    });
    for (const each of [batch, silent]) {
      await cancel(each);
      expect(await endings.finish(each.number, usage)).toBe('cancelled');
    }
    const owed = await opened.database.rows<{ id: string; type: string; payload: object }>({
      sql: 'SELECT id, type, payload FROM webhook_deliveries',
    });
    expect(owed).toEqual([
      {
        id: `${batch.id}-cancelled`,
        type: 'batch.cancelled',
        payload: expect.objectContaining({
          id: batch.id,
          status: 'cancelled',
          results: null,
          request_counts: { total: 4, completed: 0, failed: 4 },
        }) as object,
      },
    ]);
  });

  it('asks a worker again when a removal is repeated whose message was lost', async () => {
    const batch = await started(4);
    await cancel(batch);
    await timeIsUp(batch);
    await endings.finish(batch.number, usage);
    const change = (set: string): Promise<number> =>
      opened.database.execute({ sql: `UPDATE batches SET ${set} WHERE id = $1`, values: [batch.id] });
    await change(`upstream_deletion = 'due'`);
    expect(await removal.remove(batch.id, batch.owner, true)).toEqual({ kind: 'awaits-upstream' });
    const lost = { sql: `DELETE FROM outbox WHERE payload->>'batchId' = $1`, values: [batch.id] };
    expect(await opened.database.execute(lost)).toBeGreaterThan(0);
    expect(await removal.remove(batch.id, batch.owner, false)).toEqual({ kind: 'awaits-upstream' });
    expect(await opened.database.execute(lost)).toBe(0);
    expect(await removal.remove(batch.id, batch.owner, true)).toEqual({ kind: 'awaits-upstream' });
    expect(await opened.database.execute(lost)).toBe(1);

    // And a sweeper finds it, once its message has had time to arrive, until there is an answer.
    expect(await removal.findRequested(10)).not.toContain(batch.id);
    await change(`upstream_requested_at = now() - interval '1 minute'`);
    expect(await removal.findRequested(10)).toContain(batch.id);
    expect(await removal.findRequested(10, [batch.id])).not.toContain(batch.id);
    await removal.reportUpstream(batch.id, 'deleted');
    expect(await removal.findRequested(10)).not.toContain(batch.id);
  });

  it('removes nothing while the provider refuses to delete its part, and asks it again the next time', async () => {
    const batch = await started(4);
    await cancel(batch);
    const remove = (begin: boolean): Promise<object> => removal.remove(batch.id, batch.owner, begin);
    expect(await remove(true)).toEqual({ kind: 'unfinished' });
    await endings.finish(batch.number, usage);
    await opened.database.execute({
      sql: `UPDATE batches SET upstream_deletion = 'due' WHERE id = $1`,
      values: [batch.id],
    });

    expect(await remove(true)).toEqual({ kind: 'awaits-upstream' });
    expect(await removal.isUpstreamRequested(batch.id)).toBe(true);
    expect(await removal.reportUpstream(batch.id, 'refused')).toBe(true);
    expect(await removal.reportUpstream(batch.id, 'deleted')).toBe(false);
    expect(await remove(false)).toEqual({ kind: 'upstream-refused' });
    expect(await linesOf(batch)).toBe(4);

    expect(await remove(true)).toEqual({ kind: 'awaits-upstream' });
    await removal.reportUpstream(batch.id, 'unreachable');
    expect(await remove(false)).toEqual({ kind: 'upstream-unreachable' });
    expect(await linesOf(batch)).toBe(4);

    expect(await remove(true)).toEqual({ kind: 'awaits-upstream' });
    await removal.reportUpstream(batch.id, 'deleted');
    expect(await remove(false)).toEqual({ kind: 'removed', provider: 'vendor', upstream: 'deleted' });
    expect(await remove(true)).toEqual({ kind: 'unknown' });
    expect(await linesOf(batch)).toBe(0);
  });
});
