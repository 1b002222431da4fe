import type { DataSource } from 'typeorm';
import { AppError } from '@libs/errors';
import { createDataSource } from './data-source';
import { Database } from './database';
import { createTestDatabase, DatabaseProxy, type TestDatabase } from './testing';

const TENANT = { organizationId: '00000000-0000-4000-8000-000000000001' };
const SELECT = { sql: 'SELECT 1 AS one' };

let testDatabase: TestDatabase;
let proxy: DatabaseProxy;
let source: DataSource;
let direct: DataSource;
let database: Database;
let witness: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  proxy = await DatabaseProxy.start(testDatabase.url);
  source = await createDataSource({ url: proxy.url, poolSize: 2, statementTimeoutMs: 1_000 }).initialize();
  direct = await createDataSource({ url: testDatabase.url }).initialize();
  database = new Database(source);
  witness = new Database(direct);
  await witness.execute({ sql: 'CREATE TABLE things (id text PRIMARY KEY); GRANT ALL ON things TO sluice_tenant' });
  await witness.execute({ sql: `INSERT INTO things VALUES ('a')` });
});

afterAll(async () => {
  await source?.destroy();
  await direct?.destroy();
  await proxy?.stop();
  await testDatabase?.drop();
});

/** Every way in which repositories ask. */
const ways: readonly (readonly [string, (sql: string) => Promise<unknown>])[] = [
  ['rows', (sql) => database.rows({ sql })],
  ['execute', (sql) => database.execute({ sql })],
  ['session', (sql) => database.session((session) => session.rows({ sql }))],
  ['copyEach', (sql) => database.copyEach(sql, () => undefined)],
  ['transaction', (sql) => database.transaction((session) => session.rows({ sql }))],
  ['entities', (sql) => database.entities((manager) => manager.query(sql))],
  ['rows of a tenant', (sql) => database.asOrganization(TENANT).rows({ sql })],
  ['copyEach of a tenant', (sql) => database.asOrganization(TENANT).copyEach(sql, () => undefined)],
  ['a transaction of a tenant', (sql) => database.asOrganization(TENANT).transaction((s) => s.rows({ sql }))],
  ['entities of a tenant', (sql) => database.asOrganization(TENANT).entities((manager) => manager.query(sql))],
];

async function failureOf(asked: Promise<unknown>): Promise<AppError> {
  const thrown: unknown = await asked.then(
    () => null,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(AppError);
  return thrown as AppError;
}

/** Ends the sessions that run the statement, as soon as there is one. */
async function sessionsEnded(like: string): Promise<void> {
  const sql = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND query LIKE $1`;
  while ((await witness.rows({ sql, values: [like] })).length === 0);
}

function expectUnavailable(error: AppError): void {
  expect(error).toMatchObject({ code: 'unavailable', status: 503, message: 'The service is temporarily unavailable' });
  expect(error.retryAfterSeconds).toBeGreaterThanOrEqual(1);
  expect(error.internal).toContain('PostgreSQL');
}

describe(Database.name, () => {
  describe.each(ways)('%s', (_name, ask) => {
    it('is unavailable while PostgreSQL refuses connections', async () => {
      proxy.goAway();
      try {
        expectUnavailable(await failureOf(ask(SELECT.sql)));
      } finally {
        proxy.comeBack();
      }
      await expect(ask(SELECT.sql)).resolves.not.toThrow();
    });

    it('is unavailable when its connection ends under a statement', async () => {
      await ask(SELECT.sql);
      proxy.cutAtMessage(1);
      expectUnavailable(await failureOf(ask(SELECT.sql)));
      await expect(ask(SELECT.sql)).resolves.not.toThrow();
    });

    it('is unavailable when PostgreSQL ends its session', async () => {
      const failure = failureOf(ask('SELECT pg_sleep(0.9) AS "ends early"'));
      await sessionsEnded('%ends early%');
      expectUnavailable(await failure);
    });

    it('is unavailable when a statement takes longer than it may', async () => {
      expectUnavailable(await failureOf(ask('SELECT pg_sleep(5)')));
    });

    it('says what PostgreSQL refuses in the words of PostgreSQL', async () => {
      await expect(ask('SELECT 1/0')).rejects.toMatchObject({ code: '22012' });
    });
  });

  it('is unavailable when its connection ends between two statements of a transaction', async () => {
    const work = database.entities(async (manager) => {
      await manager.query('SELECT 1');
      proxy.goAway();
      proxy.comeBack();
      // Long enough for the end of the connection to be noticed.
      await new Promise((resolve) => setTimeout(resolve, 100));
      return manager.query('SELECT 1');
    });
    expectUnavailable(await failureOf(work));
    await expect(database.rows(SELECT)).resolves.toEqual([{ one: 1 }]);
  });

  it('is unavailable when no connection of the pool becomes free in time', async () => {
    const release = Promise.withResolvers<void>();
    const holders = [1, 2].map(() =>
      database.session(async (session) => {
        await session.rows(SELECT);
        await release.promise;
      }),
    );
    try {
      expectUnavailable(await failureOf(database.rows(SELECT)));
    } finally {
      release.resolve();
      await Promise.all(holders);
    }
  });

  it('gives up connections on which PostgreSQL says nothing more, and makes others', async () => {
    const release = Promise.withResolvers<void>();
    const both = [1, 2].map(() =>
      database.transaction(async (session) => {
        await session.rows(SELECT);
        await release.promise;
        return session.rows(SELECT);
      }),
    );
    const failures = both.map(failureOf);
    await database.session(() => Promise.resolve()).catch(() => undefined);
    proxy.silence();
    release.resolve();
    for (const failure of await Promise.all(failures)) expectUnavailable(failure);
    expect(await database.rows(SELECT)).toEqual([{ one: 1 }]);
  }, 15_000);

  it('lets a statement take the time that its transaction asked for', async () => {
    const slow = database.transaction(async (session) => {
      await session.mayTake(60);
      return session.rows({ sql: 'SELECT 1 AS one FROM pg_sleep(7)' });
    });
    expect(await slow).toEqual([{ one: 1 }]);
  }, 15_000);

  it('is unavailable when a lock is not had in time', async () => {
    await witness.transaction(async (session) => {
      await session.execute({ sql: `SELECT * FROM things WHERE id = 'a' FOR UPDATE` });
      const update = `SET lock_timeout = 100; UPDATE things SET id = 'b' WHERE id = 'a'`;
      expectUnavailable(await failureOf(database.execute({ sql: update })));
    });
  });

  it('leaves errors of the work alone', async () => {
    const own = new AppError('payment_required', 'Insufficient credits');
    await expect(database.transaction(() => Promise.reject(own))).rejects.toBe(own);
    const foreign = new TypeError('x is undefined');
    await expect(database.transaction(() => Promise.reject(foreign))).rejects.toBe(foreign);
  });
});
