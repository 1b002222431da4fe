import { randomUUID } from 'node:crypto';
import { beginBatch, openTestDatabase, storeBatch, type OpenTestDatabase, type StoredBatch } from '../testing';
import type { StoredQuote } from './batch-quote';
import { BatchQuotesRepository } from './batch-quotes.repository';
import { BatchViewsRepository } from './batch-views.repository';
import { BatchWorkersRepository } from './batch-workers.repository';

const KIND = { provider: 'vendor', upstreamModel: 'model', endpoint: '/v1/chat/completions' };
const QUOTE: StoredQuote = {
  lane: 'managed',
  own_key: false,
  cost: { estimate: '0.5', low: '0.1', high: '0.2', basis: 'history' },
  finish: { expected_ms: 10_000, low_ms: 9_000, high_ms: 30_500, basis: 'throughput' },
};

describe(BatchQuotesRepository.name, () => {
  let opened: OpenTestDatabase;
  let quotes: BatchQuotesRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    quotes = new BatchQuotesRepository(opened.database);
  });

  afterAll(() => opened.close());

  beforeEach(() => opened.database.execute({ sql: 'TRUNCATE batches, batch_segments' }));

  async function quoted(lines: number, quote: StoredQuote = QUOTE): Promise<StoredBatch> {
    const batch = await storeBatch(opened.database, lines);
    const values = [batch.id, JSON.stringify(quote)];
    await opened.database.execute({ sql: 'UPDATE batches SET quote = $2 WHERE id = $1', values });
    return batch;
  }

  /** As if it had ended so many seconds after its acceptance, and cost so much. */
  async function ended(seconds: number, costUsd: string, status = 'completed', quote = QUOTE): Promise<StoredBatch> {
    const batch = await quoted(1, quote);
    await opened.database.execute({
      sql: `UPDATE batches SET status = $2, completed = 1, failed = 0, created_at = date_trunc('second', created_at),
              finalized_at = date_trunc('second', created_at) + $3 * interval '1 second' WHERE id = $1`,
      values: [batch.id, status, seconds],
    });
    const values = [batch.id, costUsd];
    await opened.database.execute({ sql: 'UPDATE ledger_holds SET settled_usd = $2 WHERE id = $1', values });
    return batch;
  }

  it('shows a quote in whole seconds that hold it', async () => {
    const { id, owner } = await ended(1, '0.1');
    const view = await new BatchViewsRepository(opened.database).findForWorkspace(id, owner);
    expect(view!.quote).toEqual({
      lane: 'managed',
      costLowUsd: '0.1',
      costHighUsd: '0.2',
      costBasis: 'history',
      earliest: view!.createdAt + 9,
      latest: view!.createdAt + 31,
      finishBasis: 'throughput',
    });
  });

  it('tells of completed batches of a kind how they compare with what was expected, the newest first', async () => {
    const { owner } = await ended(20, '0.25');
    await ended(5, '0.1', 'cancelled');
    await ended(5, '0.1', 'expired');
    await quoted(1);
    const past = await quotes.finished(KIND, 10);
    expect(past).toEqual([
      { workspaceId: owner.workspaceId, lane: 'managed', ownKey: false, costRatio: 0.5, finishRatio: 2 },
    ]);
    await ended(30, '0');
    expect((await quotes.finished(KIND, 1))[0]).toMatchObject({ costRatio: 0, finishRatio: 3 });
    expect(await quotes.finished({ ...KIND, upstreamModel: 'other' }, 10)).toEqual([]);
  });

  it('has no ratio where nothing was expected', async () => {
    const cost = { ...QUOTE.cost, estimate: '0' };
    const finish = { ...QUOTE.finish, expected_ms: null };
    await ended(20, '0', 'completed', { ...QUOTE, cost, finish });
    expect((await quotes.finished(KIND, 1))[0]).toMatchObject({ costRatio: null, finishRatio: null });
  });

  it.each([
    ['inside', 'inside', 9, '0.1'],
    ['inside', 'inside', 31, '0.2'],
    ['below', 'below', 8.9, '0.099999999999'],
    ['above', 'above', 31.1, '0.200000000001'],
  ])('finds cost %s and finish %s after %d seconds and %s dollars', async (cost, finish, seconds, costUsd) => {
    const { id } = await ended(seconds, costUsd);
    expect(await quotes.outcome(id)).toEqual({
      cost: { verdict: cost, basis: 'history' },
      finish: { verdict: finish, basis: 'throughput' },
    });
  });

  it('counts a batch that expired as late, whatever was quoted, and one that was ended not at all', async () => {
    const finish = { ...QUOTE.finish, high_ms: 86_400_000 };
    const { id } = await ended(86_000, '0.1', 'expired', { ...QUOTE, finish });
    expect(await quotes.outcome(id)).toEqual({ cost: null, finish: { verdict: 'above', basis: 'throughput' } });
    expect(await quotes.outcome((await ended(20, '0.1', 'cancelled')).id)).toBeNull();
    expect(await quotes.outcome((await ended(20, '0.1', 'failed')).id)).toBeNull();
    expect(await quotes.outcome((await storeBatch(opened.database, 1)).id)).toBeNull();
  });

  it('sums what our workers have still to run, by workspace', async () => {
    const waiting = await quoted(10);
    const begun = await quoted(12);
    await beginBatch(opened.database, begun);
    await opened.database.execute({
      sql: `UPDATE batch_segments SET completed = 3, failed = 1, state = 'done' WHERE batch_number = $1 AND number = 1`,
      values: [begun.number],
    });
    await quoted(5, { ...QUOTE, lane: 'native' });
    await ended(5, '0.1');
    expect(await quotes.backlog([{ account: 'vendor', upstreamModel: 'model' }])).toEqual(
      new Map([
        [waiting.owner.workspaceId, 10],
        [begun.owner.workspaceId, 8],
      ]),
    );
    const others = [
      { account: 'vendor', upstreamModel: 'other' },
      { account: `vendor:${randomUUID()}`, upstreamModel: 'model' },
    ];
    expect(await quotes.backlog(others)).toEqual(new Map());
  });
});

