import { randomUUID } from 'node:crypto';
import { createDataSource } from './data-source';
import { Database } from './database';
import { createTestDatabase, type TestDatabase } from './testing';

const WORKERS = 8;
const STORMS = 25;
const BETWEEN_MS = 40;

describe(createDataSource.name, () => {
  let created: TestDatabase;

  beforeAll(async () => {
    created = await createTestDatabase();
  });

  afterAll(() => created.drop());

  it('survives connections that are ended at any moment, the first one of their life included', async () => {
    const dataSource = await createDataSource({ url: created.url, poolSize: WORKERS }).initialize();
    const killer = await createDataSource({ url: created.url, poolSize: 1, applicationName: 'killer' }).initialize();
    const database = new Database(dataSource);
    const tenant = database.asTenant({ organizationId: randomUUID() });
    const unheard: unknown[] = [];
    const note = (error: unknown): void => void unheard.push(error);
    // Jest takes uncaught errors for its own; here they are what is looked for.
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', note);
    try {
      let stopped = false;
      const ask = async (): Promise<void> => {
        while (!stopped) {
          await database.rows({ sql: 'SELECT pg_sleep(0.005)' }).catch(() => []);
          await tenant.rows({ name: 'sleep', sql: 'SELECT pg_sleep(0.005)' }).catch(() => []);
        }
      };
      const asking = Array.from({ length: WORKERS }, ask);
      for (let storm = 0; storm < STORMS; storm += 1) {
        await killer.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND application_name <> 'killer'`,
        );
        await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
      }
      stopped = true;
      await Promise.all(asking);
      expect(await database.rows({ sql: 'SELECT 1 AS one' })).toEqual([{ one: 1 }]);
      expect(await tenant.rows({ sql: 'SELECT 1 AS one' })).toEqual([{ one: 1 }]);
    } finally {
      process.off('uncaughtException', note);
      for (const listener of listeners) process.on('uncaughtException', listener);
      await Promise.all([dataSource.destroy(), killer.destroy()]);
    }
    expect(unheard).toEqual([]);
  });
});
