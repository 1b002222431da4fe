import { mintId } from '@libs/contracts';
import { GenerationsRepository } from '../generations/generations.repository';
import { chargedBatch, chargedCall, chargedVideo, openTestDatabase, type OpenTestDatabase } from '../testing';
import { RecordedChargesRepository, type RecordedWork } from './recorded-charges.repository';

const TODAY = new Date().toISOString().slice(0, 10);
const SERVED = { provider: 'maker', upstreamModel: 'large-1' };
const attempt = (status: number, values: object = {}) => ({
  model: 'maker/large',
  provider: 'maker',
  status,
  latencyMs: 1,
  ...values,
});

describe(RecordedChargesRepository.name, () => {
  let opened: OpenTestDatabase;

  beforeEach(async () => {
    opened = await openTestDatabase();
  });

  afterEach(() => opened.close());

  const find = (provider = 'maker'): Promise<RecordedWork> =>
    new RecordedChargesRepository(opened.database).find(provider, { from: TODAY, to: TODAY }, [
      { model: 'large-1', from: 200_000 },
    ]);

  it('sums calls by model, tier and length of the prompt', async () => {
    const details = { attempts: [attempt(200)] };
    await chargedCall(opened.database, '0.02', {}, { ...SERVED, promptTokens: 100, completionTokens: 5, details });
    const turns = {
      attempts: [attempt(200), attempt(200), attempt(503)],
      cacheWriteTokens: 30,
      providerToolsUsd: '0.01',
    };
    await chargedCall(opened.database, '0.03', {}, { ...SERVED, promptTokens: 100, cachedTokens: 40, details: turns });
    await chargedCall(opened.database, '0.5', {}, { ...SERVED, promptTokens: 200_000, details });
    const priority = { ...details, serviceTier: 'priority', gatewayToolsUsd: '0.04' };
    await chargedCall(opened.database, '0.05', {}, { ...SERVED, usageProvenance: 'estimated', details: priority });
    const common = { day: TODAY, model: 'large-1', isBatch: false, cacheWrite1hTokens: '0' };
    const { usage } = await find();
    expect(usage.map((row) => ({ ...row, costUsd: Number(row.costUsd), toolsUsd: Number(row.toolsUsd) }))).toEqual([
      {
        ...common,
        tier: 'priority',
        isLong: false,
        requests: '1',
        estimated: '1',
        promptTokens: '1',
        cachedTokens: '0',
        cacheWriteTokens: '0',
        completionTokens: '1',
        costUsd: 0.01,
        toolsUsd: 0,
        longestPrompt: '1',
        longestCompletion: '1',
      },
      {
        ...common,
        tier: 'standard',
        isLong: false,
        requests: '3',
        estimated: '0',
        promptTokens: '200',
        cachedTokens: '40',
        cacheWriteTokens: '30',
        completionTokens: '6',
        costUsd: 0.05,
        toolsUsd: 0.01,
        longestPrompt: '100',
        longestCompletion: '5',
      },
      {
        ...common,
        tier: 'standard',
        isLong: true,
        requests: '1',
        estimated: '0',
        promptTokens: '200000',
        cachedTokens: '0',
        cacheWriteTokens: '0',
        completionTokens: '1',
        costUsd: 0.5,
        toolsUsd: 0,
        longestPrompt: '200000',
        longestCompletion: '1',
      },
    ]);
  });

  it('leaves out calls on own keys, other providers and open calls', async () => {
    await chargedCall(opened.database, '0.02', {}, { ...SERVED, details: { attempts: [], isByok: true } });
    await chargedCall(opened.database, '0.02', {}, { provider: 'other', upstreamModel: 'large-1' });
    await chargedCall(opened.database, null);
    expect(await find()).toEqual({ usage: [], tools: [], failed: [], abandoned: [], orphans: [] });
  });

  it('counts attempts that the provider may have charged, wherever the call was served in the end', async () => {
    const own = attempt(500, { isByok: true });
    const attempts = [attempt(503), attempt(429), attempt(408), own, attempt(500, { provider: 'other' })];
    await chargedCall(opened.database, '0.02', {}, { provider: 'other', details: { attempts } });
    expect((await find()).failed).toEqual([{ day: TODAY, model: 'maker/large', count: '2' }]);
  });

  it('counts calls whose gateway died', async () => {
    const call = await chargedCall(opened.database, null, { model: 'maker/large' });
    await new GenerationsRepository(opened.database).abandon([call]);
    expect((await find()).abandoned).toEqual([{ day: TODAY, model: 'maker/large', count: '1' }]);
  });

  it('does not say of a call of several turns that its prompt was long', async () => {
    const details = { attempts: [attempt(200), attempt(200)] };
    await chargedCall(opened.database, '0.5', {}, { ...SERVED, promptTokens: 250_000, details });
    await chargedCall(opened.database, '0.4', {}, { ...SERVED, promptTokens: 199_999, details });
    const single = { attempts: [attempt(200)] };
    const one = { ...SERVED, promptTokens: 210_000, completionTokens: 70, details: single };
    await chargedCall(opened.database, '0.6', {}, one);
    const windows = (await find()).usage.map(({ isLong, requests, promptTokens, longestPrompt, longestCompletion }) => [
      isLong,
      requests,
      promptTokens,
      longestPrompt,
      longestCompletion,
    ]);
    expect(windows).toEqual([
      [false, '2', '199999', null, null],
      [true, '1', '210000', '210000', '70'],
      [null, '2', '250000', null, null],
    ]);
  });

  it('counts a single call of a batch on the day on which it was charged', async () => {
    const { id, generationIds } = await chargedBatch(opened.database, 3);
    await opened.database.execute({
      sql: `UPDATE batches SET provider = 'maker', upstream_model = 'large-1', credential_id = NULL WHERE id = $1`,
      values: [id],
    });
    await opened.database.execute({
      sql: `UPDATE ledger_transfers SET created_at = created_at - interval '1 day' WHERE reference = $1`,
      values: [generationIds[0]!],
    });
    expect((await find()).usage.map(({ day, requests }) => [day, requests])).toEqual([[TODAY, '2']]);
  });

  it('goes by the cost of a line of an earlier release for whose key it ran on, not by the key of its batch', async () => {
    const { id, number, generationIds } = await chargedBatch(opened.database, 3);
    const run = (sql: string, values: readonly string[]) => opened.database.execute({ sql, values });
    await run(
      `UPDATE batches SET provider = 'maker', upstream_model = 'large-1', credential_id = gen_random_uuid() WHERE id = $1`,
      [id],
    );
    // The first line ran on the caller's own key for a fee of 5 per cent; the second was called off before its answer.
    await run(
      `UPDATE batch_results SET is_byok = NULL, cost_usd = (prompt_cost_usd + completion_cost_usd) / 20 WHERE generation_id = $1`,
      [generationIds[0]!],
    );
    await run(`UPDATE batch_results SET body = NULL, error = '{}' WHERE batch_number = $1 AND generation_id = $2`, [
      number.toString(),
      generationIds[1]!,
    ]);
    expect((await find()).usage).toMatchObject([{ model: 'large-1', requests: '2', estimated: '1' }]);
  });

  it('leaves out lines on own keys whose fee is the whole list price', async () => {
    const own = await chargedBatch(opened.database, 2, { byokFeeUsd: '0.02' });
    const shared = await chargedBatch(opened.database, 1);
    const sql = `UPDATE batches SET provider = 'maker', upstream_model = 'large-1' WHERE id = ANY($1)`;
    await opened.database.execute({ sql, values: [[own.id, shared.id]] });
    expect((await find()).usage).toMatchObject([{ model: 'large-1', requests: '1' }]);
  });

  it('sums batch items, apart where the provider ran them as a batch', async () => {
    const batch = await chargedBatch(opened.database, 4, { lastNativeSeq: 1 });
    const own = `UPDATE batches SET provider = 'maker', upstream_model = 'large-1', credential_id = NULL WHERE id = $1`;
    await opened.database.execute({ sql: own, values: [batch.id] });
    const managed = (await find()).usage;
    expect(managed).toMatchObject([{ model: 'large-1', isBatch: false, requests: '4' }]);
    await opened.database.execute({
      sql: `INSERT INTO native_batches (reference, batch_id, batch_number, created_on, part, first_segment, last_segment,
              first_seq, last_seq, endpoint, model, provider, upstream_model, organization_id, workspace_id,
              api_key_hash, finish_by, state, upstream_id, submitted_at, losses)
            SELECT $2, id, number, created_on, 0, 0, 0, 0, 2, endpoint, model, provider, upstream_model,
              organization_id, workspace_id, api_key_hash, now(), 'done', 'job-1', now(), 1
            FROM batches WHERE id = $1`,
      values: [batch.id, mintId('batch')],
    });
    const { usage, orphans } = await find();
    // The order had three lines; the third was taken back.
    expect(usage.map(({ isBatch, requests }) => [isBatch, requests])).toEqual([
      [false, '2'],
      [true, '2'],
    ]);
    expect(orphans).toEqual([{ day: TODAY, model: 'large-1', count: '3' }]);
  });

  it('sums what each tool of the provider cost, of calls and of batch items', async () => {
    const noted = (providerToolsUsd: string, providerTools?: Readonly<Record<string, string>>) => ({
      ...SERVED,
      details: { attempts: [attempt(200)], providerToolsUsd, ...(providerTools && { providerTools }) },
    });
    await chargedCall(opened.database, '0.05', {}, noted('0.03', { web_search: '0.02', file_search: '0.01' }));
    await chargedCall(opened.database, '0.05', {}, noted('0.01', { web_search: '0.01' }));
    await chargedCall(opened.database, '0.05', {}, noted('0.04'));
    const own = {
      attempts: [],
      isByok: true,
      providerToolsUsd: '0.01',
      providerTools: { web_search: '0.01' },
    } as const;
    await chargedCall(opened.database, '0.05', {}, { ...SERVED, details: own });
    await chargedCall(opened.database, '0.05', {}, { ...noted('0.01', { mcp: '0.01' }), provider: 'other' });
    const usageDetails = { providerTools: { code_interpreter: '0.003', web_search: '0.005' }, tokensUsd: '0.012' };
    const { id } = await chargedBatch(opened.database, 2, { usageDetails });
    await opened.database.execute({
      sql: `UPDATE batches SET provider = 'maker', upstream_model = 'small-1', credential_id = NULL WHERE id = $1`,
      values: [id],
    });
    const { usage, tools } = await find();
    expect(tools.map(({ costUsd, ...one }) => ({ ...one, costUsd: Number(costUsd) }))).toEqual([
      { day: TODAY, model: 'large-1', tool: 'file_search', costUsd: 0.01 },
      { day: TODAY, model: 'large-1', tool: 'web_search', costUsd: 0.03 },
      { day: TODAY, model: 'large-1', tool: null, costUsd: 0.04 },
      { day: TODAY, model: 'small-1', tool: 'code_interpreter', costUsd: 0.006 },
      { day: TODAY, model: 'small-1', tool: 'web_search', costUsd: 0.01 },
    ]);
    expect(usage.map(({ model, toolsUsd }) => [model, Number(toolsUsd)])).toEqual([
      ['large-1', 0.08],
      ['small-1', 0.016],
    ]);
  });

  it('counts models that were asked on behalf of a call, at their own providers', async () => {
    const judge = { provider: 'maker', model: 'small-1', promptTokens: 300, completionTokens: 7, costUsd: '0.002' };
    const details = {
      attempts: [attempt(200)],
      gatewayToolsUsd: '0.004',
      asked: [judge, { ...judge, isEstimated: true }, { ...judge, provider: 'third' }] as const,
    };
    await chargedCall(opened.database, '0.05', {}, { ...SERVED, provider: 'other', details });
    const { usage } = await find();
    expect(usage).toMatchObject([
      { model: 'small-1', requests: '2', estimated: '1', promptTokens: '600', completionTokens: '14', isLong: false },
    ]);
    expect(Number(usage[0]!.costUsd)).toBe(0.004);
    expect((await find('third')).usage).toMatchObject([{ model: 'small-1', requests: '1' }]);
  });

  it('counts the turns of a tool loop at the providers and on the keys that they ran on', async () => {
    const turn = { provider: 'maker', model: 'large-1', promptTokens: 300, completionTokens: 7, costUsd: '0.02' };
    const tools = { providerTools: { web_search: '0.01' }, serviceTier: 'flex', cacheWrite1hTokens: 5 };
    const turns = [turn, { ...turn, promptTokens: 200_000, ...tools }, { ...turn, provider: 'third' }];
    const attempts = [attempt(200), attempt(200), attempt(200, { provider: 'third' }), attempt(200, { isByok: true })];
    const own = { attempts, isByok: true as const, upstreamCostUsd: '0.04', turns };
    await chargedCall(opened.database, '0.062', {}, { ...SERVED, byokFeeUsd: '0.002', details: own });
    // The last turn ran on the operator's key.
    const shared = { attempts, upstreamCostUsd: '0.04', gatewayToolsUsd: '0.003', turns: [turn] };
    await chargedCall(opened.database, '0.025', {}, { ...SERVED, byokFeeUsd: '0.002', details: shared });
    const { usage, tools: used } = await find();
    expect(usage).toMatchObject([
      { tier: 'flex', isLong: true, requests: '1', promptTokens: '200000', cacheWrite1hTokens: '5' },
      { tier: 'standard', isLong: false, requests: '2', promptTokens: '600', completionTokens: '14' },
    ]);
    expect(usage.map(({ costUsd, toolsUsd }) => [Number(costUsd), Number(toolsUsd)])).toEqual([
      [0.02, 0.01],
      [0.04, 0],
    ]);
    expect(used.map(({ tool, costUsd }) => [tool, Number(costUsd)])).toEqual([['web_search', 0.01]]);
    expect((await find('third')).usage).toMatchObject([{ model: 'large-1', requests: '1', promptTokens: '300' }]);
  });

  it('sums videos by the price that they were charged', async () => {
    const id = await chargedVideo(opened.database, '0.5');
    const sql = `UPDATE videos SET provider = 'maker', upstream_model = 'film', credential_id = NULL WHERE id = $1`;
    await opened.database.execute({ sql, values: [id] });
    const { usage } = await find();
    expect(usage.map(({ model, requests, costUsd }) => [model, requests, Number(costUsd)])).toEqual([
      ['film', '1', 0.5],
    ]);
  });
});