describe(BatchWorkersRepository.name, () => {
  const LANE = { slots: 8, lines: 50, call_ms: 5_000, backlog_lines: 0, backlog_ms: 0 };
  let opened: OpenTestDatabase;
  let workers: BatchWorkersRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    workers = new BatchWorkersRepository(opened.database);
  });

  afterAll(() => opened.close());

  const silentFor = (id: string, interval: string): Promise<number> =>
    opened.database.execute({
      sql: 'UPDATE batch_workers SET seen_at = now() - $2::interval WHERE id = $1',
      values: [id, interval],
    });

  it('keeps the last word of each process, and takes those for dead that have long been silent', async () => {
    const [one, other, old] = [randomUUID(), randomUUID(), randomUUID()];
    await workers.report(one, 8, {});
    await workers.report(one, 8, { vendor: LANE });
    await workers.report(other, 16, { vendor: LANE });
    await workers.report(old, 32, {});
    await silentFor(other, '31 seconds');
    await silentFor(old, '25 hours');
    expect(await workers.forgetOld()).toBe(1);
    const speeds = await workers.speeds('vendor');
    expect(speeds).toHaveLength(2);
    expect(speeds).toContainEqual({ isAlive: true, concurrency: 8, lane: LANE });
    expect(speeds).toContainEqual({ isAlive: false, concurrency: 16, lane: LANE });
    expect((await workers.speeds('other')).map(({ lane }) => lane)).toEqual([null, null]);
    await workers.report(other, 16, { vendor: LANE });
    expect((await workers.speeds('vendor')).every(({ isAlive }) => isAlive)).toBe(true);
  });
});
