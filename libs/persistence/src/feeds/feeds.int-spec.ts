import { randomBytes, randomUUID } from 'node:crypto';
import { MOST_CHANGES, type FeedName, type FeedPosition } from '@libs/contracts';
import type { Database, Session } from '../database';
import { openTestDatabase, storeKeyIn, storePropertiedTenant, type OpenTestDatabase } from '../testing';
import { FEED_TABLES } from './feed-tables';
import { FeedsRepository } from './feeds.repository';

const WRITERS = 24;
const CHANGES_PER_WRITER = 10;

let opened: OpenTestDatabase;
let database: Database;
let feeds: FeedsRepository;

beforeAll(async () => {
  opened = await openTestDatabase();
  ({ database } = opened);
  feeds = new FeedsRepository(database);
});

afterAll(() => opened?.close());

const run = (sql: string, values: readonly string[] = []): Promise<number> => database.execute({ sql, values });

const now = async (feed: FeedName): Promise<FeedPosition> => (await feeds.changesSince(feed, null)).position;

async function newKey(): Promise<{ hash: string; organizationId: string; workspaceId: string }> {
  const tenant = { organizationId: randomUUID(), workspaceId: randomUUID() };
  const hash = randomBytes(32).toString('hex');
  await storeKeyIn(database, tenant, hash);
  return { hash, ...tenant };
}

