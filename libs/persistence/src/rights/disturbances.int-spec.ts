import { randomUUID } from 'node:crypto';
import { AdvanceBatch, AdvanceVideo, APP_NAMES, DeliverWebhook, type AppName } from '@libs/contracts';
import { createDataSource } from '../data-source';
import { Database, sqlStateOf } from '../database';
import { GenerationsRepository } from '../generations/generations.repository';
import { LedgerRepository } from '../ledger/ledger.repository';
import { migrate } from '../migrate';
import { OutboxRepository } from '../outbox/outbox.repository';
import { PARTITIONED_TABLES } from '../partitions.repository';
import { SingleRunner } from '../single-runner';
import { anOpening, AppDatabases, aSettlement, storeBatch, storeVideo, TEST_LOGINS } from '../testing';
import { tenantRoleOf } from './app-roles';
import { POOL_SIZES } from './connections';

const NOT_ALLOWED = '42501';
const SENDERS = ['gateway', 'batch-worker', 'video-worker'] as const;
const OTHERS = ['credentials', 'auth'] as const;

let created: AppDatabases;
let owner: Database;
let logins: Readonly<Record<AppName, Database>>;

beforeAll(async () => {
  created = await AppDatabases.create();
  owner = await created.connect();
  logins = await created.connectApps();
}, 60_000);

afterAll(() => created?.close());

/** Runs statements in a transaction and rolls back. Returns the rows that the last one touched, or why it is refused. */
async function tried(app: AppName, ...statements: string[]): Promise<number | string> {
  const undone = new Error('undone');
  let touched = 0;
  return logins[app]
    .transaction(async (session) => {
      for (const sql of statements) touched = await session.execute({ sql });
      throw undone;
    })
    .catch((error: unknown) => (error === undone ? touched : (sqlStateOf(error) ?? String(error))));
}

/** SQL of the Monday so many weeks after that of this week. */
const mondayIn = (weeks: number): string => `date_trunc('week', now() AT TIME ZONE 'UTC')::date + ${weeks * 7}`;

