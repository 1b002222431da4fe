import { randomUUID } from 'node:crypto';
import type { Database } from '../database';
import { isLocked } from '../store-apart';
import { anOpening, aSettlement, openTestDatabase, type OpenTestDatabase } from '../testing';
import type { GenerationOpening } from './generation-records';
import { GenerationsRepository } from './generations.repository';

describe(GenerationsRepository.name, () => {
  let opened: OpenTestDatabase;
  let generations: GenerationsRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    generations = new GenerationsRepository(opened.database);
  });

  afterAll(() => opened.close());

  const opening = (): GenerationOpening => anOpening({ api: 'responses', streamed: true, holdUsd: '0' });

  it('finds a settled call of a workspace as it was settled', async () => {
    const { holdUsd: _hold, keyLimit: _limit, ...call } = opening();
    const outcome = {
      provider: 'vendor',
      upstreamModel: 'model',
      upstreamId: 'up-"1", {NULL} \\',
      statusCode: 200,
      outcome: 'completed',
      finishReason: 'stop',
      promptTokens: 3_000_000_000,
      completionTokens: 2,
      cachedTokens: 1,
      reasoningTokens: 0,
      latencyMs: 5,
      generationMs: 9,
      details: {
        userAgent: 'a "client" \\ \u00fc',
        mediaParts: 2,
        attempts: [{ model: 'vendor/model', provider: 'vendor', status: 200, latencyMs: 4 }],
      },
    } as const;
    await generations.settle([{ ...call, ...outcome, usageProvenance: 'upstream', costUsd: '0.000000000001' }]);
    const { organizationId: _organization, createdOn, apiKeyHash: _key, ...told } = call;
    expect(await generations.find(call.id, createdOn, call)).toEqual({
      ...told,
      ...outcome,
      state: 'settled',
      costUsd: '0.000000000001',
      createdAt: expect.any(Date),
    });
  });

  it('finds a call that is still open', async () => {
    const call = opening();
    await opened.database.execute({
      sql: `INSERT INTO ledger_accounts (id, balance_usd) VALUES ($1, 1)`,
      values: [`org:${call.organizationId}`],
    });
    await generations.open([call]);
    expect(await generations.find(call.id, call.createdOn, call)).toMatchObject({
      state: 'open',
      provider: null,
      outcome: null,
      details: null,
    });
  });

  it('settles the calls of a group each as it ended', async () => {
    const [answered, broken] = [opening(), opening()];
    const nothing = { provider: null, upstreamModel: null, finishReason: null, latencyMs: null } as const;
    const details = { requestId: 'req-1', attempts: [] };
    await generations.settle([
      aSettlement(broken, '0', { ...nothing, statusCode: 502, outcome: 'failed', usageProvenance: null }),
      aSettlement(answered, '0.5', { finishReason: 'stop', details }),
    ]);
    expect(await generations.find(broken.id, broken.createdOn, broken)).toMatchObject({
      ...nothing,
      outcome: 'failed',
      costUsd: '0.000000000000',
      details: { attempts: [] },
    });
    expect(await generations.find(answered.id, answered.createdOn, answered)).toMatchObject({
      provider: 'vendor',
      finishReason: 'stop',
      latencyMs: 5,
      outcome: 'completed',
      costUsd: '0.500000000000',
      details,
    });
  });

  it('keeps what it has opened when calls of new keys meet a lock', async () => {
    const [known, added] = [anOpening({ apiKeyHash: '1'.repeat(64) }), anOpening({ apiKeyHash: '2'.repeat(64) })];
    const ids = [known, added].map(({ organizationId }) => `org:${organizationId}`);
    for (const id of ids) {
      await opened.database.execute({
        sql: 'INSERT INTO ledger_accounts (id, balance_usd) VALUES ($1, 9)',
        values: [id],
      });
    }
    await opened.database.execute({ sql: 'INSERT INTO ledger_keys VALUES ($1)', values: [known.apiKeyHash] });
    await opened.database.session(async ({ client }) => {
      await client.query('BEGIN');
      // Between the round that opens the calls of known keys and the next.
      const locking: Pick<Database, 'rows'> = {
        rows: async (query) => {
          const rows = await opened.database.rows<never>(query);
          await client.query('SELECT 1 FROM ledger_accounts WHERE id = ANY($1::text[]) FOR UPDATE', [ids]);
          return rows;
        },
      };
      const verdicts = await new GenerationsRepository(locking as Database).open([known, added]);
      expect(verdicts).toMatchObject([{ refusedBy: null }, { refusedBy: 'failure', error: expect.any(Error) }]);
      expect(isLocked((verdicts[1] as { error: unknown }).error)).toBe(true);
      await client.query('ROLLBACK');
    });
    const open = await opened.database.rows<{ id: string }>({
      sql: `SELECT id FROM generations WHERE state = 'open' AND id = ANY($1::text[])`,
      values: [[known.id, added.id]],
    });
    expect(open).toEqual([{ id: known.id }]);
  });

  it('finds no call of another workspace or day', async () => {
    const call = opening();
    await generations.settle([aSettlement(call, '0', { statusCode: 502, outcome: 'failed' })]);
    expect(await generations.find(call.id, call.createdOn, { ...call, workspaceId: randomUUID() })).toBeNull();
    expect(await generations.find(call.id, '2020-01-01', call)).toBeNull();
    expect(await generations.find(call.id, call.createdOn, call)).not.toBeNull();
  });
});