describe(FeedsRepository.name, () => {
  it('says which key changed, and leaves out changes of columns that no process is shown', async () => {
    const { hash } = await newKey();
    const since = await now('access');
    await run(`UPDATE api_keys SET label = 'other', updated_at = now() WHERE hash = $1`, [hash]);
    await run(`UPDATE api_keys SET disabled = false WHERE hash = $1`, [hash]);
    expect(await feeds.changesSince('access', since)).toEqual({ since, position: since, subjects: [] });
    await run(`UPDATE api_keys SET disabled = true WHERE hash = $1`, [hash]);
    const changes = await feeds.changesSince('access', since);
    expect(changes).toMatchObject({ since, subjects: [hash], position: { revision: since.revision + 1 } });
    expect(changes.position.mark).not.toBe(since.mark);
    expect(await feeds.changesSince('access', changes.position)).toMatchObject({ subjects: [] });
  });

  it('has one revision for a transaction, however many rows it changes, and none for one that is rolled back', async () => {
    const keys = [await newKey(), await newKey(), await newKey()];
    const hashes = keys.map(({ hash }) => hash);
    const since = await now('access');
    const rolledBack = database.transaction(async (session) => {
      await session.execute({ sql: 'UPDATE api_keys SET disabled = true WHERE hash = $1', values: [hashes[0]!] });
      throw new Error('enough');
    });
    await expect(rolledBack).rejects.toThrow('enough');
    await database.transaction(async (session) => {
      for (const hash of hashes) {
        await session.execute({ sql: 'UPDATE api_keys SET disabled = true WHERE hash = $1', values: [hash] });
        await session.execute({ sql: `UPDATE api_keys SET name = 'twice' WHERE hash = $1`, values: [hash] });
      }
    });
    const { position, subjects } = await feeds.changesSince('access', since);
    expect(position.revision).toBe(since.revision + 1);
    expect(subjects.toSorted()).toEqual(hashes.toSorted());
  });

  it('notes what a tenant changes, who may not touch the feed', async () => {
    const { hash, organizationId } = await newKey();
    const since = await now('access');
    const tenant = database.asOrganization({ organizationId });
    await tenant.execute({ sql: `UPDATE api_keys SET deleted_at = now() WHERE hash = $1`, values: [hash] });
    expect((await feeds.changesSince('access', since)).subjects).toEqual([hash]);
    await expect(tenant.rows({ sql: 'SELECT * FROM change_feeds' })).rejects.toMatchObject({ code: '42501' });
  });

  it('keeps concurrent writers in order, without a gap and without a deadlock', async () => {
    const keys = await Promise.all(Array.from({ length: 4 }, newKey));
    const since = await now('access');
    const deadlocks = await database.firstRow<{ deadlocks: string }>({
      sql: 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    });
    const seen: number[] = [];
    let isDone = false;
    const reader = (async () => {
      let position = since;
      const found = new Set<string>();
      while (!isDone) {
        const changes = await feeds.changesSince('access', position);
        expect(changes.since).toEqual(position);
        if (changes.position.revision > position.revision) expect(changes.subjects).not.toEqual([]);
        for (const subject of changes.subjects) found.add(subject);
        position = changes.position;
        seen.push(position.revision);
      }
      return found;
    })();
    await Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        for (let change = 0; change < CHANGES_PER_WRITER; change += 1) {
          // Two rows of the feed's tables in one order, as the apps lock them: the workspace, then a key.
          const key = keys[(writer + change) % keys.length]!;
          await database.transaction(async (session) => {
            const values = [key.workspaceId, `https://a.example/${writer}/${change}`];
            await session.execute({ sql: 'UPDATE workspaces SET default_callback_url = $2 WHERE id = $1', values });
            const named = [key.hash, `${writer} ${change}`];
            await session.execute({ sql: 'UPDATE api_keys SET name = $2 WHERE hash = $1', values: named });
          });
        }
      }),
    );
    isDone = true;
    const found = await reader;
    const { position } = await feeds.changesSince('access', since);
    expect(position.revision).toBe(since.revision + WRITERS * CHANGES_PER_WRITER);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    const last = await feeds.changesSince('access', since);
    expect([...new Set([...found, ...last.subjects])].toSorted()).toEqual(
      keys.flatMap(({ hash, workspaceId }) => [hash, workspaceId]).toSorted(),
    );
    const after = await database.firstRow({
      sql: 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    });
    expect(after).toEqual(deadlocks);
  });

  it('does not make one transaction wait for another that has changed something and goes on', async () => {
    const [slow, quick] = [await newKey(), await newKey()];
    const change = `UPDATE api_keys SET name = 'changed' WHERE hash = $1`;
    const since = await now('access');
    await database.transaction(async (session) => {
      await session.execute({ sql: change, values: [slow.hash] });
      await run(change, [quick.hash]);
      expect((await feeds.changesSince('access', since)).subjects).toEqual([quick.hash]);
    });
    expect((await feeds.changesSince('access', since)).subjects.toSorted()).toEqual([slow.hash, quick.hash].toSorted());
  });

  it('can not say what changed since a position that it does not have', async () => {
    const { hash } = await newKey();
    const since = await now('access');
    await run(`UPDATE api_keys SET name = 'newer' WHERE hash = $1`, [hash]);
    const { position } = await feeds.changesSince('access', null);
    const forgotten = { since: null, position, subjects: [] };
    for (const unknown of [
      null,
      { revision: since.revision, mark: randomUUID() },
      { revision: position.revision, mark: since.mark },
      { revision: position.revision + 5, mark: position.mark },
    ]) {
      expect(await feeds.changesSince('access', unknown)).toEqual(forgotten);
    }
  });

  it('gives only its position after more changes than an answer holds', async () => {
    const { organizationId, workspaceId } = await newKey();
    const store = `INSERT INTO api_keys (hash, id, organization_id, workspace_id, kind, name, label)
      SELECT encode(sha256(n::text::bytea), 'hex'), gen_random_uuid(), $1, $2, 'api', 'k', 'k'
      FROM generate_series(1, ${MOST_CHANGES + 1}) n`;
    await run(store, [organizationId, workspaceId]);
    const since = await now('access');
    await run('UPDATE api_keys SET disabled = true WHERE workspace_id = $1', [workspaceId]);
    expect(await feeds.changesSince('access', since)).toMatchObject({ since: null, subjects: [] });
  });

  it('can not say what changed since a position if the entries of a later revision are gone', async () => {
    const { hash } = await newKey();
    const [known, lost, last] = [await now('access'), await newKey(), await newKey()];
    const change = `UPDATE api_keys SET disabled = true WHERE hash = $1`;
    for (const key of [hash, lost.hash, last.hash]) await run(change, [key]);
    const position = await now('access');
    expect((await feeds.changesSince('access', known)).subjects.toSorted()).toEqual(
      [hash, lost.hash, last.hash].toSorted(),
    );
    await run(`DELETE FROM ${FEED_TABLES.access} WHERE subject = $1`, [lost.hash]);
    expect(await feeds.changesSince('access', known)).toEqual({ since: null, position, subjects: [] });
    await run(`DELETE FROM ${FEED_TABLES.access} WHERE revision > $1`, [String(known.revision)]);
    expect(await feeds.changesSince('access', known)).toEqual({ since: null, position, subjects: [] });
    expect(await feeds.changesSince('access', position)).toEqual({ since: position, position, subjects: [] });
  });

  it('gives only its position if the changes of one key hide another behind the most that it reads', async () => {
    const [often, once] = [await newKey(), await newKey()];
    const since = await now('access');
    await database.transaction(async (session) => {
      const values = [MOST_CHANGES + 1, often.hash];
      // As so many transactions would write it.
      await session.execute({
        sql: `INSERT INTO ${FEED_TABLES.access} (revision, subject, mark)
              SELECT revision + i, $2, mark FROM change_feeds, generate_series(1, $1) i WHERE feed = 'access'`,
        values,
      });
      await session.execute({
        sql: `UPDATE change_feeds SET revision = revision + $1 WHERE feed = 'access'`,
        values: values.slice(0, 1),
      });
    });
    await run(`UPDATE api_keys SET disabled = true WHERE hash = $1`, [once.hash]);
    expect(await feeds.changesSince('access', since)).toMatchObject({ since: null, subjects: [] });
  });

  it('deletes old entries a few at a time, and never the newest', async () => {
    const { hash } = await newKey();
    const before = await now('access');
    for (const name of ['a', 'b']) await run('UPDATE api_keys SET name = $2 WHERE hash = $1', [hash, name]);
    const position = await now('access');
    expect(await feeds.prune('access', 10)).toBe(0);
    await run(`UPDATE ${FEED_TABLES.access} SET changed_at = now() - interval '11 minutes'`);
    expect(await feeds.prune('access', 1)).toBe(1);
    while ((await feeds.prune('access', 1_000)) > 0);
    expect(await feeds.changesSince('access', before)).toMatchObject({ since: null });
    expect(await feeds.changesSince('access', position)).toEqual({ since: position, position, subjects: [] });
    expect(await database.rows({ sql: `SELECT revision::integer FROM ${FEED_TABLES.access}` })).toEqual([
      { revision: position.revision },
    ]);
  });

  it('knows the last position of a quiet time for ten minutes after the change that ends it', async () => {
    const { hash } = await newKey();
    await run(`UPDATE api_keys SET name = 'before' WHERE hash = $1`, [hash]);
    const quiet = await now('access');
    await run(`UPDATE ${FEED_TABLES.access} SET changed_at = now() - interval '1 day'`);
    await run(`UPDATE api_keys SET name = 'after' WHERE hash = $1`, [hash]);
    while ((await feeds.prune('access', 1_000)) > 0);
    expect(await feeds.changesSince('access', quiet)).toMatchObject({ since: quiet, subjects: [hash] });
    await run(`UPDATE ${FEED_TABLES.access} SET changed_at = now() - interval '11 minutes' WHERE revision > $1`, [
      String(quiet.revision),
    ]);
    expect(await feeds.prune('access', 1_000)).toBe(1);
    expect(await feeds.changesSince('access', quiet)).toMatchObject({ since: null });
  });
});

