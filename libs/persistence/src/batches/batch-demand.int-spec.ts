import { randomUUID } from 'node:crypto';
import { openTestDatabase, startBatch, storeBatch, type OpenTestDatabase, type StoredBatch } from '../testing';
import { BatchDemandRepository } from './batch-demand.repository';
import { BatchWorkersRepository } from './batch-workers.repository';

const GOAL = { goalSeconds: 3_600, leastSeconds: 300 };
const MODEL = { account: 'vendor', upstreamModel: 'model' };

describe(BatchDemandRepository, () => {
  let opened: OpenTestDatabase;
  let demand: BatchDemandRepository;

  beforeAll(async () => {
    opened = await openTestDatabase();
    demand = new BatchDemandRepository(opened.database);
  });

  afterAll(() => opened.close());

  beforeEach(() => opened.database.execute({ sql: 'TRUNCATE batches, batch_segments, batch_workers' }));

  const change = (batch: StoredBatch, assignment: string): Promise<number> =>
    opened.database.execute({ sql: `UPDATE batches b SET ${assignment} WHERE id = $1`, values: [batch.id] });

  it('counts lines of a batch from its acceptance, at the rate that its goal needs', async () => {
    await storeBatch(opened.database, 7_200);
    const [model] = await demand.open(GOAL);
    expect(model).toMatchObject({ ...MODEL, lines: 7_200 });
    expect(model!.linesPerSecond).toBeGreaterThan(1.99);
    expect(model!.linesPerSecond).toBeLessThan(2.1);
  });

  it('asks for more lines per second the less time is left, down to five minutes', async () => {
    const batch = await storeBatch(opened.database, 300);
    await change(batch, `created_at = now() - interval '50 minutes'`);
    expect((await demand.open(GOAL))[0]!.linesPerSecond).toBeCloseTo(0.5, 1);
    await change(batch, `created_at = now() - interval '5 hours'`);
    expect((await demand.open(GOAL))[0]!.linesPerSecond).toBeCloseTo(1, 3);
  });

  it('leaves out what has a result', async () => {
    const batch = await startBatch(opened.database, 100);
    const values = [batch.number];
    await opened.database.execute({
      sql: 'UPDATE batch_segments SET completed = 2, failed = 1 WHERE batch_number = $1 AND number = 0',
      values,
    });
    expect((await demand.open(GOAL))[0]!.lines).toBe(97);
  });

  it('leaves out lines in orders at the provider, batches that are wound up and those that wait for credit', async () => {
    const parked = await startBatch(opened.database, 10);
    await opened.database.execute({
      sql: `UPDATE batch_segments SET state = 'parked' WHERE batch_number = $1`,
      values: [parked.number],
    });
    const stopped = await startBatch(opened.database, 10);
    await change(stopped, `ends_as = 'cancelled', stop_by = now(), status = 'cancelling'`);
    const unpaid = await startBatch(opened.database, 10);
    await opened.database.execute({
      sql: 'UPDATE ledger_holds SET refused_since = now() WHERE id = $1',
      values: [unpaid.id],
    });
    expect(await demand.open(GOAL)).toEqual([]);
  });

  it('keeps the models of different accounts apart', async () => {
    await storeBatch(opened.database, 3);
    const own = await storeBatch(opened.database, 4);
    const credentialId = randomUUID();
    await change(own, `credential_id = '${credentialId}'`);
    const open = await demand.open(GOAL);
    expect(Object.fromEntries(open.map(({ account, lines }) => [account, lines]))).toEqual({
      vendor: 3,
      [`vendor:${credentialId}`]: 4,
    });
  });

  it('is read beside what workers measured of these quotas, of those that ended too', async () => {
    const workers = new BatchWorkersRepository(opened.database);
    const lane = { slots: 4, lines: 1, call_ms: 900, backlog_lines: 0, backlog_ms: 0 };
    await workers.report(randomUUID(), 64, { acme: lane, other: lane });
    await workers.report(randomUUID(), 32, { acme: lane });
    await opened.database.execute({
      sql: `UPDATE batch_workers SET seen_at = now() - interval '1 hour' WHERE concurrency = 32`,
    });
    const reports = await workers.reports(['acme', 'unknown']);
    expect(reports.toSorted((a, b) => a.concurrency - b.concurrency)).toEqual([
      { isAlive: false, concurrency: 32, lanes: { acme: lane } },
      { isAlive: true, concurrency: 64, lanes: { acme: lane } },
    ]);
  });
});
