import { randomBytes, randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../data-source';
import { Database } from '../database';
import type { SpendingLimit } from '../ledger/key-limit';
import { LedgerRepository } from '../ledger/ledger.repository';
import type { Spender } from '../ledger/room-to-spend';
import { aLineOutcome, atOnce, batchesOf, createTestDatabase, DatabaseProxy, storeBatch } from '../testing';
import type { BatchPayer, StoredBatch, TestDatabase } from '../testing';
import { BatchFundsRepository, type ReservationVerdict } from './batch-funds.repository';
import { BatchResultsRepository } from './batch-results.repository';
import { BatchSegmentsRepository, type ClaimedSegment } from './batch-segments.repository';

const LEASE_MS = 30_000;
const NO_LIMIT: SpendingLimit = { amountUsd: '1000', reset: null, includesByok: false };

/** A batch that runs, in segments of four lines. */
interface Running extends StoredBatch {
  readonly spender: Spender;
}

describe(BatchFundsRepository.name, () => {
  let testDatabase: TestDatabase;
  let proxy: DatabaseProxy;
  let dataSource: DataSource;
  let database: Database;
  let ledger: LedgerRepository;
  let funds: BatchFundsRepository;
  let results: BatchResultsRepository;
  let segments: BatchSegmentsRepository;
  let leases: ClaimedSegment[];

  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    proxy = await DatabaseProxy.start(testDatabase.url);
    dataSource = await createDataSource({ url: proxy.url, poolSize: 10, connectTimeoutMs: 20_000 }).initialize();
    database = new Database(dataSource);
    ledger = new LedgerRepository(database);
    funds = new BatchFundsRepository(database);
    results = new BatchResultsRepository(database);
    segments = new BatchSegmentsRepository(database);
  });

  afterAll(async () => {
    await dataSource?.destroy();
    await proxy?.stop();
    await testDatabase?.drop();
  });

  beforeEach(async () => {
    leases = [];
    await database.execute({ sql: 'DELETE FROM batch_segments' });
  });

  afterEach(async () => {
    expect(await ledger.audit()).toEqual([]);
  });

  async function run(
    total: number,
    holdUsd: string,
    payer: BatchPayer = {},
    limits: Partial<Spender> = {},
  ): Promise<Running> {
    const apiKeyHash = randomBytes(32).toString('hex');
    const batch = await storeBatch(database, total, holdUsd, { apiKeyHash, ...payer });
    const batches = batchesOf(database);
    await batches.beginProgress((await batches.claimValidation(batch.id, LEASE_MS))!);
    return { ...batch, spender: { ...batch.owner, keyLimit: null, budgets: payer.budgets, ...limits } };
  }

  /** Answers the first lines of a batch at so much each; `listUsd`: on an own key, for which `costUsd` is the fee. */
  async function answer(
    batch: StoredBatch,
    lines: number,
    costUsd: string,
    { from = 0, listUsd = costUsd } = {},
  ): Promise<readonly bigint[]> {
    leases.push(...(await segments.claim(256, LEASE_MS)));
    const outcomes = Array.from({ length: lines }, (_, index) => {
      const lease = leases.find(({ batchNumber, firstSeq, lastSeq }) => {
        const seq = from + index;
        return batchNumber === batch.number && firstSeq <= seq && seq <= lastSeq;
      })!;
      const fee = listUsd === costUsd ? {} : { byokFeeUsd: costUsd };
      return aLineOutcome(lease, from + index, { promptCostUsd: listUsd, completionCostUsd: '0', costUsd, ...fee });
    });
    const report = await results.store(outcomes);
    expect(report.stored).toBe(lines);
    return report.batchesAheadOfHold;
  }

  const reserve = (
    { id: batchId, spender }: Running,
    wanted: number,
    { holder = 'worker', underWay = 0, isWhole = false } = {},
  ): Promise<ReservationVerdict> => funds.reserve({ batchId, spender, holder, underWay, wanted, isWhole });

  const heldOf = async ({ owner }: StoredBatch): Promise<number> =>
    Number((await ledger.accountOf(owner.organizationId)).heldUsd);

  const availableOf = async ({ owner }: StoredBatch): Promise<number> =>
    Number((await ledger.accountOf(owner.organizationId)).availableUsd);

  const rowOf = (sql: string, id: string) => database.firstRow<{ held: string }>({ sql, values: [id] });

  it('lowers credit, key limit and budget at once by charges beyond the hold', async () => {
    const batch = await run(8, '1', { budgets: [NO_LIMIT] });
    expect(await answer(batch, 4, '0.75')).toEqual([batch.number]);
    expect([await heldOf(batch), await availableOf(batch)]).toEqual([3, 7]);
    const { apiKeyHash, workspaceId } = batch.owner;
    expect(await rowOf('SELECT held_usd::float8 AS held FROM ledger_keys WHERE api_key_hash = $1', apiKeyHash)).toEqual(
      {
        held: 3,
      },
    );
    expect(
      await rowOf('SELECT held_usd::float8 AS held FROM ledger_workspaces WHERE workspace_id = $1', workspaceId),
    ).toEqual({ held: 3 });
    expect(
      await rowOf(
        'SELECT overage_usd::float8 AS held FROM ledger_accounts WHERE id = $1',
        `org:${batch.owner.organizationId}`,
      ),
    ).toEqual({ held: 2 });
    await database.transaction((session) => ledger.resolveHold(session, batch.id));
    expect(await ledger.accountOf(batch.owner.organizationId)).toMatchObject({
      balanceUsd: '7.000000000000',
      heldUsd: '0.000000000000',
    });
  });

  it('does not mark a batch whose lines keep to their estimate, or whose first lines cost more', async () => {
    const batch = await run(8, '1');
    expect(await answer(batch, 4, '0.125')).toEqual([]);
    const uneven = await run(8, '1');
    expect(await answer(uneven, 1, '0.126')).toEqual([uneven.number]);
    const cheaper = await run(8, '1');
    expect(await answer(cheaper, 4, '0.1')).toEqual([]);
  });

  it('tells who claims a segment of a batch whose lines need reservations', async () => {
    const batch = await run(8, '1');
    await reserve(batch, 1);
    expect((await segments.claim(9, LEASE_MS)).map(({ isMetered }) => isMetered)).toEqual([true, true]);
  });

  it('grants lines that the hold covers without holding more', async () => {
    const batch = await run(8, '1');
    await answer(batch, 2, '0.125');
    expect(await reserve(batch, 6)).toEqual({ kind: 'granted', lines: 6 });
    expect(await heldOf(batch)).toBe(1);
  });

  it('extends the hold for lines at the mean cost so far', async () => {
    const batch = await run(8, '1');
    await answer(batch, 4, '0.5');
    expect(await reserve(batch, 2)).toEqual({ kind: 'granted', lines: 2 });
    expect(await heldOf(batch)).toBe(3);
  });

  it('counts the lines of other workers and its own, and not more than are left', async () => {
    const batch = await run(12, '1');
    await answer(batch, 4, '0.5');
    await reserve(batch, 2, { holder: 'one' });
    await reserve(batch, 2, { holder: 'two' });
    expect(await heldOf(batch)).toBe(4);
    await reserve(batch, 2, { holder: 'two', underWay: 2 });
    expect(await heldOf(batch)).toBe(5);
    await reserve(batch, 7, { holder: 'two', underWay: 2 });
    expect(await heldOf(batch)).toBe(6);
  });

  it('grants fewer lines where there is less money, and refuses the last', async () => {
    const batch = await run(64, '1', { creditsUsd: '3' });
    await answer(batch, 4, '0.5');
    expect(await reserve(batch, 16)).toEqual({ kind: 'granted', lines: 2 });
    expect(await reserve(batch, 16, { holder: 'other' })).toMatchObject({
      kind: 'refused',
      error: { code: 'payment_required', metadata: { limit: 'credits', left_usd: '0' } },
    });
    expect(await availableOf(batch)).toBe(0);
  });

  it.each([
    ['key_limit', { keyLimit: { ...NO_LIMIT, amountUsd: '2.6' } }, {}],
    ['budget', {}, { budgets: [{ ...NO_LIMIT, amountUsd: '2.6' }] }],
  ])('keeps to the %s', async (limit, limits, payer) => {
    const batch = await run(64, '1', payer, limits);
    await answer(batch, 4, '0.5');
    expect(await reserve(batch, 1)).toEqual({ kind: 'granted', lines: 1 });
    const refused = await reserve(batch, 8, { underWay: 1 });
    expect(refused).toMatchObject({ kind: 'refused', error: { metadata: { limit } } });
    expect(await heldOf(batch)).toBe(2.5);
  });

  const OWN = { ...NO_LIMIT, amountUsd: '2.6', includesByok: true };

  it.each([
    ['key_limit', { keyLimit: OWN }, { keyLimit: OWN }],
    ['budget', {}, { budgets: [OWN] }],
  ])('keeps to a %s that counts what own providers charge', async (limit, limits, payer) => {
    const batch = await run(64, '1', payer, limits);
    expect(await answer(batch, 4, '0.05', { listUsd: '0.45' })).toEqual([batch.number]);
    expect(await heldOf(batch)).toBe(2);
    expect(await reserve(batch, 1)).toEqual({ kind: 'granted', lines: 1 });
    const refused = await reserve(batch, 8, { underWay: 1 });
    expect(refused).toMatchObject({ kind: 'refused', error: { metadata: { limit } } });
    expect(await heldOf(batch)).toBe(2.5);
    await database.transaction((session) => ledger.resolveHold(session, batch.id));
    expect(await ledger.accountOf(batch.owner.organizationId)).toMatchObject({
      balanceUsd: '9.800000000000',
      heldUsd: '0.000000000000',
    });
  });

  it('marks a batch whose lines cost more by list than is held, though the fee keeps to the estimate', async () => {
    const payer = { keyLimit: { ...OWN, amountUsd: '1000' } };
    const batch = await run(8, '1', payer, payer);
    expect(await answer(batch, 1, '0.01', { listUsd: '0.2' })).toEqual([batch.number]);
    const cheaper = await run(8, '1', payer, payer);
    expect(await answer(cheaper, 4, '0.005', { listUsd: '0.1' })).toEqual([]);
  });

  it('holds the fee alone where limits count only that', async () => {
    const payer = { keyLimit: { ...OWN, includesByok: false }, budgets: [{ ...OWN, includesByok: false }] };
    const batch = await run(64, '1', payer, payer);
    expect(await answer(batch, 4, '0.01', { listUsd: '0.45' })).toEqual([]);
    expect(await reserve(batch, 8)).toEqual({ kind: 'granted', lines: 8 });
    expect(await heldOf(batch)).toBe(1);
  });

  it('grants an order whole or not at all', async () => {
    const batch = await run(64, '1', { creditsUsd: '3' });
    await answer(batch, 4, '0.5');
    expect(await reserve(batch, 3, { isWhole: true })).toMatchObject({ kind: 'refused' });
    expect(await reserve(batch, 2, { isWhole: true })).toEqual({ kind: 'granted', lines: 2 });
  });

  it('counts the lines of an order that runs at its provider, once', async () => {
    const batch = await run(64, '1');
    await answer(batch, 4, '0.5');
    await database.execute({
      sql: `INSERT INTO native_batches (reference, batch_id, batch_number, created_on, part, first_segment, last_segment,
              first_seq, last_seq, endpoint, model, provider, upstream_model, organization_id, workspace_id,
              api_key_hash, finish_by, state, upstream_id, sent_lines, submitted_at)
            SELECT 'nb1', id, number, created_on, 0, 1, 1, 4, 7, endpoint, model, provider, upstream_model,
              organization_id, workspace_id, api_key_hash, now() + interval '20 hours', 'running', 'job', 4, now()
            FROM batches WHERE id = $1`,
      values: [batch.id],
    });
    await reserve(batch, 1);
    expect(await heldOf(batch)).toBe(4.5);
    await reserve(batch, 4, { holder: 'nb1', isWhole: true });
    expect(await heldOf(batch)).toBe(4.5);
    await reserve(batch, 2);
    expect(await heldOf(batch)).toBe(5);
  });

  it('counts how long nothing was granted, up to the top-up that ends it', async () => {
    const batch = await run(64, '1', { creditsUsd: '2' });
    await answer(batch, 4, '0.5');
    expect(await reserve(batch, 1)).toMatchObject({ kind: 'refused', refusedForMs: 0 });
    await database.execute({
      sql: `UPDATE ledger_holds SET refused_since = refused_since - interval '1 minute' WHERE id = $1`,
      values: [batch.id],
    });
    const refused = (await reserve(batch, 1)) as { refusedForMs: number };
    expect(refused.refusedForMs).toBeGreaterThanOrEqual(60_000);
    await ledger.topUp(batch.owner.organizationId, '0.5', randomUUID());
    expect(await reserve(batch, 1)).toEqual({ kind: 'granted', lines: 1 });
    expect(await reserve(batch, 1, { underWay: 1 })).toMatchObject({ kind: 'refused', refusedForMs: 0 });
  });

  it('leaves an extension of a worker that died to the next one', async () => {
    const batch = await run(64, '1', { creditsUsd: '3' });
    await answer(batch, 4, '0.5');
    expect(await reserve(batch, 2, { holder: 'dead' })).toEqual({ kind: 'granted', lines: 2 });
    expect(await reserve(batch, 2, { holder: 'heir' })).toMatchObject({ kind: 'refused' });
    await database.execute({
      sql: `UPDATE ledger_holds SET reserved = jsonb_set(reserved, '{dead,1}', '1') WHERE id = $1`,
      values: [batch.id],
    });
    expect(await reserve(batch, 2, { holder: 'heir' })).toEqual({ kind: 'granted', lines: 2 });
    expect(await heldOf(batch)).toBe(3);
  });

  it('takes the lines back of a worker that has none under way any more', async () => {
    const batch = await run(64, '1', { creditsUsd: '3' });
    await answer(batch, 4, '0.5');
    await reserve(batch, 2, { holder: 'one' });
    await funds.release({ batchId: batch.id, holder: 'one' });
    expect(await reserve(batch, 2, { holder: 'two' })).toEqual({ kind: 'granted', lines: 2 });
  });

  it('extends a hold once whose extension is repeated because its COMMIT was not answered', async () => {
    const batch = await run(64, '1');
    await answer(batch, 4, '0.5');
    const met = proxy.failCommit('batch-funds-reserve', 'unanswered');
    await expect(reserve(batch, 4)).rejects.toThrow();
    await met;
    expect(await heldOf(batch)).toBe(4);
    expect(await reserve(batch, 4)).toEqual({ kind: 'granted', lines: 4 });
    expect(await heldOf(batch)).toBe(4);
  });

  it('refuses the first lines of a batch while its organization is overdrawn', async () => {
    const dear = await run(8, '1', { creditsUsd: '2' });
    const { organizationId } = dear.owner;
    const next = await run(8, '1', { creditsUsd: '0', organizationId });
    expect(await reserve(next, 1)).toEqual({ kind: 'granted', lines: 1 });
    await answer(dear, 4, '0.5');
    expect(await reserve(next, 1)).toMatchObject({ kind: 'refused' });
    await answer(next, 1, '0.125');
    expect(await reserve(next, 1)).toEqual({ kind: 'granted', lines: 1 });
  });

  it('knows a batch that is over', async () => {
    const batch = await run(4, '1');
    await database.transaction((session) => ledger.resolveHold(session, batch.id));
    expect(await reserve(batch, 4)).toEqual({ kind: 'closed' });
  });

  it('grants 200 workers at once no more lines than there is money for', async () => {
    const batch = await run(400, '1', { creditsUsd: '12' });
    await answer(batch, 2, '0.5');
    const verdicts = await atOnce(200, (index) => reserve(batch, 1, { holder: `worker-${index}` }));
    expect(verdicts.filter(({ kind }) => kind === 'granted')).toHaveLength(22);
    expect([await heldOf(batch), await availableOf(batch)]).toEqual([12, 0]);
  }, 30_000);
});
