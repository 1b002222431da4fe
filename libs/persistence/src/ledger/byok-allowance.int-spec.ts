import { randomBytes, randomUUID } from 'node:crypto';
import { BatchResultsRepository, type LineOutcome } from '../batches/batch-results.repository';
import { BatchSegmentsRepository, type ClaimedSegment } from '../batches/batch-segments.repository';
import type { GenerationSettlement } from '../generations/generation-records';
import { GenerationsRepository } from '../generations/generations.repository';
import {
  aLineOutcome,
  anOpening,
  aSettlement,
  atOnce,
  openTestDatabase,
  storeKey,
  startBatch,
  storeVideo,
  type OpenTestDatabase,
} from '../testing';
import { VideoEndsRepository, type VideoEnd } from '../videos/video-ends.repository';
import { VideoJobsRepository } from '../videos/video-jobs.repository';
import { ByokAllowance } from './byok-allowance';
import { LedgerRepository } from './ledger.repository';

const LEASE_MS = 60_000;
const TEN = new ByokAllowance('10');

describe(ByokAllowance.name, () => {
  let opened: OpenTestDatabase;
  let ledger: LedgerRepository;
  let generations: GenerationsRepository;
  let organizationId: string;
  let apiKeyHash: string;

  beforeAll(async () => {
    opened = await openTestDatabase();
    ledger = new LedgerRepository(opened.database);
    generations = new GenerationsRepository(opened.database, TEN);
  });

  afterAll(() => opened.close());

  beforeEach(async () => {
    organizationId = randomUUID();
    apiKeyHash = randomBytes(32).toString('hex');
    await ledger.topUp(organizationId, '100', randomUUID());
  });

  afterEach(async () => {
    expect(await ledger.audit()).toEqual([]);
  });

  /** A call on an own key whose fee is 5 per cent, and what else was charged for it. */
  function call(listUsd: string, byokFeeUsd: string, costUsd = byokFeeUsd): GenerationSettlement {
    return aSettlement(anOpening({ organizationId, apiKeyHash }), costUsd, {
      byokFeeUsd,
      details: { attempts: [], isByok: true, upstreamCostUsd: listUsd },
    });
  }

  async function chargesOf(...calls: readonly GenerationSettlement[]): Promise<(string | undefined)[]> {
    const rows = await Promise.all(calls.map((one) => generations.find(one.id, one.createdOn, one)));
    return rows.map((row) => plain(row?.costUsd));
  }

  async function chargedInAll(of: string = organizationId): Promise<string | undefined> {
    return plain((await ledger.creditsOf(of)).totalUsageUsd);
  }

  /** By list price, as the books of this month have it. */
  async function usedOf(of: string = organizationId): Promise<string | undefined> {
    const row = await opened.database.firstRow<{ used: string }>({
      sql: `SELECT list_usd::text AS used FROM ledger_byok_months
            WHERE organization_id = $1 AND month = date_trunc('month', now() AT TIME ZONE 'UTC')::date`,
      values: [of],
    });
    return plain(row?.used);
  }

  it('spares the fee until it is used up, and a part of the one in which it ends', async () => {
    const calls = [call('6', '0.3'), call('6', '0.3'), call('6', '0.3')];
    for (const one of calls) await generations.settle([one]);
    expect(await chargesOf(...calls)).toEqual(['0', '0.1', '0.3']);
    expect([await chargedInAll(), await usedOf()]).toEqual(['0.4', '18']);
  });

  it('is shared out within one commit in the order of ids, and rounds to the pico-dollar', async () => {
    const calls = [call('9', '0.45'), call('3', '0.000000000001'), call('7.999999999999', '0.4')].map((one, index) => ({
      ...one,
      id: `gen-${index}-${randomUUID()}`,
    }));
    await generations.settle(calls.toReversed());
    // Two of the three dollars of the second call are beyond the ten that are free.
    expect(await chargesOf(...calls)).toEqual(['0', '0.000000000001', '0.4']);
    expect([await chargedInAll(), await usedOf()]).toEqual(['0.400000000001', '19.999999999999']);
  });

  it('spares fees alone: what tools cost is charged', async () => {
    const withTools = call('1', '0.05', '0.06');
    await generations.settle([withTools]);
    expect(await chargesOf(withTools)).toEqual(['0.01']);
  });

  it('keeps what the provider charges on record', async () => {
    await generations.settle([call('4', '0.2')]);
    await storeKey(opened.database, organizationId, apiKeyHash);
    expect((await ledger.spendingOf({ organizationId }, [apiKeyHash])).get(apiKeyHash)).toMatchObject({
      totalUsd: '0.000000000000',
      byokTotalUsd: '4.000000000000',
    });
  });

  it('gives exactly what it is to three hundred calls at once', async () => {
    const calls = Array.from({ length: 300 }, () => call('0.1', '0.005'));
    await atOnce(300, (index) => generations.settle([calls[index]!]));
    const charges = await chargesOf(...calls);
    expect(charges.filter((cost) => cost === '0')).toHaveLength(100);
    expect(charges.filter((cost) => cost === '0.005')).toHaveLength(200);
    expect([await chargedInAll(), await usedOf()]).toEqual(['1', '30']);
  });

  it('counts a call once that is settled again, after another or at the same time', async () => {
    const opening = { ...call('6', '0.3'), holdUsd: '1', keyLimit: null };
    await generations.open([opening]);
    const settled = { ...call('6', '0.3'), id: opening.id, workspaceId: opening.workspaceId };
    const unopened = call('6', '0.3');
    await atOnce(40, (index) => generations.settle([index % 2 === 0 ? settled : unopened]));
    await generations.settle([settled, unopened]);
    expect([await chargedInAll(), await usedOf()]).toEqual(['0.1', '12']);
    expect((await ledger.accountOf(organizationId)).heldUsd).toBe('0.000000000000');
  });

  it('belongs to one organization, and begins anew with the month', async () => {
    await generations.settle([call('10', '0.5')]);
    const mine = organizationId;
    organizationId = randomUUID();
    await ledger.topUp(organizationId, '1', randomUUID());
    const [theirs, next] = [call('10', '0.5'), call('10', '0.5')];
    await generations.settle([theirs]);
    expect(await chargesOf(theirs)).toEqual(['0']);
    await opened.database.execute({
      sql: `UPDATE ledger_byok_months SET month = (month - interval '1 month')::date WHERE organization_id = $1`,
      values: [organizationId],
    });
    await generations.settle([next]);
    expect([await chargesOf(next), await chargedInAll(mine)]).toEqual([['0'], '0']);
    // The calls were made in this month after all, as the audit knows.
    await opened.database.execute({
      sql: `UPDATE ledger_byok_months now SET list_usd = now.list_usd + before.list_usd FROM ledger_byok_months before
            WHERE now.organization_id = $1 AND before.organization_id = $1 AND before.month < now.month`,
      values: [organizationId],
    });
    await opened.database.execute({
      sql: `DELETE FROM ledger_byok_months WHERE organization_id = $1 AND month < date_trunc('month', now() AT TIME ZONE 'UTC')`,
      values: [organizationId],
    });
  });

  it('is not counted where there is none, nor by calls on shared capacity', async () => {
    const none = new GenerationsRepository(opened.database, new ByokAllowance('0.0'));
    const [own, shared] = [call('6', '0.3'), { ...call('6', '0.3'), byokFeeUsd: undefined, details: { attempts: [] } }];
    await none.settle([own]);
    await generations.settle([shared]);
    expect(await chargesOf(own, shared)).toEqual(['0.3', '0.3']);
    expect(await usedOf()).toBeUndefined();
  });

  function lineOf(segment: ClaimedSegment, seq: number): LineOutcome {
    return aLineOutcome(segment, seq, {
      promptCostUsd: '0.6',
      completionCostUsd: '0.4',
      costUsd: '0.05',
      byokFeeUsd: '0.05',
    });
  }

  it('is one for calls, lines of batches and videos at the same time', async () => {
    const { database } = opened;
    const batch = await startBatch(database, 12);
    organizationId = batch.owner.organizationId;
    const segments = await new BatchSegmentsRepository(database).claim(10, LEASE_MS);
    const results = new BatchResultsRepository(database, TEN);
    const credentialId = randomUUID();
    const prices = { priceUsd: '0.05', listPriceUsd: '1', credentialId };
    const films = await Promise.all([1, 2, 3].map(() => storeVideo(database, { organizationId, ...prices })));
    const jobs = await new VideoJobsRepository(database).claimDue(10, LEASE_MS);
    expect(jobs).toHaveLength(films.length);
    const told: string[] = [];
    const done: VideoEnd = {
      status: 'completed',
      outputs: [{ key: 'videos/x/0', contentType: 'video/mp4', bytes: 7 }],
      keepMs: 3_600_000,
      costUsd: '0.05',
      upstreamCostUsd: '1',
    };
    const ends = new VideoEndsRepository(database, ledger, TEN);
    const lines = segments.flatMap((segment) => [0, 1, 2, 3].map((at) => lineOf(segment, segment.number * 4 + at)));
    const works: (() => Promise<unknown>)[] = [
      // Every line is handed in twice.
      ...[...lines, ...lines].map((line) => () => results.store([line])),
      ...jobs.map((job) => () => ends.finish(job, done, async (_session, end) => void told.push(costOf(end)))),
      ...Array.from({ length: 5 }, () => () => generations.settle([call('1', '0.05')])),
    ];
    await atOnce(works.length, (index) => works[index]!());

    // Of twenty dollars by list price ten are free.
    expect(await usedOf()).toBe('20');
    const stored = await database.firstRow<{ cost: string }>({
      sql: 'SELECT sum(cost_usd)::text AS cost FROM batch_results WHERE batch_number = $1',
      values: [batch.number],
    });
    const shown = await database.firstRow<{ cost: string }>({
      sql: 'SELECT sum(cost_usd)::text AS cost FROM videos WHERE id = ANY($1)',
      values: [films.map(({ id }) => id)],
    });
    expect(Number(shown?.cost)).toBeCloseTo(
      told.reduce((sum, cost) => sum + Number(cost), 0),
      12,
    );
    const calls = await database.firstRow<{ cost: string }>({
      sql: `SELECT sum(cost_usd)::text AS cost FROM generations WHERE organization_id = $1 AND api = 'chat'`,
      values: [organizationId],
    });
    const inAll = [stored, shown, calls].reduce((sum, row) => sum + Number(row?.cost), 0);
    expect([inAll.toFixed(12), await chargedInAll()]).toEqual(['0.500000000000', '0.5']);
  });
});

/** A decimal without the zeros at its end. */
function plain(decimal: string | undefined): string | undefined {
  return decimal?.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal;
}

function costOf(end: VideoEnd): string {
  return end.status === 'completed' ? end.costUsd : 'none';
}
