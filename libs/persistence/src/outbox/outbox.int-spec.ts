import { IsString } from 'class-validator';
import { job, queues } from '@libs/contracts';
import { openTestDatabase, type OpenTestDatabase } from '../testing';
import { OutboxRepository, type PendingMessage } from './outbox.repository';

class RunBatch {
  @IsString()
  batchId: string;
}

const contract = job({ queue: queues.batches, name: 'batches.run', payload: RunBatch });

describe(OutboxRepository.name, () => {
  let opened: OpenTestDatabase;
  let outbox: OutboxRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    outbox = new OutboxRepository(opened.database);
  });

  afterAll(() => opened.close());

  beforeEach(() => opened.database.execute({ sql: 'TRUNCATE outbox' }));

  async function add(...batchIds: string[]): Promise<void> {
    await opened.database.transaction(async (session) => {
      for (const batchId of batchIds) await outbox.add(session, contract, { batchId });
    });
  }

  const MINUTE_MS = 60_000;
  const batchesOf = (messages: readonly PendingMessage[]): string[] =>
    messages.map(({ payload }) => (payload as RunBatch).batchId);
  const claim = (limit = 10, leaseMs = MINUTE_MS): Promise<PendingMessage[]> => outbox.claim(limit, leaseMs);

  it('shows a message to nobody before the transaction that it speaks of has committed', async () => {
    await opened.database.transaction(async (session) => {
      await outbox.add(session, contract, { batchId: 'one' });
      expect(await claim()).toEqual([]);
    });
    expect(batchesOf(await claim())).toEqual(['one']);
  });

  it('keeps no message of a transaction that was taken back', async () => {
    const failing = opened.database.transaction(async (session) => {
      await outbox.add(session, contract, { batchId: 'never' });
      throw new Error('refused');
    });
    await expect(failing).rejects.toThrow('refused');
    expect(await claim()).toEqual([]);
  });

  it('deletes what was confirmed, and nothing else', async () => {
    await add('one', 'two', 'three');
    const claimed = await claim(2, 0);
    await outbox.forget([claimed[0]!.id]);
    expect(batchesOf(await claim())).toHaveLength(2);
  });

  it('gives a message to one relay at a time, without a transaction that stays open', async () => {
    await add('one', 'two', 'three');
    const [first, second] = await Promise.all([claim(2), claim(2)]);
    expect(batchesOf([...first, ...second]).toSorted()).toEqual(['one', 'three', 'two']);
    expect(await claim()).toEqual([]);
    const idle = await opened.database.rows({
      sql: `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
    });
    expect(idle).toEqual([]);
  });

  it('gives out again what a relay held that died', async () => {
    await add('one');
    await claim(1, 0);
    expect(batchesOf(await claim())).toEqual(['one']);
  });

  it('puts a message off that was not confirmed, counts that, and gives out the others first', async () => {
    await add('stuck', 'away', 'fine');
    const claimed = await claim(2, 0);
    const idOf = (batchId: string): string =>
      claimed.find(({ payload }) => (payload as RunBatch).batchId === batchId)!.id;
    await outbox.postpone([
      { id: idOf('stuck'), delayMs: MINUTE_MS, isAttempt: true },
      { id: idOf('away'), delayMs: 0, isAttempt: false },
    ]);
    const due = await claim();
    expect(batchesOf(due).toSorted()).toEqual(['away', 'fine']);
    expect(due.map(({ attempts }) => attempts)).toEqual([0, 0]);
    expect(await outbox.measure(1)).toMatchObject({ stuck: 1 });
  });

  it('tells the age of the oldest message, and nothing of an empty outbox', async () => {
    expect(await outbox.measure(1)).toEqual({ oldestSeconds: 0, stuck: 0 });
    await add('one');
    await opened.database.execute({ sql: `UPDATE outbox SET created_at = now() - interval '1 hour'` });
    const { oldestSeconds } = await outbox.measure(1);
    expect(Math.round(oldestSeconds / 60)).toBe(60);
  });

  it('reads no message that waits to find the one that is due', async () => {
    await opened.database.execute({
      sql: `INSERT INTO outbox (contract, payload, available_at)
            SELECT 'batches.run', '{}', now() + interval '1 hour' FROM generate_series(1, 50000)`,
    });
    await add('due');
    await opened.database.execute({ sql: 'ANALYZE outbox' });
    const plan = await opened.database.rows<{ 'QUERY PLAN': string }>({
      sql: `EXPLAIN SELECT id FROM outbox WHERE available_at <= now()
            ORDER BY available_at, id LIMIT 500 FOR UPDATE SKIP LOCKED`,
    });
    expect(JSON.stringify(plan)).toContain('outbox_available');
    expect(batchesOf(await claim())).toEqual(['due']);
  });
});
