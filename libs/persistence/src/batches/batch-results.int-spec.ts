import { randomUUID } from 'node:crypto';
import { LedgerRepository } from '../ledger/ledger.repository';
import {
  aLineOutcome,
  batchesOf,
  openTestDatabase,
  storeKey,
  startBatch,
  type OpenTestDatabase,
  type StoredBatch,
} from '../testing';
import { BatchResultsRepository, type LineOutcome } from './batch-results.repository';
import { BatchSegmentsRepository, type ClaimedSegment } from './batch-segments.repository';
import { BatchesRepository } from './batches.repository';
import { BatchViewsRepository } from './batch-views.repository';

const LEASE_MS = 30_000;

describe(BatchResultsRepository.name, () => {
  let opened: OpenTestDatabase;
  let results: BatchResultsRepository;
  let segments: BatchSegmentsRepository;
  let batches: BatchesRepository;
  let views: BatchViewsRepository;
  let ledger: LedgerRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    ledger = new LedgerRepository(opened.database);
    results = new BatchResultsRepository(opened.database);
    segments = new BatchSegmentsRepository(opened.database);
    batches = batchesOf(opened.database);
    views = new BatchViewsRepository(opened.database);
  });

  afterAll(() => opened.close());

  afterEach(async () => {
    expect(await ledger.audit()).toEqual([]);
  });

  async function startedBatch(total: number): Promise<StoredBatch> {
    await opened.database.execute({ sql: 'DELETE FROM batch_segments' });
    return startBatch(opened.database, total);
  }

  function outcome(segment: ClaimedSegment, seq: number, changes: Partial<LineOutcome> = {}): LineOutcome {
    return aLineOutcome(segment, seq, {
      requestId: `req-${seq}`,
      body: Buffer.from(`{"answer":${seq}}`),
      promptTokens: 3,
      completionTokens: 2,
      cachedTokens: 1,
      completionCostUsd: '0.02',
      costUsd: '0.03',
      ...changes,
    });
  }

  it('stores each line once, counts it and charges it once, however often it is handed in', async () => {
    const batch = await startedBatch(3);
    const [segment] = await segments.claim(10, LEASE_MS);
    const outcomes = [0, 1, 2].map((seq) => outcome(segment!, seq));

    expect(await results.store([outcomes[0]!, outcomes[0]!])).toMatchObject({ stored: 1, batchesWithDoneSegments: [] });
    expect(await results.store(outcomes)).toMatchObject({ stored: 2, batchesWithDoneSegments: [batch.number] });
    expect(await results.store(outcomes)).toMatchObject({ stored: 0, batchesWithDoneSegments: [] });

    expect(await views.findForWorkspace(batch.id, batch.owner)).toMatchObject({
      status: 'in_progress',
      completed: 3,
      failed: 0,
    });
    const { organizationId, apiKeyHash } = batch.owner;
    await storeKey(opened.database, organizationId, apiKeyHash);
    const [spent] = (await ledger.spendingOf({ organizationId }, [apiKeyHash])).values();
    expect(spent?.totalUsd).toBe('0.090000000000');
  });

  it('takes nothing from an owner whose lease has passed to somebody else', async () => {
    await startedBatch(2);
    const [stale] = await segments.claim(10, 0);
    const [fresh] = await segments.claim(10, LEASE_MS);
    expect(fresh!.fence).toBe(stale!.fence + 1n);
    expect(fresh!.attempts).toBe(2);

    expect(await results.store([outcome(stale!, 0)])).toMatchObject({ stored: 0, batchesWithDoneSegments: [] });
    expect(await segments.renew([stale!], LEASE_MS)).toEqual([]);
    expect((await results.store([outcome(fresh!, 0)])).stored).toBe(1);
  });

  it('gives two workers different segments, and nobody one that is leased', async () => {
    await startedBatch(16);
    const [one, other] = await Promise.all([segments.claim(2, LEASE_MS), segments.claim(2, LEASE_MS)]);
    const numbers = [...one, ...other].map((segment) => segment.number).sort((x, y) => x - y);
    expect(numbers).toEqual([0, 1, 2, 3]);
    expect(await segments.claim(2, LEASE_MS)).toEqual([]);
  });

  it('hands a taken-over segment only its lines without a result', async () => {
    await startedBatch(4);
    const [dying] = await segments.claim(1, 0);
    await results.store([outcome(dying!, 1), outcome(dying!, 3)]);
    const [heir] = await segments.claim(1, LEASE_MS);
    const [lines] = await segments.unfinishedLines([heir!]);
    expect(lines!.map((line) => [line.seq, line.customId, line.body.toString()])).toEqual([
      [0, 'line-0', '{"seq":0}'],
      [2, 'line-2', '{"seq":2}'],
    ]);
  });

  it('hands a segment that was given back only its lines without a result', async () => {
    await startedBatch(4);
    const [drained] = await segments.claim(1, LEASE_MS);
    await results.store([outcome(drained!, 0), outcome(drained!, 2)]);
    await segments.release([drained!]);
    const [heir] = await segments.claim(1, LEASE_MS);
    const [lines] = await segments.unfinishedLines([heir!]);
    expect(lines!.map(({ seq }) => seq)).toEqual([1, 3]);
  });

  it('hands each of several segments its own lines, held before or not', async () => {
    await startedBatch(16);
    const [dying] = await segments.claim(1, 0);
    await results.store([outcome(dying!, 0)]);
    const held = await segments.claim(10, LEASE_MS);
    const lines = await segments.unfinishedLines([held[0]!, held[1]!, held[3]!, held[2]!]);
    expect(lines.map((each) => each.map(({ seq }) => seq))).toEqual([
      [1, 2, 3],
      [4, 5, 6, 7],
      [12, 13, 14, 15],
      [8, 9, 10, 11],
    ]);
    expect(lines[1]!.map(({ customId, body }) => [customId, body.toString()])[0]).toEqual(['line-4', '{"seq":4}']);
  });

  it('does not count the attempt of a segment that was given back', async () => {
    await startedBatch(1);
    const [segment] = await segments.claim(1, LEASE_MS);
    await segments.release([segment!]);
    const [again] = await segments.claim(1, LEASE_MS);
    expect(again!.attempts).toBe(1);
    expect((await results.store([outcome(segment!, 0)])).stored).toBe(0);
  });

  it('completes a batch with exact sums, once, and gives the rest of the hold back', async () => {
    const batch = await startedBatch(2);
    const [segment] = await segments.claim(1, LEASE_MS);
    const failure = { type: 'server_error', message: 'Provider unavailable', param: null };
    await results.store([
      outcome(segment!, 0),
      outcome(segment!, 1, {
        body: null,
        statusCode: null,
        error: failure,
        costUsd: '0',
        promptCostUsd: '0',
        completionCostUsd: '0',
        promptTokens: 0,
        completionTokens: 0,
        cachedTokens: 0,
      }),
    ]);
    expect(await batches.beginFinalizing(batch.number)).toBe(batch.id);
    const outcomes = await Promise.all([1, 2, 3].map(() => batches.complete(batch.id, (totals) => totals)));
    expect(outcomes.filter(Boolean)).toHaveLength(1);

    expect(await views.findForWorkspace(batch.id, batch.owner)).toMatchObject({
      status: 'completed',
      completed: 1,
      failed: 1,
      usage: { promptTokens: 3, completionTokens: 2, costUsd: '0.030000000000' },
    });
    expect(await ledger.accountOf(batch.owner.organizationId)).toEqual({
      balanceUsd: '9.970000000000',
      heldUsd: '0.000000000000',
      availableUsd: '9.970000000000',
    });
    const rows = await opened.database.rows({
      sql: `SELECT custom_id, convert_from(body, 'UTF8') AS body, error FROM batch_results
            WHERE batch_number = $1 ORDER BY seq`,
      values: [batch.number],
    });
    expect(rows).toEqual([
      { custom_id: 'line-0', body: '{"answer":0}', error: null },
      { custom_id: 'line-1', body: null, error: failure },
    ]);
  });

  it('counts what an own provider charged for a line, also where the fee is all of it', async () => {
    const batch = await startedBatch(2);
    const [segment] = await segments.claim(1, LEASE_MS);
    await results.store([outcome(segment!, 0, { byokFeeUsd: '0.03' }), outcome(segment!, 1)]);
    await batches.beginFinalizing(batch.number);
    await batches.complete(batch.id, (totals) => totals);
    expect((await views.findForWorkspace(batch.id, batch.owner))?.usage).toMatchObject({
      costUsd: '0.060000000000',
      upstreamCostUsd: '0.030000000000',
    });
    const sql = 'SELECT settled_byok_usd::text AS byok FROM ledger_holds WHERE id = $1';
    expect(await opened.database.rows({ sql, values: [batch.id] })).toEqual([{ byok: '0.030000000000' }]);
  });

  it('sums what providers reported of the lines, and tells what all of them have in common', async () => {
    const failure = { type: 'server_error', message: 'Provider unavailable', param: null };
    const compaction = { type: 'compaction', inputTokens: 7, cacheWriteTokens: 5, cacheWrite5mTokens: 5 };
    const advice = { type: 'advisor_message', model: 'vendor/adviser', inputTokens: 900 };
    const batch = await startedBatch(4);
    const [segment] = await segments.claim(1, LEASE_MS);
    const tiered = { serviceTier: 'standard' };
    await results.store([
      outcome(segment!, 0, {
        ...tiered,
        usageDetails: { cacheWrite5mTokens: 4, videoPromptTokens: 2, speed: 'fast', iterations: [compaction, advice] },
      }),
      outcome(segment!, 1, {
        ...tiered,
        usageDetails: { cacheWrite5mTokens: 3, webSearches: 2, speed: 'fast', iterations: [compaction] },
      }),
      outcome(segment!, 2, { ...tiered }),
      outcome(segment!, 3, { body: null, statusCode: null, error: failure }),
    ]);
    await batches.beginFinalizing(batch.number);
    await batches.complete(batch.id, (totals) => totals);

    const none = {
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      cacheWrite5mTokens: 0,
      cacheWrite1hTokens: 0,
    };
    expect((await views.findForWorkspace(batch.id, batch.owner))?.usage).toMatchObject({
      details: {
        cacheWrite5mTokens: 7,
        cacheWrite1hTokens: 0,
        videoPromptTokens: 2,
        filePromptTokens: 0,
        webSearches: 2,
        toolCallsExecuted: 0,
      },
      iterations: [
        { ...none, ...advice },
        { ...none, type: 'compaction', inputTokens: 14, cacheWriteTokens: 10, cacheWrite5mTokens: 10 },
      ],
      serviceTier: 'standard',
      // One of the lines does not say how fast it was.
      speed: null,
    });
  });

  it('names no tier where lines were served in several', async () => {
    const batch = await startedBatch(2);
    const [segment] = await segments.claim(1, LEASE_MS);
    const speed = { usageDetails: { speed: 'standard' } };
    await results.store([
      outcome(segment!, 0, { ...speed, serviceTier: 'default' }),
      outcome(segment!, 1, { ...speed, serviceTier: 'flex' }),
    ]);
    await batches.beginFinalizing(batch.number);
    await batches.complete(batch.id, (totals) => totals);
    const { usage } = (await views.findForWorkspace(batch.id, batch.owner))!;
    expect(usage).toMatchObject({ serviceTier: null, speed: 'standard', iterations: [] });
  });

  it('does not finalize while a segment has lines without a result', async () => {
    const batch = await startedBatch(5);
    const [segment] = await segments.claim(1, LEASE_MS);
    await results.store([0, 1, 2, 3].map((seq) => outcome(segment!, seq)));
    expect(await batches.beginFinalizing(batch.number)).toBeNull();
  });

  it('shows a batch to its own workspace only', async () => {
    const batch = await startedBatch(1);
    expect(await views.findForWorkspace(batch.id, { ...batch.owner, workspaceId: randomUUID() })).toBeNull();
  });
});
