import { openTestDatabase, storeBatch, type OpenTestDatabase } from './testing';
import { plusDays } from './partition-plan';
import { PARTITIONED_TABLES, PartitionsRepository, type PartitionedTable } from './partitions.repository';

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

  async function make(table: PartitionedTable): Promise<void> {
    const { weeks, adoption } = await partitions.plan(table);
    for (const monday of weeks) await partitions.makeWeek(table, monday);
    if (adoption !== null) await partitions.adoptDefault(table, adoption);
  }

  async function dropExpired(): Promise<number> {
    let dropped = 0;
    for (const table of PARTITIONED_TABLES) {
      for (const name of await partitions.expired(table)) {
        await partitions.drop(table, name);
        dropped += 1;
      }
    }
    return dropped;
  }

  /** The day `days` from now. */
  const day = (days: number): string => plusDays(new Date().toISOString().slice(0, 10), days);

  async function addGenerations(count: number, createdOn: string): Promise<void> {
    await opened.database.execute({
      sql: `INSERT INTO generations (id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed,
              state, hold_usd, settled_at)
            SELECT 'gen-' || $2 || '-' || i, $2::date, gen_random_uuid(), gen_random_uuid(), repeat('a', 64), 'chat',
              'vendor/model', false, 'settled', 0, now() FROM generate_series(1, $1) i`,
      values: [count, createdOn],
    });
  }

  async function placesOf(table: PartitionedTable): Promise<Record<string, number>> {
    const rows = await opened.database.rows<{ name: string; rows: number }>({
      sql: `SELECT tableoid::regclass::text AS name, count(*)::integer AS rows FROM ${table} GROUP BY 1`,
    });
    return Object.fromEntries(rows.map(({ name, rows: count }) => [name, count]));
  }

  /** As after the worker was away for longer than partitions are made ahead, or after an old backup was restored. */
  async function withoutPartitions(): Promise<void> {
    await opened.database.execute({
      sql: `SELECT drop_weekly_partitions(t, (now() AT TIME ZONE 'UTC')::date + 100)
            FROM unnest(ARRAY['batch_lines', 'batch_results', 'generations']) t`,
    });
  }

  it('makes the weeks to come, so that no row ends in the default partition', async () => {
    await withoutPartitions();
    for (const table of PARTITIONED_TABLES) {
      await make(table);
      await make(table);
    }
    const [row] = await opened.database.rows<{ weeks: number }>({
      sql: `SELECT count(*)::integer AS weeks FROM pg_inherits WHERE inhparent = 'generations'::regclass`,
    });
    // This week, the four to come, and the default one.
    expect(row!.weeks).toBe(6);
    const { number } = await storeBatch(opened.database, 3);
    expect(await lines(number)).toBe(3);
    expect(await partitions.countStrays('batch_lines')).toBe(0);
  });

  it('makes partitions like those that PostgreSQL makes of the table', async () => {
    const shape = `SELECT string_agg(attname || format_type(atttypid, atttypmod) || attnotnull::text || attstorage::text, ',' ORDER BY attnum)
                     AS columns,
                   (SELECT string_agg(regexp_replace(pg_get_indexdef(indexrelid), 'INDEX .* USING', ''), ';' ORDER BY 1)
                    FROM pg_index WHERE indrelid = attrelid) AS indexes,
                   (SELECT string_agg(conname || pg_get_constraintdef(oid), ';' ORDER BY conname) FROM pg_constraint
                    WHERE conrelid = attrelid AND contype = 'c') AS checks
                   FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 GROUP BY attrelid`;
    await withoutPartitions();
    await opened.database.execute({
      sql: `SELECT ensure_weekly_partitions(t, $1::date, $1::date)
            FROM unnest(ARRAY['batch_lines', 'batch_results', 'generations']) t`,
      values: [day(0)],
    });
    for (const table of PARTITIONED_TABLES) {
      const { weeks } = await partitions.plan(table);
      for (const monday of weeks) await partitions.makeWeek(table, monday);
      const shapeOf = async (days: number) => {
        const named = `SELECT $1 || to_char($2::date, '_IYYY"w"IW') AS name`;
        const row = await opened.database.firstRow<{ name: string }>({ sql: named, values: [table, day(days)] });
        return opened.database.firstRow({ sql: shape, values: [row!.name] });
      };
      expect(await shapeOf(28)).toEqual(await shapeOf(0));
    }
  });

  it('leaves a row at +40 days where it is, and moves it once its week is near', async () => {
    await addGenerations(1, day(40));
    await make('generations');
    expect(await placesOf('generations')).toEqual({ generations_default: 1 });
    const week = (await opened.database.firstRow<{ monday: string; name: string }>({
      sql: `SELECT date_trunc('week', $1::date)::date::text AS monday, to_char($1::date, 'IYYY"w"IW') AS name`,
      values: [day(40)],
    }))!;
    expect(await partitions.makeWeek('generations', week.monday)).toBe(1);
    expect(await placesOf('generations')).toEqual({ [`generations_${week.name}`]: 1 });
  });

  it('empties the default partitions after the worker was away for more than four weeks', async () => {
    await withoutPartitions();
    const batch = await storeBatch(opened.database, 3);
    for (const days of [-21, -14, -7, 0]) await addGenerations(5, day(days));
    for (const table of PARTITIONED_TABLES) await make(table);
    expect(Object.keys(await placesOf('generations'))).toHaveLength(4);
    for (const table of PARTITIONED_TABLES) expect(await partitions.countStrays(table)).toBe(0);
    expect(await lines(batch.number)).toBe(3);
    await addGenerations(5, day(7));
    expect(await partitions.countStrays('generations')).toBe(0);
  });

  it('keeps the rows of a default partition that holds too many to move, and lets calls be written meanwhile', async () => {
    await withoutPartitions();
    await addGenerations(20_001, day(-14));
    await addGenerations(7, day(-7));
    await addGenerations(3, day(0));
    await addGenerations(1, day(60));
    await make('generations');
    expect(await partitions.countStrays('generations')).toBe(0);
    const places = Object.entries(await placesOf('generations')).toSorted(([, one], [, other]) => one - other);
    expect(places.map(([, rows]) => rows)).toEqual([1, 20_011]);
    expect(await partitions.plan('generations')).toEqual({ weeks: [], adoption: null });
    await addGenerations(2, day(1));
    await addGenerations(2, day(100));
    expect(await partitions.countStrays('generations')).toBe(2);
    expect(
      await opened.database.firstRow({ sql: `SELECT 1 FROM pg_constraint WHERE conname LIKE '%_adopted'` }),
    ).toBeNull();
  });

  it('makes a week again after a try that was broken off', async () => {
    await withoutPartitions();
    await addGenerations(5, day(0));
    const { weeks } = await partitions.plan('generations');
    await opened.database.transaction(async (session) => {
      await session.execute({ sql: 'SELECT 1 FROM generations LIMIT 1' });
      await expect(partitions.makeWeek('generations', weeks[0]!)).rejects.toMatchObject({
        code: 'unavailable',
        cause: { code: '55P03' },
      });
    });
    expect(await partitions.makeWeek('generations', weeks[0]!)).toBe(5);
    expect(await partitions.makeWeek('generations', weeks[0]!)).toBe(0);
  });

  it('adopts a default partition after a try that was broken off', async () => {
    await withoutPartitions();
    await addGenerations(20_001, day(0));
    const { adoption } = await partitions.plan('generations');
    await opened.database.execute({
      sql: 'ALTER TABLE generations_default ADD CONSTRAINT generations_adopted CHECK (created_on IS NOT NULL) NOT VALID',
    });
    await partitions.adoptDefault('generations', adoption!);
    expect(await partitions.countStrays('generations')).toBe(0);
  });

  it('drops weeks that lie before the retention, and keeps the rows of batches', async () => {
    const [old, recent] = [await storeBatch(opened.database, 3), await storeBatch(opened.database, 3)];
    await age(old.id, old.number, 45);
    await age(recent.id, recent.number, 29);
    for (const { id } of [old, recent]) await finalize(id);

    expect(await dropExpired()).toBe(2);
    expect([await lines(old.number), await lines(recent.number)]).toEqual([0, 3]);
    const kept = await opened.database.rows({ sql: 'SELECT id FROM batches' });
    expect(kept).toHaveLength(2);
    expect(await dropExpired()).toBe(0);
  });

  it('keeps a week with a batch that is not over', async () => {
    const batch = await storeBatch(opened.database, 3);
    await age(batch.id, batch.number, 60);
    expect(await dropExpired()).toBe(0);
    expect(await lines(batch.number)).toBe(3);
    await finalize(batch.id);
    expect(await dropExpired()).toBe(2);
  });

  it('deletes old rows that stand in no weekly partition', async () => {
    const batch = await storeBatch(opened.database, 3);
    await opened.database.execute({
      sql: `UPDATE batch_lines SET created_on = created_on - 400 WHERE batch_number = $1`,
      values: [batch.number],
    });
    await finalize(batch.id);
    expect(await partitions.deleteExpiredStrays('batch_lines')).toBe(3);
    expect(await partitions.deleteExpiredStrays('batch_lines')).toBe(0);
    expect(await lines(batch.number)).toBe(0);
  });

  it('may run twice at once', async () => {
    await withoutPartitions();
    await addGenerations(5, day(0));
    await Promise.allSettled([make('generations'), make('generations')]);
    await make('generations');
    expect(await partitions.countStrays('generations')).toBe(0);
    expect(Object.values(await placesOf('generations'))).toEqual([5]);
  });
});
