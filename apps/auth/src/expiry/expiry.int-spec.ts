import { randomBytes, randomUUID } from 'node:crypto';
import { AuditRepository, SingleRunner, type Database } from '@libs/persistence';
import { openTestDatabase, type OpenTestDatabase } from '@libs/persistence/testing';
import { EXPIRING_TABLES, ExpiredRowsRepository } from './expired-rows.repository';
import { ExpiryService } from './expiry.service';

const hash = (): string => randomBytes(32).toString('hex');

describe(ExpiryService.name, () => {
  let opened: OpenTestDatabase;
  let database: Database;
  let service: ExpiryService;

  beforeAll(async () => {
    opened = await openTestDatabase();
    database = opened.database;
    service = new ExpiryService(
      new ExpiredRowsRepository(database),
      new AuditRepository(database),
      100,
      new SingleRunner(database),
    );
    const ids = [randomUUID(), randomUUID(), randomUUID()] as const;
    const key = hash();
    const run = (sql: string, values: readonly (string | number)[]): Promise<number> =>
      database.execute({ sql, values });
    await run(`INSERT INTO organizations (id, name) VALUES ($1, 'a')`, [ids[0]]);
    await run(`INSERT INTO workspaces (id, organization_id, name, slug) VALUES ($1, $2, 'a', 'a')`, [ids[1], ids[0]]);
    await run(
      `INSERT INTO api_keys (id, organization_id, kind, hash, label, name) VALUES ($1, $2, 'management', $3, 'l', 'n')`,
      [ids[2], ids[0], key],
    );
    for (const [age, at] of [
      ['old', `now() - interval '2 days'`],
      ['new', `now() + interval '1 minute'`],
    ] as const) {
      await run(
        `INSERT INTO authorization_codes (code_hash, organization_id, workspace_id, key_name, expires_at)
         SELECT encode(sha256(($3 || i)::bytea), 'hex'), $1, $2, $3, ${at} FROM generate_series(1, 3) i`,
        [ids[0], ids[1], age],
      );
      await run(
        `INSERT INTO consent_sessions (session_hash, key_hash, expires_at)
         SELECT encode(sha256(($2 || i)::bytea), 'hex'), $1, ${at} FROM generate_series(1, 3) i`,
        [key, age],
      );
      await run(
        `INSERT INTO used_token_ids (hash, expires_at)
         SELECT encode(sha256(($1 || i)::bytea), 'hex'), ${at} FROM generate_series(1, 2500) i`,
        [age],
      );
    }
    for (const days of [200, 101, 99, 0]) {
      await run(
        `INSERT INTO audit_entries (at, organization_id, key_id, action, request_id)
         SELECT now() - make_interval(days => $2), $1, $1, 'GET /', 'r' FROM generate_series(1, 1200)`,
        [ids[0], days],
      );
    }
  }, 60_000);

  afterAll(() => opened?.close());

  const count = async (table: string, where = 'true'): Promise<number> => {
    const sql = `SELECT count(*)::integer AS count FROM ${table} WHERE ${where}`;
    return (await database.firstRow<{ count: number }>({ sql }))!.count;
  };

  it('takes away what has had its time, all of it and nothing else, whoever else does it at the same moment', async () => {
    const other = new ExpiryService(
      new ExpiredRowsRepository(database),
      new AuditRepository(database),
      100,
      new SingleRunner(database),
    );
    await Promise.all([service.pass(), other.pass()]);
    const left = [];
    for (const table of EXPIRING_TABLES) {
      left.push([table, await count(table, 'expires_at < now()'), await count(table, 'expires_at > now()')]);
    }
    expect(left).toEqual([
      ['authorization_codes', 0, 3],
      ['consent_sessions', 0, 3],
      ['used_token_ids', 0, 2_500],
    ]);
    expect([await count('audit_entries', `at < now() - interval '100 days'`), await count('audit_entries')]).toEqual([
      0, 2_400,
    ]);
  });

  it('keeps a code that was used for a day, to know it when it comes again', async () => {
    await database.execute({ sql: `UPDATE authorization_codes SET expires_at = now() - interval '23 hours'` });
    await database.execute({ sql: 'TRUNCATE task_runs' });
    await service.pass();
    expect(await count('authorization_codes')).toBe(3);
  });

  it('deletes the rows beside one that cannot be deleted', async () => {
    await database.execute({
      sql: `INSERT INTO used_token_ids (hash, expires_at)
            SELECT encode(sha256(('stuck' || i)::bytea), 'hex'), now() - interval '1 day' FROM generate_series(1, 20) i`,
    });
    await database.execute({
      sql: `CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN IF OLD.hash = encode(sha256('stuck7'), 'hex') THEN RAISE EXCEPTION 'poison'; END IF;
            RETURN OLD; END $$`,
    });
    await database.execute({
      sql: 'CREATE TRIGGER poison BEFORE DELETE ON used_token_ids FOR EACH ROW EXECUTE FUNCTION poison()',
    });
    await database.execute({ sql: 'TRUNCATE task_runs' });
    await service.pass();
    expect(await count('used_token_ids', 'expires_at < now()')).toBe(1);
  });

  it('cannot be made to forget what is younger than ninety days', async () => {
    await database.execute({
      sql: `INSERT INTO audit_entries (at, organization_id, key_id, action, request_id)
            VALUES (now() - interval '89 days', gen_random_uuid(), gen_random_uuid(), 'GET /', 'r')`,
    });
    await expect(new AuditRepository(database).deleteOlderThan(30, 10_000)).rejects.toThrow('kept as they are');
    expect(await count('audit_entries')).toBe(2_401);
  });
});
