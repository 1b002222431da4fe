import { randomBytes, randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import { NO_LOSS, ReplyBudget, type CatalogueSource, type InferenceEngine } from '@libs/inference';
import { aCatalogue, aModel, anEndpoint, aProvider } from '@libs/inference/testing';
import {
  BatchFundsRepository,
  BatchQuotesRepository,
  BatchResultsRepository,
  BatchSegmentsRepository,
  LedgerRepository,
} from '@libs/persistence';
import { ServicesEnv } from '@libs/platform';
import { batchesOf, openTestDatabase, storeBatch, type OpenTestDatabase } from '@libs/persistence/testing';
import type { BatchPayer, StoredBatch } from '@libs/persistence/testing';
import type { BatchWorkerEnv } from '../batch-worker.env';
import type { BatchKeys } from './batch-keys';
import { FinalizerService } from './finalizer.service';
import { LineRunnerService } from './line-runner.service';
import { ManagedLaneService } from './managed-lane.service';

const SLOTS = 8;
/** Of an answer; held is a twentieth of it for each line. */
const LINE_USD = 0.05;
const ESTIMATE_USD = LINE_USD / 20;
const PICO = 1e12;
/** Lines in flight, and answered ones whose results are not stored: see UNCOMMITTED_PER_SLOT. */
const MOST_UNDER_WAY = 9 * SLOTS;
const KEY = { limitUsd: null, limitReset: null, includeByokInLimit: false } as unknown as Principal;

const catalogue = aCatalogue(
  aModel({
    slug: 'vendor/model',
    endpoints: [anEndpoint({ provider: aProvider({ slug: 'vendor' }), upstreamModel: 'model' })],
  }),
);

/** Answers every line after a moment, each at 20 times its estimate. */
class DearEngine {
  calls = 0;

  async callEndpoint(): Promise<object> {
    this.calls += 1;
    await new Promise((resolve) => setTimeout(resolve, 2 + Math.random() * 8));
    const usage = { promptTokens: 1, completionTokens: 1, audioPromptTokens: 0, audioCompletionTokens: 0 };
    const totalCost = BigInt(LINE_USD * PICO);
    const cost = { promptCost: totalCost, completionCost: 0n, totalCost };
    const counts = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
    return { status: 200, body: Buffer.from('{}'), usage: { ...usage, ...counts }, cost, losses: NO_LOSS };
  }
}

describe('batches whose lines cost 20 times their estimate', () => {
  let opened: OpenTestDatabase;
  let ledger: LedgerRepository;
  let engine: DearEngine;
  let lanes: ManagedLaneService[];

  beforeEach(async () => {
    Logger.overrideLogger(false);
    opened = await openTestDatabase();
    ledger = new LedgerRepository(opened.database);
    engine = new DearEngine();
    lanes = [];
  });

  afterEach(async () => {
    await Promise.all(lanes.map((lane) => lane.drain()));
    expect(await ledger.audit()).toEqual([]);
    await opened.close();
  });

  /** Starts a worker. */
  function start(graceSeconds: number, principal: Principal = KEY): ManagedLaneService {
    const { database } = opened;
    const keys = { principalOf: () => principal } as unknown as BatchKeys;
    const source = { current: () => catalogue } as CatalogueSource;
    const lane = new ManagedLaneService(
      { BATCH_CONCURRENCY: SLOTS, BATCH_CREDIT_GRACE_SECONDS: graceSeconds } as BatchWorkerEnv,
      new BatchSegmentsRepository(database),
      new BatchResultsRepository(database),
      new LineRunnerService(engine as unknown as InferenceEngine, source, keys, new ServicesEnv()),
      new FinalizerService(batchesOf(database), new BatchQuotesRepository(database)),
      source,
      new BatchFundsRepository(database),
      keys,
      new ReplyBudget(Infinity),
    );
    lanes.push(lane);
    lane.start();
    return lane;
  }

  async function running(total: number, payer: BatchPayer): Promise<StoredBatch> {
    const apiKeyHash = randomBytes(32).toString('hex');
    const batch = await storeBatch(opened.database, total, String(total * ESTIMATE_USD), { apiKeyHash, ...payer });
    await begin();
    return batch;
  }

  async function begin(): Promise<void> {
    await opened.database.execute({ sql: `UPDATE batches SET status = 'in_progress', in_progress_at = now()` });
    await opened.database.execute({ sql: `UPDATE batch_segments SET state = 'open' WHERE state = 'waiting'` });
  }

  const outcomesOf = (batch: StoredBatch) =>
    opened.database.firstRow<{ answered: number; unpaid: number; others: number }>({
      sql: `SELECT count(*) FILTER (WHERE error IS NULL)::integer AS answered,
              count(*) FILTER (WHERE error ->> 'error_type' = 'payment_required' AND cost_usd = 0)::integer AS unpaid,
              count(*) FILTER (WHERE error ->> 'error_type' <> 'payment_required')::integer AS others
            FROM batch_results WHERE batch_number = $1`,
      values: [batch.number],
    });

  const held = async (sql: string, id: string): Promise<number> =>
    (await opened.database.firstRow<{ n: number }>({ sql, values: [id] }))!.n;

  async function until(what: () => Promise<boolean>, withinMs = 100_000): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (!(await what())) {
      if (performance.now() > deadline) throw new Error('it did not happen in time');
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  const notCompleted = () =>
    opened.database.rows<{ id: string; number: string; status: string; segments: string | null }>({
      sql: `SELECT b.id, b.number::text AS number, b.status,
              (SELECT string_agg(DISTINCT s.state, ' ') FROM batch_segments s WHERE s.batch_number = b.number) AS segments
            FROM batches b WHERE b.status <> 'completed'`,
      values: [],
    });

  /** Does what the sweeper does: a worker leaves a batch whose row another worker has locked to it. */
  async function untilCompleted(): Promise<void> {
    const { database } = opened;
    const finalizer = new FinalizerService(batchesOf(database), new BatchQuotesRepository(database));
    let left = await notCompleted();
    try {
      await until(async () => {
        for (const { id, number, status } of left) {
          if (status === 'finalizing') await finalizer.complete(id);
          else await finalizer.finishIfDone(BigInt(number));
        }
        left = await notCompleted();
        return left.length === 0;
      });
    } catch (error) {
      throw new Error(`not completed: ${JSON.stringify(left)}`, { cause: error });
    }
  }

  const overdraftOf = async (organizationId: string): Promise<number> =>
    -Number((await ledger.accountOf(organizationId)).availableUsd);

  it('end with 402 once the credit is spent, overdrawn by no more than one worker had under way', async () => {
    const batch = await running(400, { creditsUsd: '2' });
    start(0);
    await untilCompleted();
    const { answered, unpaid, others } = (await outcomesOf(batch))!;
    expect([answered + unpaid, others]).toEqual([400, 0]);
    expect(answered).toBeGreaterThanOrEqual(40);
    expect(await overdraftOf(batch.owner.organizationId)).toBeLessThanOrEqual(SLOTS * LINE_USD);
  }, 120_000);

  it('keep to that over several workers', async () => {
    const batch = await running(600, { creditsUsd: '4' });
    for (let worker = 0; worker < 4; worker += 1) start(0);
    await untilCompleted();
    const { answered, unpaid } = (await outcomesOf(batch))!;
    expect(answered + unpaid).toBe(600);
    expect(await overdraftOf(batch.owner.organizationId)).toBeLessThanOrEqual(4 * SLOTS * LINE_USD);
  }, 120_000);

  it('keep to that when 200 of them spend the same credit at once', async () => {
    const organizationId = randomUUID();
    await running(20, { organizationId, creditsUsd: '60' });
    for (let index = 1; index < 200; index += 1) await running(20, { organizationId, creditsUsd: '0' });
    for (let worker = 0; worker < 4; worker += 1) start(0);
    await untilCompleted();
    expect(engine.calls).toBeLessThan(4_000);
    const overdraft = await overdraftOf(organizationId);
    expect(overdraft).toBeLessThanOrEqual(4 * MOST_UNDER_WAY * LINE_USD);
  }, 120_000);

  it('keep to the limit of their key', async () => {
    const principal = { ...KEY, limitUsd: '3' };
    const batch = await running(400, { creditsUsd: '100' });
    start(0, principal);
    await untilCompleted();
    const sql = 'SELECT total_usd::float8 AS n FROM ledger_keys WHERE api_key_hash = $1';
    expect(await held(sql, batch.owner.apiKeyHash)).toBeLessThanOrEqual(3 + SLOTS * LINE_USD);
    expect((await outcomesOf(batch))!.unpaid).toBeGreaterThan(300);
  }, 120_000);

  it('keep to the budget of their workspace', async () => {
    const budgets = [{ amountUsd: '3', reset: null, includesByok: false }];
    const batch = await running(400, { creditsUsd: '100', budgets });
    start(0, { ...KEY, budgets });
    await untilCompleted();
    const sql = 'SELECT total_usd::float8 AS n FROM ledger_workspaces WHERE workspace_id = $1';
    expect(await held(sql, batch.owner.workspaceId)).toBeLessThanOrEqual(3 + SLOTS * LINE_USD);
    expect((await outcomesOf(batch))!.unpaid).toBeGreaterThan(300);
  }, 120_000);

  it('wait for credit while others go on, and run to their end after a top-up', async () => {
    const poor = await running(200, { creditsUsd: '1' });
    start(600);
    const isRefused = 'SELECT count(refused_since)::integer AS n FROM ledger_holds WHERE id = $1';
    await until(async () => (await held(isRefused, poor.id)) === 1);
    const rich = await running(100, { creditsUsd: '100' });
    lanes[0]!.wake();
    await until(async () => (await outcomesOf(rich))!.answered === 100);
    expect((await outcomesOf(poor))!.unpaid).toBe(0);
    await ledger.topUp(poor.owner.organizationId, '100', randomUUID());
    await untilCompleted();
    expect(await outcomesOf(poor)).toEqual({ answered: 200, unpaid: 0, others: 0 });
  }, 120_000);

  it('go on in another worker when one dies between a reservation and its results', async () => {
    const batch = await running(100, { creditsUsd: '6' });
    const funds = new BatchFundsRepository(opened.database);
    const spender = { ...batch.owner, keyLimit: null };
    const lines = { batchId: batch.id, spender, holder: 'dead', underWay: 0, wanted: SLOTS };
    expect(await funds.reserve(lines)).toEqual({ kind: 'granted', lines: SLOTS });
    start(600);
    await untilCompleted();
    expect(await outcomesOf(batch)).toEqual({ answered: 100, unpaid: 0, others: 0 });
    expect(await overdraftOf(batch.owner.organizationId)).toBeLessThan(0);
  }, 120_000);
});
