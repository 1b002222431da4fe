import { randomUUID } from 'node:crypto';
import { batchesOf, openTestDatabase, storeBatch, type OpenTestDatabase, type StoredBatch } from '../testing';
import { BatchSegmentsRepository } from './batch-segments.repository';

const LEASE_MS = 30_000;

describe(BatchSegmentsRepository.name, () => {
  let opened: OpenTestDatabase;
  let segments: BatchSegmentsRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    segments = new BatchSegmentsRepository(opened.database);
  });

  afterAll(() => opened.close());

  beforeEach(() => opened.database.execute({ sql: 'TRUNCATE batches, batch_segments' }));

  /** In segments of four lines, of a workspace of its own. */
  async function started(lines: number): Promise<StoredBatch> {
    const batch = await storeBatch(opened.database, lines);
    const batches = batchesOf(opened.database);
    await batches.beginProgress((await batches.claimValidation(batch.id, LEASE_MS))!);
    return batch;
  }

  const claimed = async (limit: number, mostLines?: number): Promise<[bigint, number][]> =>
    (await segments.claim(limit, LEASE_MS, { mostLines })).map(({ batchNumber, number }) => [batchNumber, number]);

  it('takes many small segments at a time, and few of those that others follow', async () => {
    for (let count = 0; count < 20; count += 1) await started(1);
    expect(await claimed(64, 12)).toHaveLength(12);
    expect(await claimed(64, 12)).toHaveLength(8);
    const { number } = await started(40);
    // Whatever such a segment has in lines, it was closed because it was full.
    expect(await claimed(64, 512)).toEqual([0, 1, 2, 3].map((segment) => [number, segment]));
    expect(await claimed(64, 1)).toEqual([[number, 4]]);
  });

  it('leaves to the next what it does not take', async () => {
    const { number } = await started(12);
    const claims = await Promise.all([claimed(8, 1), claimed(8, 1), claimed(8, 1)]);
    const all = [...claims.flat(), ...(await claimed(8))].map(([, segment]) => segment);
    expect(all.toSorted((one, other) => one - other)).toEqual([0, 1, 2]);
    expect(await claimed(8)).toEqual([]);
    await opened.database.execute({ sql: 'UPDATE batch_segments SET available_at = now()' });
    expect((await claimed(8)).map(([batch]) => batch)).toEqual([number, number, number]);
  });

  it('takes in turn from each workspace, and first of the batch that must end first', async () => {
    const [one, other] = [await started(12), await started(8)];
    expect(await claimed(2)).toEqual([
      [one.number, 0],
      [other.number, 0],
    ]);
    expect(await claimed(2)).toEqual([
      [one.number, 1],
      [other.number, 1],
    ]);
    await opened.database.execute({
      sql: 'UPDATE batches SET workspace_id = $1',
      values: [one.owner.workspaceId],
    });
    await opened.database.execute({ sql: 'UPDATE batch_segments SET available_at = now()' });
    await opened.database.execute({
      sql: `UPDATE batches SET expires_at = now() + interval '1 hour' WHERE id = $1`,
      values: [other.id],
    });
    expect(await claimed(2)).toEqual([
      [other.number, 0],
      [other.number, 1],
    ]);
  });

  it('takes something of each of many workspaces at once, and then the rest of the one with the most', async () => {
    const small: StoredBatch[] = [];
    for (let count = 0; count < 20; count += 1) small.push(await started(1));
    const [first, ...rest] = await Promise.all(Array.from({ length: 40 }, () => started(1)));
    await opened.database.execute({
      sql: 'UPDATE batches SET workspace_id = $1 WHERE id = ANY($2::text[])',
      values: [first!.owner.workspaceId, rest.map(({ id }) => id)],
    });
    const numbers = async (): Promise<bigint[]> => (await claimed(64)).map(([number]) => number);
    const atOnce = await numbers();
    expect(atOnce).toEqual(expect.arrayContaining(small.map(({ number }) => number)));
    expect(atOnce.length).toBeGreaterThan(30);
    const all = [...atOnce, ...(await numbers()), ...(await numbers())];
    expect(new Set(all).size).toBe(60);
    expect(all).toHaveLength(60);
  });

  it('takes nothing of a quota that is named: the one of the shared key, or of a key of a caller', async () => {
    const [shared, own, another] = [await started(4), await started(4), await started(4)];
    const keys = [randomUUID(), randomUUID()];
    for (const [index, { id }] of [own, another].entries()) {
      await opened.database.execute({
        sql: 'UPDATE batches SET credential_id = $2 WHERE id = $1',
        values: [id, keys[index]!],
      });
    }
    const batchesBut = async (...exceptQuotas: string[]): Promise<bigint[]> => {
      const claims = await segments.claim(8, LEASE_MS, { exceptQuotas });
      await segments.release(claims);
      return claims.map(({ batchNumber }) => batchNumber);
    };
    expect(await batchesBut('vendor')).toEqual([own.number, another.number]);
    expect(await batchesBut(`vendor:${keys[0]}`)).toEqual([shared.number, another.number]);
    expect(await batchesBut('another', ...keys.map((key) => `vendor:${key}`))).toEqual([shared.number]);
    expect(await segments.claim(8, LEASE_MS)).toMatchObject([
      { batchNumber: shared.number, quota: 'vendor', isOwnKey: false },
      { batchNumber: own.number, quota: `vendor:${keys[0]}`, isOwnKey: true },
      { batchNumber: another.number, quota: `vendor:${keys[1]}`, isOwnKey: true },
    ]);
  });
});
