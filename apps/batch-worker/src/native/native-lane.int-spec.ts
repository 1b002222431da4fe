import { Logger } from '@nestjs/common';
import { NativeBatchesRepository, NativeStoppingRepository, SingleRunner, type NativeBatch } from '@libs/persistence';
import { openTestDatabase, storeBatch, type OpenTestDatabase, type StoredBatch } from '@libs/persistence/testing';
import { NativeLaneService } from './native-lane.service';
import type { NativeRunnerService } from './native-runner.service';

const OWNER = '6f1c1b1e-3a55-4f0e-9f0a-0d6b5a1f7c11';

describe(NativeLaneService.name, () => {
  let opened: OpenTestDatabase;

  beforeEach(async () => {
    Logger.overrideLogger(false);
    opened = await openTestDatabase();
  });

  afterEach(() => opened.close());

  async function storeOrder(reference: string, provider = 'acme', organizationId?: string): Promise<StoredBatch> {
    const batch = await storeBatch(opened.database, 1);
    await opened.database.execute({
      sql: `INSERT INTO native_batches (reference, batch_id, batch_number, created_on, part, first_segment, last_segment,
              first_seq, last_seq, endpoint, model, provider, upstream_model, organization_id, workspace_id,
              api_key_hash, finish_by)
            SELECT $1, id, number, created_on, 0, 0, 0, 0, 0, endpoint, model, $3, upstream_model,
              coalesce($4, organization_id), workspace_id, api_key_hash, now() + interval '20 hours'
            FROM batches WHERE id = $2`,
      values: [reference, batch.id, provider, organizationId ?? null],
    });
    return batch;
  }

  const laneWith = (advance: (order: NativeBatch) => Promise<void>): NativeLaneService =>
    new NativeLaneService(
      new NativeBatchesRepository(opened.database),
      { advance } as unknown as NativeRunnerService,
      new NativeStoppingRepository(opened.database),
      new SingleRunner(opened.database),
    );

  it('takes the steps of other orders while more of them throw than it takes at once', async () => {
    for (let index = 0; index < 9; index += 1) await storeOrder(`bad-${index}`);
    await storeOrder('good');
    const isTaken = Promise.withResolvers<void>();
    const tries = new Map<string, number>();
    const lane = laneWith(async ({ reference }) => {
      tries.set(reference, (tries.get(reference) ?? 0) + 1);
      if (reference !== 'good') throw new TypeError('poison');
      isTaken.resolve();
    });
    await lane.start();
    await isTaken.promise;
    await lane.drain();
    expect(tries.get('bad-0')).toBe(1);
  });

  /** Returns the orders whose steps begin up to the one of `good`, while steps of other orders never end. */
  async function takenBefore(good: string): Promise<readonly string[]> {
    const isTaken = Promise.withResolvers<void>();
    const isAnswered = Promise.withResolvers<void>();
    const taken: string[] = [];
    const lane = laneWith(async ({ reference }) => {
      taken.push(reference);
      if (reference === good) return isTaken.resolve();
      return isAnswered.promise;
    });
    await lane.start();
    await isTaken.promise;
    isAnswered.resolve();
    await lane.drain();
    return taken.filter((reference) => reference !== good);
  }

  it('takes the steps of other providers while one provider answers nothing', async () => {
    for (let index = 0; index < 30; index += 1) await storeOrder(`hung-${index}`, 'hung');
    await storeOrder('good', 'healthy');
    expect(new Set(await takenBefore('good')).size).toBeLessThanOrEqual(6);
  });

  it('takes the steps of others at a provider while the account of one organization answers nothing', async () => {
    for (let index = 0; index < 30; index += 1) await storeOrder(`hung-${index}`, 'acme', OWNER);
    await storeOrder('good', 'acme');
    expect(new Set(await takenBefore('good')).size).toBeLessThanOrEqual(4);
  });

  it('hurries the orders of other batches that are stopped when one cannot be', async () => {
    const [bad, good] = [await storeOrder('bad'), await storeOrder('good')];
    const { database } = opened;
    await database.execute({ sql: `UPDATE native_batches SET available_at = now() + interval '1 hour'` });
    await database.execute({
      sql: `UPDATE batches SET status = 'cancelling', ends_as = 'cancelled', stop_by = now() + interval '1 second'`,
    });
    await database.execute({
      sql: `CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN IF OLD.id = '${bad.id}' THEN RAISE EXCEPTION 'poison'; END IF; RETURN NEW; END $$`,
    });
    await database.execute({
      sql: 'CREATE TRIGGER poison BEFORE UPDATE ON batches FOR EACH ROW EXECUTE FUNCTION poison()',
    });
    const lane = laneWith(async () => undefined);
    await lane.start();
    await lane.drain();
    const rows = await database.rows<{ id: string }>({
      sql: `SELECT id FROM batches WHERE stop_by > now() + interval '30 seconds'`,
    });
    expect(rows.map(({ id }) => id)).toEqual([good.id]);
  });
});
