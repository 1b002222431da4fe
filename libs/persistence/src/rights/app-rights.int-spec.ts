import { APP_NAMES, type AppName } from '@libs/contracts';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../data-source';
import { Database, sqlStateOf } from '../database';
import { appUrlOf, createTestDatabase, type TestDatabase } from '../testing';
import { APP_RIGHTS } from './app-rights';

describe('x', () => {
  let created: TestDatabase;
  beforeAll(async () => {
    created = await createTestDatabase({ logins: true });
  }, 60_000);
  afterAll(() => created.drop());
  it.each(APP_NAMES)('%s', async (app: AppName) => {
    const s: DataSource = await createDataSource({ url: appUrlOf(app, created.url), poolSize: 1 }).initialize();
    const d = new Database(s);
    console.log(await d.rows({ sql: `select current_user, current_setting('sluice.tenant_role')` }));
    const denied = async (sql: string) => d.execute({ sql }).then(() => 'ok', (e: unknown) => sqlStateOf(e) ?? String(e));
    for (const sql of [`SELECT 1 FROM api_keys`, `INSERT INTO api_keys DEFAULT VALUES`, `SET ROLE sluice_tenant`, `SELECT make_partition('generations','2031-01-06')`,`SELECT drop_expired_partition('batch_lines','batch_lines_2026w48')`]) console.log(app, sql, await denied(sql));
    void APP_RIGHTS;
    await s.destroy();
  });
});
