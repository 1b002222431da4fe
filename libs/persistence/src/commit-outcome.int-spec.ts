import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { outcomeOfRow, withOutcome } from './commit-outcome';
import { createDataSource } from './data-source';
import { Database, type Session, sqlStateOf } from './database';
import { createTestDatabase, DatabaseProxy, type CommitFault, type TestDatabase } from './testing';
import { CommitUnknown } from './transactions';

let testDatabase: TestDatabase;
let proxy: DatabaseProxy;
let source: DataSource;
let direct: DataSource;
/** Through the proxy. */
let database: Database;
/** Past it. */
let witness: Database;
let id: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  proxy = await DatabaseProxy.start(testDatabase.url);
  source = await createDataSource({ url: proxy.url, connectTimeoutMs: 20_000 }).initialize();
  direct = await createDataSource({ url: testDatabase.url, connectTimeoutMs: 20_000 }).initialize();
  database = new Database(source);
  witness = new Database(direct);
  await witness.execute({
    sql: `CREATE TABLE things (id text PRIMARY KEY, other text UNIQUE DEFERRABLE INITIALLY DEFERRED);
          GRANT ALL ON things TO sluice_tenant`,
  });
});

afterAll(async () => {
  await source?.destroy();
  await direct?.destroy();
  await proxy?.stop();
  await testDatabase?.drop();
});

beforeEach(() => {
  id = `thing-${randomUUID()}`;
});

const insert = async (session: Session): Promise<string> => {
  await session.execute({ sql: `INSERT INTO things (id) VALUES ($1)`, values: [id] });
  return `made ${id}`;
};
const isThere = async (): Promise<boolean> =>
  (await witness.firstRow({ sql: 'SELECT 1 FROM things WHERE id = $1', values: [id] })) !== null;
const outcome = () => outcomeOfRow('things', 'id', id);

/** Every way to begin a transaction. */
const ways: [string, () => Promise<unknown>][] = [
  ['Database.transaction', () => database.transaction(insert)],
  ['Database.entities', () => database.entities((manager) => manager.query('INSERT INTO things VALUES ($1)', [id]))],
  ['TenantDatabase.transaction', () => database.asOrganization({ organizationId: randomUUID() }).transaction(insert)],
  [
    'TenantDatabase.entities',
    () =>
      database
        .asOrganization({ organizationId: randomUUID() })
        .entities((manager) => manager.query('INSERT INTO things VALUES ($1)', [id])),
  ],
];

describe('a COMMIT that is not answered', () => {
  it.each(ways.flatMap(([name, run]) => (['unanswered', 'terminated'] as const).map((kind) => ({ name, run, kind }))))(
    'is an error of its own: $name, $kind',
    async ({ run, kind }) => {
      const met = proxy.failCommit('INSERT INTO things', kind);
      await expect(run()).rejects.toBeInstanceOf(CommitUnknown);
      await met;
      expect(await isThere()).toBe(true);
    },
  );

  it('is not run again, whatever state its session ended with', async () => {
    let runs = 0;
    void proxy.failCommit('INSERT INTO things', 'terminated');
    const work = database.transaction(async (session) => {
      runs += 1;
      return insert(session);
    });
    const error: unknown = await work.catch((thrown: unknown) => thrown);
    expect([runs, sqlStateOf(error), sqlStateOf((error as Error).cause)]).toEqual([1, null, '57P01']);
  });

  it('is not what PostgreSQL refuses at COMMIT', async () => {
    const twice = { sql: `INSERT INTO things (id, other) SELECT g::text, 'same' FROM generate_series(1, 2) g` };
    await expect(database.transaction((session) => session.execute(twice))).rejects.toMatchObject({ code: '23505' });
  });

  it('is not what was rolled back because a failed statement was passed over', async () => {
    const work = database.transaction(async (session) => {
      await insert(session);
      await session.execute({ sql: 'SELECT 1 / 0' }).catch(() => undefined);
    });
    await expect(work).rejects.toThrow('rolled it back');
    expect(await isThere()).toBe(false);
  });
});

describe(withOutcome.name, () => {
  it.each<CommitFault>(['unanswered', 'terminated'])('returns the result of what happened: %s', async (kind) => {
    const met = proxy.failCommit('INSERT INTO things', kind);
    expect(await database.transaction(insert, outcome())).toBe(`made ${id}`);
    await met;
    expect(await isThere()).toBe(true);
  });

  it('throws the cause of what did not happen', async () => {
    void proxy.failCommit('INSERT INTO things', 'unsent');
    const error: unknown = await database.transaction(insert, outcome()).catch((thrown: unknown) => thrown);
    expect(error).not.toBeInstanceOf(CommitUnknown);
    expect(error).toMatchObject({ code: 'unavailable', internal: expect.stringContaining('terminated unexpectedly') });
    expect(await isThere()).toBe(false);
  });

  it('waits for a COMMIT that reaches PostgreSQL after its connection was lost', async () => {
    const met = proxy.failCommit('INSERT INTO things', 'late');
    const made = database.transaction(insert, outcome());
    const { sendLate } = await met;
    await untilOneWaits();
    sendLate();
    expect(await made).toBe(`made ${id}`);
  });

  it('asks until PostgreSQL is back', async () => {
    void proxy.failCommit('INSERT INTO things', 'unanswered').then(() => proxy.goAway());
    const made = database.transaction(insert, outcome());
    await expect(proxy.refused()).resolves.toBeUndefined();
    proxy.comeBack();
    expect(await made).toBe(`made ${id}`);
  });

  it('says that it does not know when nobody could be asked in time', async () => {
    const met = proxy.failCommit('INSERT INTO things', 'unanswered').then(() => proxy.goAway());
    const transact = <R>(work: (session: Session) => Promise<R>): Promise<R> => database.transaction(work);
    const error: unknown = await withOutcome(transact, insert, outcome(), 300).catch((thrown: unknown) => thrown);
    await met;
    proxy.comeBack();
    expect(error).toBeInstanceOf(CommitUnknown);
    expect(await isThere()).toBe(true);
  });

  it('takes an error of the work for what it is', async () => {
    const work = database.transaction(async () => {
      throw new Error('no');
    }, outcome());
    await expect(work).rejects.toThrow('no');
  });
});

/** Until a session of this database waits for an advisory lock. */
async function untilOneWaits(): Promise<void> {
  const sql = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
  for (let looks = 0; looks < 500; looks += 1) {
    if ((await witness.firstRow({ sql })) !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('nobody waited');
}

describe(sqlStateOf.name, () => {
  it('is null for errors of the operating system, some of which look like a state', () => {
    expect(['EPIPE', 'ECONNRESET', '40P01'].map((code) => sqlStateOf({ code }))).toEqual([null, null, '40P01']);
  });
});
