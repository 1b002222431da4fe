import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { createDataSource } from '../data-source';
import { Database } from '../database';
import { appUrlOf, createTestDatabase, type TestDatabase } from '../testing';
import { keptLocks } from './kept-locks';

describe(keptLocks.name, () => {
  let created: TestDatabase;
  let dataSource: ReturnType<typeof createDataSource>;
  /** With the rights of the app that asks. */
  let gateway: Database;
  let ids: string[];
  let sessions: Client[];

  beforeAll(async () => {
    created = await createTestDatabase({ logins: true });
    const url = appUrlOf('gateway', created.url);
    dataSource = createDataSource({ url, poolSize: 2, applicationName: 'test', connectTimeoutMs: 20_000 });
    gateway = new Database(await dataSource.initialize());
  });

  afterAll(async () => {
    await dataSource.destroy();
    await created.drop();
  });

  beforeEach(async () => {
    sessions = [];
    ids = [randomUUID(), randomUUID(), randomUUID()];
    const owner = await begin();
    for (const id of ids) await owner.query('INSERT INTO ledger_accounts (id) VALUES ($1)', [`org:${id}`]);
    await owner.query('COMMIT');
  });

  afterEach(() => Promise.all(sessions.map((client) => client.end())));

  async function begin(): Promise<Client> {
    const client = new Client({ connectionString: created.url });
    sessions.push(client);
    await client.connect();
    await client.query('BEGIN');
    return client;
  }

  const lock = (client: Client, id: string, strength = 'UPDATE'): Promise<unknown> =>
    client.query(`SELECT 1 FROM ledger_accounts WHERE id = $1 FOR ${strength}`, [`org:${id}`]);

  it.each(['UPDATE', 'NO KEY UPDATE', 'SHARE'])(
    'finds an account that a session keeps locked for %s',
    async (strength) => {
      await lock(await begin(), ids[1]!, strength);
      expect(await keptLocks(gateway, 'all')).toEqual(new Set([ids[1]]));
      expect(await keptLocks(gateway, [...ids, randomUUID()])).toEqual(new Set([ids[1]]));
      expect(await keptLocks(gateway, [ids[0]!])).toEqual(new Set());
    },
  );

  it('finds an account whose row a session has changed, and none once it is done', async () => {
    const client = await begin();
    await client.query('UPDATE ledger_accounts SET credited_usd = credited_usd WHERE id = $1', [`org:${ids[0]}`]);
    expect(await keptLocks(gateway, 'all')).toEqual(new Set([ids[0]]));
    await client.query('COMMIT');
    expect(await keptLocks(gateway, 'all')).toEqual(new Set());
  });

  it.each([
    ['a savepoint that is over', ['SAVEPOINT one', 'LOCK', 'RELEASE one']],
    ['a savepoint that is open', ['SAVEPOINT one', 'LOCK']],
    [
      'a block that catches errors',
      [
        `DO $$ BEGIN PERFORM 1 FROM ledger_accounts WHERE id = 'ID' FOR UPDATE;
       EXCEPTION WHEN OTHERS THEN NULL; END $$`,
      ],
    ],
  ])('finds a lock that was taken in %s', async (_, statements) => {
    const client = await begin();
    const id = `org:${ids[0]}`;
    const lockSql = `SELECT 1 FROM ledger_accounts WHERE id = '${id}' FOR UPDATE`;
    for (const sql of statements) await client.query(sql === 'LOCK' ? lockSql : sql.replace('ID', id));
    // As other transactions do all the time.
    const other = await begin();
    await lock(other, ids[1]!);
    await other.query('COMMIT');
    expect(await keptLocks(gateway, 'all')).toEqual(new Set([ids[0]]));
    await client.query('ROLLBACK');
    expect(await keptLocks(gateway, 'all')).toEqual(new Set());
  });

  it('counts the locks of a session that waits for longer than any app would', async () => {
    await lock(await begin(), ids[2]!);
    const waiting = await begin();
    await lock(waiting, ids[0]!);
    const waited = lock(waiting, ids[2]!).catch(() => undefined);
    let found = await keptLocks(gateway, 'all');
    expect(found).toEqual(new Set([ids[2]]));
    while (!found.has(ids[0]!)) found = await keptLocks(gateway, 'all');
    await sessions.at(-2)!.query('ROLLBACK');
    await waited;
  });

  it('does not count the locks of a session that waits for a lock itself', async () => {
    const holder = await begin();
    await lock(holder, ids[2]!);
    const waiting = await begin();
    await lock(waiting, ids[0]!);
    const waited = lock(waiting, ids[2]!);
    expect(await keptLocks(gateway, 'all')).toEqual(new Set([ids[2]]));
    await holder.query('ROLLBACK');
    await waited;
  });

  it('does not count an account that one session after another locks', async () => {
    const [first, second] = [await begin(), await begin()];
    await lock(first, ids[0]!);
    const next = lock(second, ids[0]!);
    let isAnswered = false;
    // The lock is handed over between the two looks, however long those take.
    const looks: Parameters<typeof keptLocks>[0] = {
      rows: async (query) => {
        const rows = await gateway.rows<never>(query);
        if (isAnswered) return rows;
        isAnswered = true;
        await first.query('ROLLBACK');
        await next;
        return rows;
      },
    };
    await lock(await begin(), ids[1]!);
    expect(await keptLocks(looks, 'all')).toEqual(new Set([ids[1]]));
  });
});