/** Runs a statement and returns the tables that cannot be read until its transaction ends, also if it was refused. */
async function lockedBy(app: AppName, sql: string): Promise<string[]> {
  const undone = new Error('undone');
  let locked: string[] = [];
  await logins[app]
    .transaction(async (session) => {
      await session.client.query('SAVEPOINT before');
      await session.client.query(sql).catch(() => session.client.query('ROLLBACK TO before'));
      const tables = await session.rows<{ name: string }>({
        sql: `SELECT DISTINCT relname::text AS name FROM pg_locks JOIN pg_class c ON c.oid = relation
              WHERE pid = pg_backend_pid() AND mode = 'AccessExclusiveLock' AND relkind IN ('r', 'p') ORDER BY 1`,
      });
      locked = tables.map(({ name }) => name);
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  return locked;
}

const count = async (sql: string): Promise<number> =>
  (await owner.firstRow<{ n: number }>({ sql: `SELECT count(*)::integer AS n FROM ${sql}` }))!.n;

describe('an app that disturbs others', () => {
  // UPDATE or DELETE on a whole table permits it; on columns it does not.
  it.each([
    [
      'gateway',
      'batch_lines batch_results batch_segments batches delayed_charges generation_contents idempotency_keys outbox',
    ],
    ['batch-worker', 'batch_lines batch_segments batch_workers batches native_batches outbox'],
    ['video-worker', 'outbox'],
    ['credentials', 'credentials credentials_feed_entries webhook_secrets'],
    [
      'auth',
      'access_feed_entries api_keys audit_entries authorization_codes consent_sessions federation_policies identity_issuers ledger_audit_totals ledger_audits oauth_apps used_token_ids workspace_budgets workspace_members workspaces',
    ],
  ] as const)('locks, in the place of %s, these tables against readers', async (app, names) => {
    const tables = await owner.rows<{ name: string }>({
      sql: `SELECT relname AS name FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1`,
    });
    const roles = ['NONE', tenantRoleOf(app)].filter((role) => role !== null);
    const locked: string[] = [];
    for (const { name } of tables) {
      const lock = `LOCK TABLE ONLY ${name} IN ACCESS EXCLUSIVE MODE`;
      const answers = await Promise.all(roles.map((role) => tried(app, `SET LOCAL ROLE ${role}`, lock)));
      if (answers.some((answer) => answer !== NOT_ALLOWED)) locked.push(name);
    }
    expect(locked.join(' ')).toBe(names);
  });

  it('locks, by the functions of the owner, only what needs upkeep, and calls go on', async () => {
    const functions = await owner.rows<{ app: string; name: string }>({
      sql: `SELECT app, p.oid::regprocedure::text AS name FROM pg_proc p, unnest($1::text[]) app
            WHERE p.prosecdef AND p.pronamespace = 'public'::regnamespace
              AND has_function_privilege('sluice_' || replace(app, '-', '_'), p.oid, 'EXECUTE') ORDER BY 1, 2`,
      values: [APP_NAMES],
    });
    expect(functions.map(({ app, name }) => `${app} ${name}`)).toEqual([
      'batch-worker adopt_default_partition(text,text,date,date)',
      'batch-worker drop_expired_partition(text,text)',
      'batch-worker make_partition(text,date)',
      'video-worker purge_webhook_deliveries(integer)',
    ]);
    expect(await lockedBy('video-worker', 'SELECT purge_webhook_deliveries(1)')).toEqual([]);
    // All that is planned is there: nothing can be locked.
    for (const table of PARTITIONED_TABLES) {
      for (const weeks of [0, 4, 5]) {
        expect(await lockedBy('batch-worker', `SELECT make_partition('${table}', ${mondayIn(weeks)})`)).toEqual([]);
      }
      for (const step of ['check', 'validate', 'exchange', 'forget']) {
        const adopt = `SELECT adopt_default_partition('${table}', '${step}', ${mondayIn(0)}, ${mondayIn(1)})`;
        expect([step, await lockedBy('batch-worker', adopt)]).toEqual([step, []]);
      }
      for (const name of ['default', 'none']) {
        const drop = `SELECT drop_expired_partition('${table}', '${table}_${name}')`;
        expect(await lockedBy('batch-worker', drop)).toEqual([]);
      }
    }
    // A week is missing, as each Monday until the upkeep has run.
    const last = await owner.firstRow<{ name: string }>({
      sql: `SELECT 'generations_' || to_char(${mondayIn(4)}, 'IYYY"w"IW') AS name`,
    });
    await owner.execute({ sql: `DROP TABLE ${last!.name}` });
    const make = `SELECT make_partition('generations', ${mondayIn(4)})`;
    expect(await lockedBy('batch-worker', make)).toEqual([last!.name, 'generations_default']);
    const opening = anOpening();
    await new LedgerRepository(owner).topUp(opening.organizationId, '10', randomUUID());
    const calls = new GenerationsRepository(logins.gateway);
    await logins['batch-worker'].transaction(async (session) => {
      await session.client.query(make);
      expect(await calls.open([opening])).toEqual([expect.not.objectContaining({ refusedBy: expect.anything() })]);
      expect(await calls.settle([aSettlement(opening, '0.5')])).toBe(1);
      const read = `SELECT 1 FROM generations WHERE id = '${opening.id}'`;
      expect(await tried('gateway', `SET LOCAL lock_timeout = '100ms'`, read)).toContain('unavailable');
    });
    // It holds too much, as after a month without upkeep.
    await owner.execute({
      sql: `INSERT INTO generations (id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed, state, hold_usd)
            SELECT gen_random_uuid(), ${mondayIn(-1)}, organization_id, workspace_id, api_key_hash, api, model, false, 'open', 0
            FROM generations, generate_series(1, 20001) WHERE id = '${opening.id}'`,
    });
    const week = `${mondayIn(-1)}, ${mondayIn(0)}`;
    for (const step of ['check', 'validate']) {
      await logins['batch-worker'].execute({
        sql: `SELECT adopt_default_partition('generations', '${step}', ${week})`,
      });
    }
    const exchange = `SELECT adopt_default_partition('generations', 'exchange', ${week})`;
    expect(await lockedBy('batch-worker', exchange)).toContain('generations');
    await owner.execute({ sql: `SELECT adopt_default_partition('generations', 'forget', NULL, NULL)` });
    await owner.execute({ sql: 'DELETE FROM generations_default' });
  });

  it('sees, delays, deletes and adds only messages in the outbox that it sends itself', async () => {
    const sent: Readonly<Record<(typeof SENDERS)[number], readonly string[]>> = {
      gateway: [AdvanceBatch.name, AdvanceVideo.name],
      'batch-worker': [DeliverWebhook.name],
      'video-worker': [DeliverWebhook.name],
    };
    const all = [AdvanceBatch.name, AdvanceVideo.name, DeliverWebhook.name];
    await owner.execute({ sql: 'DELETE FROM outbox' });
    for (const name of all) {
      await owner.execute({ sql: `INSERT INTO outbox (contract, payload) VALUES ('${name}', '{}')` });
    }
    for (const app of SENDERS) {
      const own = sent[app].length;
      expect([app, await tried(app, 'DELETE FROM outbox')]).toEqual([app, own]);
      expect([app, await tried(app, `UPDATE outbox SET available_at = 'infinity'`)]).toEqual([app, own]);
      expect((await logins[app].rows({ sql: 'SELECT contract FROM outbox' })).length).toBe(own);
      for (const name of all) {
        const add = `INSERT INTO outbox (contract, payload) VALUES ('${name}', '{}')`;
        const answer = await tried(app, add);
        expect([app, name, answer]).toEqual([app, name, sent[app].includes(name) ? 1 : NOT_ALLOWED]);
      }
    }
    const asTenant = `SET LOCAL ROLE ${tenantRoleOf('gateway')}`;
    const add = `INSERT INTO outbox (contract, payload) VALUES ('${DeliverWebhook.name}', '{}')`;
    expect(await tried('gateway', asTenant, add)).toBe(NOT_ALLOWED);
    for (const app of OTHERS) {
      for (const sql of ['SELECT 1 FROM outbox', 'DELETE FROM outbox', add]) {
        expect([app, sql, await tried(app, sql)]).toEqual([app, sql, NOT_ALLOWED]);
      }
    }
    // Each relays what it sends, whichever app or command wrote it.
    const claimed = await new OutboxRepository(logins['video-worker']).claim(10, 1_000);
    expect(claimed.map(({ contract }) => contract)).toEqual([DeliverWebhook.name]);
  });

  it('does not keep tasks of other apps from running by what it notes of them', async () => {
    const runner = new SingleRunner(logins.auth);
    const hourly = { everyMs: 3_600_000 };
    const run = (): Promise<boolean> => runner.run('ledger.audit', hourly, async () => undefined);
    for (const app of [...SENDERS, 'credentials'] as const) {
      const note = `INSERT INTO task_runs (task, ended_at) VALUES ('ledger.audit', now())`;
      expect([app, await tried(app, note)]).toEqual([app, NOT_ALLOWED]);
    }
    expect([await run(), await run()]).toEqual([true, false]);
    await owner.execute({ sql: `UPDATE task_runs SET ended_at = now() - interval '2 hours'` });
    for (const app of SENDERS) {
      await logins[app].execute({ sql: 'UPDATE task_runs SET ended_at = clock_timestamp()' });
      expect(await tried(app, 'DELETE FROM task_runs')).toBe(NOT_ALLOWED);
    }
    expect([await run(), await run()]).toEqual([true, false]);
  });

  it('keeps tasks of other apps from running while it holds their advisory lock', async () => {
    const ran = await logins['video-worker'].transaction(async (session) => {
      await session.client.query(`SELECT pg_advisory_xact_lock(hashtextextended('sluice task ledger.audit', 0))`);
      return new SingleRunner(logins.auth).run('ledger.audit', { everyMs: 0 }, async () => undefined);
    });
    expect(ran).toBe(false);
  });

  it('fails loudly when it runs a task that is not declared as its own', async () => {
    const run = new SingleRunner(logins.auth).run('videos.remove', { everyMs: 0 }, async () => undefined);
    await expect(run).rejects.toThrow('row-level security');
  });

  it.each([
    ['gateway', ['generations.abandon', 'generations.purge-contents', 'idempotency-keys.purge']],
    ['batch-worker', ['batches.expire', 'batch-workers.forget', 'native-orders.forget', 'partitions.keep']],
    ['video-worker', ['videos.remove-outputs', 'webhooks.purge']],
    ['auth', ['expired-rows.delete', 'ledger.audit']],
  ] as const)('%s notes the ends of its own tasks', async (app, tasks) => {
    const runner = new SingleRunner(logins[app]);
    await owner.execute({ sql: 'DELETE FROM task_runs' });
    for (const task of tasks) {
      expect(await runner.run(task, { everyMs: 60_000 }, async () => undefined)).toBe(true);
      expect(await runner.run(task, { everyMs: 60_000 }, async () => undefined)).toBe(false);
    }
    expect(await count('task_runs')).toBe(tasks.length);
  });

  it('changes open holds of its own kind of job alone, and their amount only in the place of the batch worker', async () => {
    const batch = await storeBatch(owner, 1);
    const over = await storeBatch(owner, 1);
    const video = await storeVideo(owner, {});
    await owner.execute({
      sql: `UPDATE ledger_holds SET state = 'resolved', resolved_at = now() WHERE id = $1`,
      values: [over.id],
    });
    expect(await count(`ledger_holds WHERE id IN ('${batch.id}', '${video.id}')`)).toBe(2);
    const change = (column: string): string => `UPDATE ledger_holds SET ${column} = ${column}`;
    const open = (like: string): Promise<number> => count(`ledger_holds WHERE state = 'open' AND id LIKE '${like}'`);
    const changes = async (column: string): Promise<unknown[]> => [
      await tried('gateway', change(column)),
      await tried('batch-worker', change(column)),
      await tried('video-worker', change(column)),
    ];
    const [batches, videos] = [await open('batch-%'), await open('gen-vid-%')];
    expect(await changes('amount_usd')).toEqual([NOT_ALLOWED, batches, NOT_ALLOWED]);
    expect(await changes('settled_usd')).toEqual([NOT_ALLOWED, batches, videos]);
    expect(await tried('batch-worker', `SELECT 1 FROM ledger_holds WHERE id = '${over.id}' FOR UPDATE`)).toBe(0);
    for (const app of APP_NAMES) expect(await tried(app, change('account_id'))).toBe(NOT_ALLOWED);
    for (const app of OTHERS) expect(await tried(app, change('amount_usd'))).toBe(NOT_ALLOWED);
    expect(await tried('batch-worker', change('id'))).toBe(NOT_ALLOWED);
  });

  it('changes no credits that were bought and no key or workspace that money is counted for', async () => {
    for (const app of SENDERS) {
      for (const sql of [
        'UPDATE ledger_accounts SET credited_usd = 5',
        `INSERT INTO ledger_accounts (id, credited_usd) VALUES ('org:x', 5)`,
        `UPDATE ledger_keys SET api_key_hash = repeat('d', 64)`,
        'UPDATE ledger_workspaces SET organization_id = gen_random_uuid()',
        'UPDATE generations SET organization_id = gen_random_uuid()',
      ]) {
        expect([app, sql, await tried(app, sql)]).toEqual([app, sql, NOT_ALLOWED]);
      }
    }
  });

  it('keeps charges waiting while it holds the row of an account, if it charges at all', async () => {
    const { organizationId } = await storeVideo(owner, {});
    const account = `FROM ledger_accounts WHERE id = 'org:${organizationId}' FOR UPDATE`;
    const outcomes = await Promise.all(
      APP_NAMES.map(async (app) => [app, await tried(app, `SELECT 1 ${account}`)] as const),
    );
    const mayLock = outcomes.filter(([, answer]) => answer !== NOT_ALLOWED).map(([app]) => app);
    expect(mayLock).toEqual(SENDERS);
    const waiting = await logins['video-worker'].transaction(async (session) => {
      await session.client.query(`SELECT 1 ${account}`);
      return tried('gateway', `SET LOCAL lock_timeout = '50ms'`, `SELECT 1 ${account}`);
    });
    expect(waiting).toContain('unavailable');
  });

  it('makes no large objects', async () => {
    for (const app of APP_NAMES) {
      for (const sql of ['SELECT lo_creat(-1)', 'SELECT lo_create(0)', `SELECT lo_from_bytea(0, '')`]) {
        expect([app, sql, await tried(app, sql)]).toEqual([app, sql, NOT_ALLOWED]);
      }
    }
  });
});

describe('the connections of a login', () => {
  const limitOf = async (login: string): Promise<number> =>
    (await owner.firstRow<{ limit: number }>({
      sql: 'SELECT rolconnlimit AS limit FROM pg_roles WHERE rolname = $1',
      values: [login],
    }))!.limit;

  it('are limited when it is made, then to what is set, and beyond that PostgreSQL refuses', async () => {
    const login = `sluice_login_${randomUUID().slice(0, 8)}`;
    const made = { app: 'video-worker', login, password: 'two-words' } as const;
    const url = new URL(created.url);
    [url.username, url.password] = [login, 'two-words'];
    try {
      await migrate(created.url, [...TEST_LOGINS, made]);
      expect(await limitOf(login)).toBe(3 * POOL_SIZES['video-worker']);
      await migrate(created.url, [{ ...made, connections: 2 }]);
      expect(await limitOf(login)).toBe(2);
      const source = await createDataSource({ url: url.href, poolSize: 3 }).initialize();
      // One after another: of two logins at once PostgreSQL may refuse both, as each counts the other.
      const runners = [1, 2, 3].map(() => source.createQueryRunner());
      for (const runner of runners.slice(0, 2)) await runner.connect();
      await expect(runners[2]!.connect()).rejects.toThrow('too many connections for role');
      for (const runner of runners) await runner.release();
      await source.destroy();
      // What a database administrator set stays where nothing is said.
      await migrate(created.url, [made]);
      expect(await limitOf(login)).toBe(2);
    } finally {
      await owner.execute({ sql: `DROP OWNED BY ${login}` });
      await owner.execute({ sql: `DROP ROLE ${login}` });
    }
  });
});
