import { openTestDatabase, storeBatch, type OpenTestDatabase } from './testing';
import { PartitionsRepository } from './partitions.repository';

describe(PartitionsRepository.name, () => {
  let opened: OpenTestDatabase;
  let partitions: PartitionsRepository;

  beforeEach(async () => {
    opened = await openTestDatabase();
    partitions = new PartitionsRepository(opened.database);
  });

  afterEach(() => opened.close());

  /** Moves a batch and its lines to another day, as if it had been submitted then. */
  async function age(id: string, number: bigint, days: number): Promise<void> {
    const { database } = opened;
    const day = `((now() AT TIME ZONE 'UTC')::date - ${days})`;
    await database.execute({
      sql: `SELECT ensure_weekly_partitions(t, ${day}, ${day}) FROM unnest(ARRAY['batch_lines', 'batch_results']) t`,
    });
    await database.execute({
      sql: `UPDATE batches SET created_on = ${day}, created_at = now() - interval '${days} days' WHERE id = $1`,
      values: [id],
    });
    await database.execute({
      sql: `UPDATE batch_lines SET created_on = ${day} WHERE batch_number = $1`,
      values: [number],
    });
  }

  async function lines(number: bigint): Promise<number> {
    const row = await opened.database.firstRow<{ n: number }>({
      sql: 'SELECT count(*)::integer AS n FROM batch_lines WHERE batch_number = $1',
      values: [number],
    });
    return row!.n;
  }

  const finalize = (id: string): Promise<number> =>
    opened.database.execute({
      sql: `UPDATE batches SET status = 'completed', finalized_at = now(), completed = 3, failed = 0 WHERE id = $1`,
      values: [id],
    });

  it('makes the weeks to come, so that no row ends in the default partition', async () => {
    await opened.database.execute({
      sql: `SELECT drop_weekly_partitions(t, (now() AT TIME ZONE 'UTC')::date + 100)
            FROM unnest(ARRAY['batch_lines', 'batch_results', 'generations']) t`,
    });
    await partitions.ensureComingWeeks();
    await partitions.ensureComingWeeks();
    const [row] = await opened.database.rows<{ weeks: number }>({
      sql: `SELECT count(*)::integer AS weeks FROM pg_inherits WHERE inhparent = 'generations'::regclass`,
    });
    // This week, the four to come, and the default one.
    expect(row!.weeks).toBe(6);
    const { number } = await storeBatch(opened.database, 3);
    expect(await lines(number)).toBe(3);
    const strays = await opened.database.rows({ sql: 'SELECT 1 FROM batch_lines_default' });
    expect(strays).toEqual([]);
  });

  it('drops weeks that lie before the retention, and keeps the rows of batches', async () => {
    const [old, recent] = [await storeBatch(opened.database, 3), await storeBatch(opened.database, 3)];
    await age(old.id, old.number, 45);
    await age(recent.id, recent.number, 29);
    for (const { id } of [old, recent]) await finalize(id);

    expect(await partitions.dropExpiredWeeks()).toBe(2);
    expect([await lines(old.number), await lines(recent.number)]).toEqual([0, 3]);
    const kept = await opened.database.rows({ sql: 'SELECT id FROM batches' });
    expect(kept).toHaveLength(2);
    expect(await partitions.dropExpiredWeeks()).toBe(0);
  });

  it('keeps a week with a batch that is not over', async () => {
    const batch = await storeBatch(opened.database, 3);
    await age(batch.id, batch.number, 60);
    expect(await partitions.dropExpiredWeeks()).toBe(0);
    expect(await lines(batch.number)).toBe(3);
    await finalize(batch.id);
    expect(await partitions.dropExpiredWeeks()).toBe(2);
  });

  it('deletes old rows that stand in no weekly partition', async () => {
    const batch = await storeBatch(opened.database, 3);
    await opened.database.execute({
      sql: `UPDATE batch_lines SET created_on = created_on - 400 WHERE batch_number = $1`,
      values: [batch.number],
    });
    await finalize(batch.id);
    await partitions.dropExpiredWeeks();
    expect(await lines(batch.number)).toBe(0);
  });

  it('may run twice at once', async () => {
    const batch = await storeBatch(opened.database, 3);
    await age(batch.id, batch.number, 60);
    await finalize(batch.id);
    const dropped = await Promise.allSettled([partitions.dropExpiredWeeks(), partitions.dropExpiredWeeks()]);
    expect(dropped.some(({ status }) => status === 'fulfilled')).toBe(true);
    expect(await lines(batch.number)).toBe(0);
  });
});
