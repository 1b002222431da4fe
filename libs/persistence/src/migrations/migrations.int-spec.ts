import { createDataSource } from '../data-source';
import { createTestDatabase, type TestDatabase } from '../testing';

describe('migrations', () => {
  let created: TestDatabase;

  beforeAll(async () => {
    created = await createTestDatabase();
  });

  afterAll(() => created.drop());

  it('leave nothing that the entities of this library would still change', async () => {
    const dataSource = await createDataSource({ url: created.url }).initialize();
    try {
      const pending = await dataSource.driver.createSchemaBuilder().log();
      expect(pending.upQueries.map((query) => query.query)).toEqual([]);
    } finally {
      await dataSource.destroy();
    }
  });

  it('can be taken back and applied again', async () => {
    const dataSource = await createDataSource({ url: created.url }).initialize();
    try {
      for (const _ of dataSource.migrations) await dataSource.undoLastMigration();
      const tables: unknown[] = await dataSource.query(
        `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('migrations', 'typeorm_metadata')`,
      );
      expect(tables).toEqual([]);
      expect(await dataSource.runMigrations()).toHaveLength(dataSource.migrations.length);
    } finally {
      await dataSource.destroy();
    }
  });
});
