import { mintId, numberedId, readNumberedId } from '@libs/contracts';
import { openTestDatabase, storeBatch, type OpenTestDatabase, type StoredBatch } from '../testing';
import { BatchLineViewsRepository, type BatchLineView } from './batch-line-views.repository';
import type { WorkspaceTenant } from '../tenants/tenant';

const MOST_BYTES = 1_000;
const DELETED = `deleted_at = now(), status = 'completed', finalized_at = now(), completed = 1, failed = 0`;

describe(BatchLineViewsRepository.name, () => {
  let opened: OpenTestDatabase;
  let lines: BatchLineViewsRepository;
  let batch: StoredBatch;

  beforeAll(async () => {
    opened = await openTestDatabase();
    lines = new BatchLineViewsRepository(opened.database);
    batch = await renamed(await storeBatch(opened.database, 3), mintId('batch'));
    for (const seq of [0, 1]) await answer(batch, seq, `{"answer":${seq}}`);
  });

  afterAll(() => opened.close());

  /** Fixtures have ids of their own kind. */
  async function renamed(stored: StoredBatch, id: string): Promise<StoredBatch> {
    await opened.database.execute({ sql: 'UPDATE batches SET id = $2 WHERE id = $1', values: [stored.id, id] });
    return { ...stored, id };
  }

  async function answer({ id, createdOn, number }: StoredBatch, seq: number, body: string): Promise<void> {
    await opened.database.execute({
      sql: `INSERT INTO batch_results (created_on, batch_number, seq, custom_id, generation_id, status_code, request_id,
              body, prompt_tokens, prompt_cost_usd, cost_usd, service_tier)
            VALUES ($1, $2, $3, $4, $5, 200, 'req', $6, 7, 0.5, 0.5, 'flex')`,
      values: [createdOn, number, seq, `line-${seq}`, numberedId('gen-batch', id, seq), Buffer.from(body)],
    });
  }

  function find(id: string, tenant: WorkspaceTenant = batch.owner): Promise<BatchLineView | null> {
    return lines.find(id, readNumberedId('gen-batch', 'batch', id)!, tenant, MOST_BYTES);
  }

  it('finds a line, its answer and its request by the id of its generation', async () => {
    const line = await find(numberedId('gen-batch', batch.id, 1));
    expect(line).toMatchObject({
      workspaceId: batch.owner.workspaceId,
      endpoint: '/v1/chat/completions',
      model: 'vendor/model',
      provider: 'vendor',
      promptTokens: 7,
      costUsd: '0.500000000000',
      upstreamCostUsd: null,
      serviceTier: 'flex',
      createdAt: expect.any(Date),
      body: Buffer.from('{"answer":1}'),
      request: Buffer.from('{"seq":1}'),
      requestBytes: 9,
    });
  });

  it('finds none that has no outcome, none of another batch, and none beyond what a batch can hold', async () => {
    expect(await find(numberedId('gen-batch', batch.id, 2))).toBeNull();
    expect(await find(numberedId('gen-batch', mintId('batch'), 1))).toBeNull();
    expect(await find(numberedId('gen-batch', batch.id, 62 ** 6 - 1))).toBeNull();
  });

  it('finds none for another workspace', async () => {
    const foreign = await storeBatch(opened.database, 1);
    expect(await find(numberedId('gen-batch', batch.id, 1), foreign.owner)).toBeNull();
  });

  it.each(['AAAA', 'aaaa', 'zzzz', 'ZZZZ', '0000'])(
    'finds the batch by the beginning of an id that ends in %s',
    async (end) => {
      const id = `${mintId('batch').slice(0, -6)}${end}${end.slice(2)}`;
      const stored = await renamed(await storeBatch(opened.database, 1), id);
      await answer(stored, 0, '{}');
      expect(await find(numberedId('gen-batch', id, 0), stored.owner)).not.toBeNull();
    },
  );

  it('tells two batches apart whose ids differ in letters that are large in one and small in the other', async () => {
    const stem = mintId('batch').slice(0, -20);
    const [large, small] = await Promise.all(
      ['ABCDEFGHIJKLMN000000', 'abcdefghijklmn000000'].map(async (end) =>
        renamed(await storeBatch(opened.database, 1), `${stem}${end}`),
      ),
    );
    await answer(small!, 0, '{}');
    expect(await find(numberedId('gen-batch', large!.id, 0), large!.owner)).toBeNull();
    expect(await find(numberedId('gen-batch', small!.id, 0), small!.owner)).not.toBeNull();
  });

  it('leaves bodies where they are that are longer than was asked for', async () => {
    const stored = await renamed(await storeBatch(opened.database, 1), mintId('batch'));
    await answer(stored, 0, JSON.stringify({ answer: 'x'.repeat(MOST_BYTES) }));
    const line = await find(numberedId('gen-batch', stored.id, 0), stored.owner);
    expect(line).toMatchObject({ body: null, request: Buffer.from('{"seq":0}') });
  });

  it('finds none of a batch that was deleted, or that is older than results are kept', async () => {
    for (const change of [DELETED, `created_at = now() - interval '31 days'`]) {
      const stored = await renamed(await storeBatch(opened.database, 1), mintId('batch'));
      await answer(stored, 0, '{}');
      const id = numberedId('gen-batch', stored.id, 0);
      expect(await find(id, stored.owner)).not.toBeNull();
      await opened.database.execute({ sql: `UPDATE batches SET ${change} WHERE id = $1`, values: [stored.id] });
      expect(await find(id, stored.owner)).toBeNull();
    }
  });

  it('looks into a few entries of an index, not through all batches', async () => {
    const stem = batch.id.slice(0, -6);
    await opened.database.execute({
      sql: `INSERT INTO batches (id, created_on, organization_id, workspace_id, api_key_hash, endpoint, model, status, expires_at)
            SELECT 'batch-1700000000-' || lpad(i::text, 20, '0'), now(), $1, $2, repeat('a', 64), '', '', 'receiving', now()
            FROM generate_series(1, 3000) i`,
      values: [batch.owner.organizationId, batch.owner.workspaceId],
    });
    await opened.database.execute({ sql: 'ANALYZE batches' });
    const plan = await opened.database.asTenant(batch.owner).rows<{ 'QUERY PLAN': string }>({
      sql: `EXPLAIN SELECT b.id FROM batches b WHERE b.id > $1 AND b.id < $2 AND starts_with(b.id, $1) AND b.workspace_id = $3`,
      values: [stem, `${stem}zzzzzzz`, batch.owner.workspaceId],
    });
    expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toMatch(/Index Cond: .*id > .*id < /);
  });
});
