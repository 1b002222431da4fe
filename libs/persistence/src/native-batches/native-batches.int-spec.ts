import { BatchResultsRepository } from '../batches/batch-results.repository';
import { BatchSegmentsRepository } from '../batches/batch-segments.repository';
import { aLineOutcome, openTestDatabase, storeBatch, type OpenTestDatabase, type StoredBatch } from '../testing';
import type { NativeBatch } from './native-batch';
import { NativeBatchesRepository } from './native-batches.repository';
import { NativePlansRepository, type PartLimits } from './native-plans.repository';
import { NativeStoppingRepository } from './native-stopping.repository';
import { NativeSegmentsRepository } from './native-segments.repository';

const LEASE_MS = 30_000;

describe(NativeBatchesRepository.name, () => {
  let test: OpenTestDatabase;
  let orders: NativeBatchesRepository;
  let segments: NativeSegmentsRepository;
  let managed: BatchSegmentsRepository;
  let results: BatchResultsRepository;
  let named = 0;

  beforeAll(async () => {
    test = await openTestDatabase();
    orders = new NativeBatchesRepository(test.database);
    segments = new NativeSegmentsRepository(test.database);
    managed = new BatchSegmentsRepository(test.database);
    results = new BatchResultsRepository(test.database);
  });

  afterAll(() => test.close());

  afterEach(() => test.database.execute({ sql: 'DELETE FROM native_batches' }));

  /** A batch in progress that is given to its provider. */
  async function planned(lines = 8, mostLines = 1_000, inputs?: PartLimits['inputs']): Promise<StoredBatch> {
    const batch = await storeBatch(test.database, lines);
    await test.database.transaction(async (session) => {
      await session.execute({ sql: `UPDATE batches SET status = 'in_progress' WHERE id = $1`, values: [batch.id] });
      await session.execute({
        sql: `UPDATE batch_segments SET state = 'open' WHERE batch_number = $1`,
        values: [batch.number],
      });
      const plans = new NativePlansRepository();
      const beginning = (await plans.beginning(session, batch.number))!;
      const reference = (): string => `nb${(named += 1)}`;
      const limits = { lines: mostLines, bytes: 1_000_000, inputs };
      await plans.plan(session, beginning, limits, { marginMs: 3_600_000, reference });
    });
    return batch;
  }

  async function claimOne(): Promise<NativeBatch> {
    const [order] = await orders.claim(1, LEASE_MS);
    return order!;
  }

  async function hurryStopping(): Promise<void> {
    const stopping = new NativeStoppingRepository(test.database);
    for (const number of await stopping.find()) await stopping.hurry(number);
  }

  it('cuts a batch into orders within the limits, and keeps its lines from the other lane', async () => {
    const batch = await planned(20, 8);
    const claimed = await orders.claim(10, LEASE_MS);
    expect(claimed.map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq])).toEqual([
      [0, 7],
      [8, 15],
      [16, 19],
    ]);
    expect(claimed.every(({ isWanted, isLate }) => isWanted && !isLate)).toBe(true);
    const others = await managed.claim(10, LEASE_MS);
    expect(others.filter(({ batchNumber }) => batchNumber === batch.number)).toEqual([]);
  });

  it('is offered no batch whose provider may keep nothing', async () => {
    const batch = await storeBatch(test.database, 8);
    await test.database.execute({ sql: 'UPDATE batches SET leaves_nothing = true WHERE id = $1', values: [batch.id] });
    const beginning = (number: bigint) =>
      test.database.transaction((session) => new NativePlansRepository().beginning(session, number));
    expect(await beginning(batch.number)).toBeNull();
    expect(await beginning((await storeBatch(test.database, 8)).number)).not.toBeNull();
  });

  it('counts the inputs of embeddings where a provider takes only so many in one order', async () => {
    const ofLines = [1, 1, 1, 1, 9, 1, 1, 1, 1, 1, 1, 1];
    await planned(12, 1_000, { most: 10, ofLines });
    const claimed = await orders.claim(10, LEASE_MS);
    expect(claimed.map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq])).toEqual([
      [0, 3],
      [4, 7],
      [8, 11],
    ]);
  });

  it('gives an order to one of many that claim it at once', async () => {
    await planned();
    const claims = await Promise.all(Array.from({ length: 8 }, () => orders.claim(1, LEASE_MS)));
    expect(claims.flat()).toHaveLength(1);
  });

  it('lets nobody write under a lease that has gone to another', async () => {
    await planned();
    const stale = await claimOne();
    await orders.rest(stale, 0);
    const order = await claimOne();
    expect(order.fence).toBe(stale.fence + 1n);
    const writes = [
      orders.pin(stale, null, true),
      orders.notUploaded(stale),
      orders.uploaded(stale, 'file', 8),
      orders.submitting(stale, null),
      orders.running(stale, 'job', false),
      orders.renew(stale, LEASE_MS),
      orders.finish(stale, null),
    ];
    expect(await Promise.all(writes)).toEqual(writes.map(() => false));
    expect(await orders.uploaded(order, 'file', 8)).toBe(true);
  });

  it('gives an order back that has to wait for its turn, with its failures as they were', async () => {
    await planned();
    await orders.rest(await claimOne(), 0, 'the provider did not answer');
    await orders.wait(await claimOne(), 0);
    expect(await claimOne()).toMatchObject({ failures: 1 });
  });

  it('gives an order back, and ends it, whatever the provider said', async () => {
    await planned();
    expect(await orders.rest(await claimOne(), 0, 'no\0file')).toBe(true);
    const order = await claimOne();
    expect(order.failures).toBe(1);
    expect(await orders.abandon(order, 'no\0file')).toBe(true);
    expect(await orders.finish(order, 'no\0file')).toBe(true);
  });

  it('leaves an order to its rest that was given back while its lease was being extended', async () => {
    await planned();
    const order = await claimOne();
    await orders.rest(order, 0);
    expect(await orders.renew(order, LEASE_MS)).toBe(true);
    expect((await claimOne()).fence).toBe(order.fence + 1n);
  });

  it('keeps the intent and then the id, and never lets two orders have the same job', async () => {
    await planned(8, 4);
    const [one, other] = await orders.claim(2, LEASE_MS);
    for (const order of [one!, other!]) {
      await orders.uploaded(order, null, 4);
      await orders.submitting(order, null);
    }
    expect(await orders.running(one!, 'job-1', false)).toBe(true);
    expect(await orders.running(other!, 'job-1', true)).toBe(false);
    expect(await orders.takenFor(other!, ['job-1', 'job-2'])).toEqual(new Set(['job-1']));
    expect(await orders.running(other!, 'job-2', true)).toBe(true);
    expect(await orders.disown(other!, 'job-2')).toBe(true);
    const again = await claimOne();
    expect(again).toMatchObject({ state: 'submitting', upstreamId: null, notOurs: ['job-2'] });
  });

  it('counts how often an order did not arrive, and not how often it was refused', async () => {
    await planned();
    let order = await claimOne();
    await orders.uploaded(order, 'file', 8);
    await orders.submitting(order, null);
    expect(await orders.notSubmitted(order)).toBe(true);
    order = await claimOne();
    expect(order).toMatchObject({ state: 'uploaded', submittedAt: null, losses: 0 });
    await orders.submitting(order, null);
    expect(await orders.notArrived(order)).toBe(true);
    expect(await claimOne()).toMatchObject({ state: 'uploaded', submittedAt: null, losses: 1 });
  });

  it('counts the uploads that were not answered, and has what may have arrived removed with its batch', async () => {
    const batch = await planned();
    const order = await claimOne();
    const deletion = async (): Promise<string | null> => {
      const sql = 'SELECT upstream_deletion AS deletion FROM batches WHERE id = $1';
      return (await test.database.firstRow<{ deletion: string | null }>({ sql, values: [batch.id] }))!.deletion;
    };
    const unanswered = async (): Promise<number> => (await orders.ofBatch(batch.id))[0]!.unansweredUploads;
    expect(await deletion()).toBeNull();
    expect(await orders.pin(order, null, true)).toBe(true);
    expect([await unanswered(), await deletion()]).toEqual([1, 'due']);
    await orders.pin(order, null, true);
    await orders.notUploaded(order);
    expect(await unanswered()).toBe(1);
    await orders.pin(order, null, true);
    await orders.uploaded(order, 'file-1', 8);
    expect(await unanswered()).toBe(1);
  });

  it('has an order wait while others of the same key leave it no room, and only then', async () => {
    await planned(8, 4);
    const [first, second] = (await orders.claim(2, LEASE_MS)) as [NativeBatch, NativeBatch];
    for (const order of [first, second]) {
      await orders.pin(order, null, true);
      await orders.uploaded(order, `file-${order.part}`, 4);
      await orders.submitting(order, null);
      await orders.running(order, `job-${order.part}`, false);
    }
    expect(await orders.postpone(second, 0)).toBe(true);
    const again = await claimOne();
    expect(again).toMatchObject({
      reference: second.reference,
      state: 'uploaded',
      inputFileId: `file-${second.part}`,
      upstreamId: null,
      submittedAt: null,
      notOurs: [`job-${second.part}`],
    });
    await orders.submitting(again, null);
    await orders.running(again, 'job-again', false);
    await orders.finish(first, null);
    expect(await orders.postpone(again, 0)).toBe(false);
    expect(await orders.postpone(first, 0)).toBe(false);
  });

  it('takes back under a new fence what has no result, and stores nothing of the order after that', async () => {
    const batch = await planned(8);
    const order = await claimOne();
    const [first, second] = await segments.held(order);
    const stored = [0, 1, 2, 3, 4].map((seq) => aLineOutcome(seq < 4 ? first! : second!, seq));
    expect(await results.store(stored)).toMatchObject({ stored: 5, batchesWithDoneSegments: [batch.number] });
    expect(await orders.finish(order, null)).toBe(true);
    expect(await results.store([aLineOutcome(second!, 5)])).toMatchObject({ stored: 0 });
    const claimed = await managed.claim(10, LEASE_MS);
    const left = claimed.filter(({ batchNumber }) => batchNumber === batch.number);
    expect(left.map(({ number }) => number)).toEqual([1]);
    const [lines] = await managed.unfinishedLines([left[0]!]);
    expect(lines!.map(({ seq }) => seq)).toEqual([5, 6, 7]);
  });

  it('hurries the orders of a batch that is being stopped, keeps it from its end, and closes what is left', async () => {
    const batch = await planned(4);
    const order = await claimOne();
    await orders.rest(order, 600_000);
    expect(await orders.claim(1, LEASE_MS)).toEqual([]);
    await test.database.execute({
      sql: `UPDATE batches SET status = 'cancelling', ends_as = 'cancelled', stop_by = now() WHERE id = $1`,
      values: [batch.id],
    });
    await hurryStopping();
    const hurried = await claimOne();
    expect(hurried).toMatchObject({ reference: order.reference, isWanted: false });
    const row = await test.database.firstRow<{ waits: boolean }>({
      sql: `SELECT stop_by > now() + interval '30 seconds' AS waits FROM batches WHERE id = $1`,
      values: [batch.id],
    });
    expect(row?.waits).toBe(true);
    await orders.finish(hurried, null);
    const open = await test.database.rows({
      sql: `SELECT 1 FROM batch_segments WHERE batch_number = $1 AND state = 'open'`,
      values: [batch.number],
    });
    expect(open).toEqual([]);
  });

  it('begins no order of a batch that is being stopped while its lines are on their way', async () => {
    const batch = await planned(4);
    const order = await claimOne();
    await orders.uploaded(order, 'file-1', 4);
    await test.database.execute({
      sql: `UPDATE batches SET status = 'cancelling', ends_as = 'cancelled', stop_by = now() WHERE id = $1`,
      values: [batch.id],
    });
    expect(await orders.submitting(order, null)).toBe(false);
    await orders.rest(order, 0);
    expect(await claimOne()).toMatchObject({ state: 'uploaded', submittedAt: null, isWanted: false });
  });

  it('leaves orders of a batch that is being stopped to their rest whose provider did not answer, or is searched', async () => {
    const batch = await planned(4);
    const order = await claimOne();
    await orders.submitting(order, null);
    await orders.looked(order, 60_000);
    await test.database.execute({
      sql: `UPDATE batches SET status = 'cancelling', ends_as = 'cancelled', stop_by = now() WHERE id = $1`,
      values: [batch.id],
    });
    await hurryStopping();
    expect(await orders.claim(1, LEASE_MS)).toEqual([]);
    await orders.running(order, 'job-1', false);
    await orders.rest(order, 60_000, 'it is down');
    await hurryStopping();
    expect(await orders.claim(1, LEASE_MS)).toEqual([]);
    await orders.rest(order, 60_000);
    await hurryStopping();
    expect(await orders.claim(1, LEASE_MS)).toHaveLength(1);
  });
});