/** Columns that processes which follow the feeds are not shown; the migration has the same lists. */
const NOT_SHOWN: Readonly<Record<string, { feed: FeedName; columns: readonly string[] }>> = {
  api_keys: { feed: 'access', columns: ['label', 'created_at', 'updated_at'] },
  workspaces: {
    feed: 'access',
    columns: ['name', 'slug', 'is_default', 'description', 'created_at', 'updated_at'],
  },
  workspace_budgets: { feed: 'access', columns: ['id', 'created_at', 'updated_at'] },
  credentials: {
    feed: 'credentials',
    columns: ['name', 'label', 'key_encryption_key_id', 'wrapped_data_key', 'created_at', 'updated_at'],
  },
};

/** Another value for any column, by the name of its type. */
const OTHER: Readonly<Record<string, string>> = {
  uuid: 'gen_random_uuid()',
  text: `'europe'`,
  bpchar: `repeat('e', 64)`,
  numeric: '77',
  int4: '77',
  int2: '77',
  bool: 'NOT coalesce(COLUMN, false)',
  timestamptz: `coalesce(COLUMN, now()) + interval '1 day'`,
  jsonb: `'{"changed": true}'`,
  bytea: `'\\x77'`,
  _text: `ARRAY['changed']`,
};

describe('the triggers of the feeds', () => {
  it.each(Object.keys(NOT_SHOWN))('watch every column of %s that a process is shown', async (table) => {
    const { feed, columns: notShown } = NOT_SHOWN[table]!;
    const tenant = await storePropertiedTenant(database, -Math.ceil(Math.random() * 1_000_000));
    const row = tenant.rows.get(table)!;
    const columns = await database.rows<{ name: string; type: string }>({
      sql: `SELECT attname AS name, typname AS type FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
            WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
      values: [table],
    });
    const watched: string[] = [];
    for (const { name, type } of columns) {
      const since = await now(feed);
      const value = (OTHER[type] ?? 'unknown type').replaceAll('COLUMN', name);
      await database.transaction(async (session) => {
        // The rules of the table are not what is tested; its triggers are.
        await session.execute({ sql: `CREATE TEMP TABLE bare (LIKE ${table} INCLUDING DEFAULTS) ON COMMIT DROP` });
        await session.execute({ sql: 'ALTER TABLE bare ALTER COLUMN ' + name + ' DROP NOT NULL' });
        await copyTriggers(session, table);
        await session.execute({
          sql: `INSERT INTO bare SELECT * FROM jsonb_populate_record(NULL::${table}, $1)`,
          values: [row],
        });
        await session.execute({ sql: `SET CONSTRAINTS ALL IMMEDIATE` });
        const ofLater = `FROM ${FEED_TABLES[feed]} WHERE revision > $1`;
        await session.execute({ sql: `DELETE ${ofLater}`, values: [since.revision] });
        await session.execute({ sql: `UPDATE bare SET ${name} = ${value}` });
        const entry = await session.firstRow({ sql: `SELECT ${ofLater}`, values: [since.revision] });
        if (entry !== null) watched.push(name);
      });
    }
    const expected = columns.map(({ name }) => name).filter((name) => !notShown.includes(name));
    expect(watched.toSorted()).toEqual(expected.toSorted());
  });

  it.each([
    ['workspace_budgets', 'access', true],
    ['credentials', 'credentials', true],
    ['api_keys', 'access', false],
    ['workspaces', 'access', false],
  ] as const)('note a new row of %s in %s: %s', async (table, feed, isNoted) => {
    const since = await now(feed);
    const { workspaceId } = await storePropertiedTenant(database, -Math.ceil(Math.random() * 1_000_000));
    const { subjects } = await feeds.changesSince(feed, since);
    // The tenant of the fixture has a budget and a credential, so its workspace is named in both feeds.
    if (isNoted) expect(subjects).toEqual([workspaceId]);
    else expect(subjects.filter((subject) => subject !== workspaceId)).toEqual([]);
    const before = await now(feed);
    if (table === 'workspaces' || table === 'api_keys') return;
    await run(`DELETE FROM ${table} WHERE workspace_id = $1`, [workspaceId]);
    expect((await feeds.changesSince(feed, before)).subjects).toEqual([workspaceId]);
  });
});

/** Gives the table `bare` the triggers of another. */
async function copyTriggers(session: Session, table: string): Promise<void> {
  const triggers = await session.rows<{ sql: string }>({
    sql: `SELECT pg_get_triggerdef(oid) AS sql FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal`,
    values: [table],
  });
  expect(triggers.length).toBeGreaterThan(1);
  for (const { sql } of triggers) await session.execute({ sql: sql.replace(` ON public.${table} `, ' ON bare ') });
}
