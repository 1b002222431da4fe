import { PartitionsRepository, SingleRunner } from '@libs/persistence';
import { openTestDatabase, storeBatch, type OpenTestDatabase } from '@libs/persistence/testing';
import { metricsRegistry } from '@libs/platform';
import { captureLog } from '@libs/platform/testing';
import { PartitionKeeperService } from './partition-keeper.service';

const TABLES = ['batch_lines', 'batch_results', 'generations'];

describe(PartitionKeeperService.name, () => {
  let opened: OpenTestDatabase;
  let warnings: string[];

  beforeEach(async () => {
    warnings = captureLog('warn');
    opened = await openTestDatabase();
  });

  afterEach(() => opened.close());

  const keep = (): Promise<void> =>
    new PartitionKeeperService(new PartitionsRepository(opened.database), new SingleRunner(opened.database)).keep();

  async function weeksOf(table: string): Promise<number> {
    const row = await opened.database.firstRow<{ n: number }>({
      sql: `SELECT count(*)::integer AS n FROM pg_inherits WHERE inhparent = $1::regclass`,
      values: [table],
    });
    return row!.n;
  }

  const execute = (sql: string): Promise<number> => opened.database.execute({ sql });

  it('makes and drops what else there is when a default partition holds rows of a week to be made', async () => {
    // A batch that ended 45 days ago, and the clock of a gateway that was 10 days ahead when partitions ran out.
    const batch = await storeBatch(opened.database, 3);
    await execute(`SELECT drop_weekly_partitions(t, (now() AT TIME ZONE 'UTC')::date + 100)
                   FROM unnest(ARRAY['batch_lines', 'batch_results', 'generations']) t`);
    await execute(`SELECT ensure_weekly_partitions(t, (now() AT TIME ZONE 'UTC')::date - 45, (now() AT TIME ZONE 'UTC')::date - 45)
                   FROM unnest(ARRAY['batch_lines', 'batch_results']) t`);
    await execute(`INSERT INTO batch_lines (created_on, batch_number, seq, custom_id, body)
                   SELECT (now() AT TIME ZONE 'UTC')::date + d, ${batch.number}, d + 100, 'line' || d, ''
                   FROM unnest(ARRAY[-45, 0, 10]) d`);
    await execute(`UPDATE batches SET status = 'completed', finalized_at = now(), completed = 3, failed = 0`);
    await keep();
    for (const table of TABLES) expect(await weeksOf(table)).toBe(6);
    const left = await opened.database.rows<{ seq: number }>({ sql: 'SELECT seq FROM batch_lines ORDER BY seq' });
    expect(left.map(({ seq }) => seq)).toEqual([100, 110]);
    const shown = await metricsRegistry.getSingleMetric('sluice_partition_default_rows')!.get();
    expect(shown.values.map(({ value }) => value)).toEqual([0, 0, 0]);
  });

  it('keeps the other tables when one cannot be kept, and says which', async () => {
    await execute(`SELECT drop_weekly_partitions(t, (now() AT TIME ZONE 'UTC')::date + 100)
                   FROM unnest(ARRAY['batch_lines', 'batch_results', 'generations']) t`);
    // A foreign table already has the name of this week's partition.
    await execute(`DO $$ BEGIN EXECUTE format('CREATE TABLE batch_lines_%s (i int)',
                   to_char((now() AT TIME ZONE 'UTC')::date, 'IYYY"w"IW')); END $$`);
    await keep();
    expect([await weeksOf('batch_lines'), await weeksOf('generations')]).toEqual([5, 6]);
    expect(warnings.filter((text) => text.includes('batch_lines'))).toHaveLength(1);
  });
});
