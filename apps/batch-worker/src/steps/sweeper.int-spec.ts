import {
  BatchEndingsRepository,
  BatchIntakeRepository,
  BatchQuotesRepository,
  BatchRemovalRepository,
  LedgerRepository,
  OutboxRepository,
  SingleRunner,
  StaleUploadsRepository,
} from '@libs/persistence';
import {
  announcementsOf,
  batchesOf,
  openTestDatabase,
  storeBatch,
  type OpenTestDatabase,
  type StoredBatch,
} from '@libs/persistence/testing';
import { captureLog } from '@libs/platform/testing';
import type { NativeRemovalService } from '../native/native-removal.service';
import { BatchRunnerService } from './batch-runner.service';
import type { BatchStopperService } from '../batches/batch-stopper.service';
import type { BatchValidationService } from './batch-validation.service';
import { FinalizerService } from '../batches/finalizer.service';
import type { ManagedLaneService } from '../batches/managed-lane.service';
import { SweeperService } from './sweeper.service';

describe(SweeperService.name, () => {
  let opened: OpenTestDatabase;
  let warnings: string[];

  beforeEach(async () => {
    warnings = captureLog('warn');
    opened = await openTestDatabase();
  });

  afterEach(() => opened.close());

  function sweeper(): SweeperService {
    const { database } = opened;
    const batches = batchesOf(database);
    const endings = new BatchEndingsRepository(
      database,
      new LedgerRepository(database),
      new OutboxRepository(database),
      announcementsOf(database),
    );
    const finalizer = new FinalizerService(batches, new BatchQuotesRepository(database));
    const lane = { wake: () => undefined } as unknown as ManagedLaneService;
    const stopper = { windUp: async () => undefined } as unknown as BatchStopperService;
    const validation = { validateIfDue: async () => undefined } as unknown as BatchValidationService;
    const removal = new BatchRemovalRepository(database, new OutboxRepository(database));
    const removing = {
      removeIfRequested: async (id: string) => {
        if (await removal.isUpstreamRequested(id)) await removal.reportUpstream(id, 'deleted');
      },
    } as unknown as NativeRemovalService;
    const runner = new BatchRunnerService(batches, validation, lane, finalizer, stopper, removing);
    return new SweeperService(
      batches,
      new BatchIntakeRepository(database),
      endings,
      runner,
      new StaleUploadsRepository(database),
      removal,
      new SingleRunner(database),
    );
  }

  async function finalizing(count: number): Promise<StoredBatch[]> {
    const stored = [];
    for (let index = 0; index < count; index += 1) stored.push(await storeBatch(opened.database, 0));
    await opened.database.execute({ sql: `UPDATE batches SET status = 'finalizing', finalizing_at = now()` });
    return stored;
  }

  /** Whatever is done with these batches throws. */
  async function poison(batches: readonly { readonly id: string }[]): Promise<void> {
    const ids = batches.map(({ id }) => `'${id}'`).join(',');
    await opened.database.execute({
      sql: `CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN IF OLD.id IN (${ids}) THEN RAISE EXCEPTION 'poison'; END IF; RETURN coalesce(NEW, OLD); END $$`,
    });
    await opened.database.execute({
      sql: 'CREATE TRIGGER poison BEFORE UPDATE OR DELETE ON batches FOR EACH ROW EXECUTE FUNCTION poison()',
    });
  }

  async function statusOf({ id }: { readonly id: string }): Promise<string | undefined> {
    const row = await opened.database.firstRow<{ status: string }>({
      sql: 'SELECT status FROM batches WHERE id = $1',
      values: [id],
    });
    return row?.status;
  }

  it('takes up a batch that stands behind one that throws', async () => {
    const [bad, good] = await finalizing(2);
    await poison([bad!]);
    await sweeper().sweep();
    expect([await statusOf(bad!), await statusOf(good!)]).toEqual(['finalizing', 'completed']);
    expect(warnings.filter((text) => text.includes(bad!.id))).toHaveLength(1);
  });

  it('reaches the batch behind a hundred that throw', async () => {
    const batches = await finalizing(101);
    await poison(batches.slice(0, 100));
    const sut = sweeper();
    await sut.sweep();
    await opened.database.execute({ sql: 'TRUNCATE task_runs' });
    await sut.sweep();
    expect(await statusOf(batches[100]!)).toBe('completed');
  });

  it('takes up a deletion at a provider whose message was lost, beside one that throws', async () => {
    const [bad, good] = [await storeBatch(opened.database, 0), await storeBatch(opened.database, 0)];
    await opened.database.execute({
      sql: `UPDATE batches SET status = 'failed', finalized_at = now(), completed = 0, failed = 0,
              upstream_deletion = 'requested', upstream_requested_at = now() - interval '1 minute'`,
    });
    await poison([bad]);
    await sweeper().sweep();
    const rows = await opened.database.rows<{ id: string; state: string }>({
      sql: 'SELECT id, upstream_deletion AS state FROM batches',
    });
    expect(new Map(rows.map(({ id, state }) => [id, state]))).toEqual(
      new Map([
        [bad.id, 'requested'],
        [good.id, 'deleted'],
      ]),
    );
    expect(warnings.filter((text) => text.includes(bad.id))).toHaveLength(1);
  });

  it('ends expired batches and discards broken uploads beside some that throw', async () => {
    const [badExpired, goodExpired, badUpload, goodUpload] = [
      await storeBatch(opened.database, 2),
      await storeBatch(opened.database, 2),
      await storeBatch(opened.database, 2),
      await storeBatch(opened.database, 2),
    ];
    await opened.database.execute({
      sql: `UPDATE batches SET expires_at = now() - interval '1 minute', created_at = now() - interval '1 day'
            WHERE id = ANY($1::text[])`,
      values: [[badExpired.id, goodExpired.id]],
    });
    await opened.database.execute({
      sql: `UPDATE batches SET status = 'receiving', lease_until = now() - interval '1 minute'
            WHERE id = ANY($1::text[])`,
      values: [[badUpload.id, goodUpload.id]],
    });
    await poison([badExpired, badUpload]);
    await sweeper().sweep();
    const [row] = await opened.database.rows<{ ends_as: string | null }>({
      sql: 'SELECT ends_as FROM batches WHERE id = $1',
      values: [goodExpired.id],
    });
    expect(row?.ends_as).toBe('expired');
    expect([await statusOf(badUpload), await statusOf(goodUpload)]).toEqual(['receiving', undefined]);
  });
});
