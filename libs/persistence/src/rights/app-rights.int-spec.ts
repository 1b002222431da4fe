import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { APP_NAMES, type AppName, type FeedName } from '@libs/contracts';
import { createDataSource } from '../data-source';
import { Database, sqlStateOf } from '../database';
import { FEED_TABLES } from '../feeds/feed-tables';
import { LedgerAuditRepository } from '../ledger-audit/ledger-audit.repository';
import { LedgerRepository } from '../ledger/ledger.repository';
import { migrate } from '../migrate';
import { PARTITIONED_TABLES, PartitionsRepository } from '../partitions.repository';
import { AppDatabases, createTestDatabase, storeBatch, storeVideo, TEST_LOGINS } from '../testing';
import { BATCH_RETENTION_DAYS } from '../batches/batch-views.repository';
import { OutboxRepository } from '../outbox/outbox.repository';
import { WebhookDeliveriesRepository } from '../webhooks/webhook-deliveries.repository';
import { APP_ROLES, appRole, TENANT_ROLES, tenantRoleOf } from './app-roles';

const NOT_ALLOWED = '42501';
const NOT_PLANNED = '22023';
const WORKERS = ['batch-worker', 'video-worker'] as const;
const HASH = 'c'.repeat(64);

let created: AppDatabases;
let owner: Database;
let logins: Readonly<Record<AppName, Database>>;

beforeAll(async () => {
  created = await AppDatabases.create();
  owner = await created.connect();
  logins = await created.connectApps();
}, 60_000);

afterAll(() => created?.close());

/** Returns the SQLSTATE with which PostgreSQL refuses a statement, or null. Rolls back. */
async function refusalOf(database: Database, ...statements: string[]): Promise<string | null> {
  const undone = new Error('undone');
  return database
    .transaction(async (session) => {
      for (const sql of statements) await session.client.query(sql);
      await session.client.query('SET CONSTRAINTS ALL IMMEDIATE');
      throw undone;
    })
    .catch((error: unknown) => (error === undone ? null : (sqlStateOf(error) ?? String(error))));
}

/** The login itself, and each role that it can switch to. */
async function refusalsOf(app: AppName, sql: string): Promise<string[]> {
  const roles = ['NONE', appRole(app), tenantRoleOf(app)].filter((role) => role !== null);
  const tried = roles.map((role) => refusalOf(logins[app], `SET LOCAL ROLE ${role}`, sql));
  return (await Promise.all(tried)).map(String);
}

const expectRefused = async (app: AppName, sql: string): Promise<void> =>
  expect([sql, new Set(await refusalsOf(app, sql))]).toEqual([sql, new Set([NOT_ALLOWED])]);

const KEYS = [
  `INSERT INTO api_keys (hash, id, organization_id, kind, name, label) VALUES ('${HASH}', gen_random_uuid(), gen_random_uuid(), 'management', 'n', 'l')`,
  `UPDATE api_keys SET kind = 'management', workspace_id = NULL`,
  `UPDATE api_keys SET disabled = false`,
  `DELETE FROM api_keys`,
  `UPDATE workspaces SET policy = NULL`,
  `INSERT INTO workspace_members (workspace_id, organization_id, user_id, id) VALUES (gen_random_uuid(), gen_random_uuid(), 'u', gen_random_uuid())`,
  `DELETE FROM workspace_budgets`,
  `INSERT INTO organizations (id, name) VALUES (gen_random_uuid(), 'n')`,
  `UPDATE federation_policies SET enabled = true`,
  `INSERT INTO consent_sessions (session_hash, key_hash, expires_at) VALUES ('${HASH}', '${HASH}', now())`,
  `UPDATE authorization_codes SET used_at = NULL`,
];

const CREDENTIALS = [
  'SELECT sealed_key FROM credentials',
  'SELECT wrapped_data_key FROM webhook_secrets',
  'SELECT wrapped_seed FROM intake_seeds',
  'UPDATE credentials SET disabled = false',
  'DELETE FROM webhook_secrets',
];

const CREDITS = [
  `INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd) VALUES ('r', 'top_up', 'funding', 'org:x', 5)`,
  'UPDATE ledger_transfers SET amount_usd = 1',
  'DELETE FROM ledger_transfers',
  'DELETE FROM ledger_holds',
  'UPDATE ledger_audits SET drift_picousd = 0',
];

/** What hides a change of a feed, or keeps its owner from answering. */
const entriesOf = (feed: FeedName): string[] => [
  `DELETE FROM ${FEED_TABLES[feed]}`,
  `UPDATE ${FEED_TABLES[feed]} SET revision = 0`,
  `INSERT INTO ${FEED_TABLES[feed]} (revision, subject, mark) VALUES (1, 's', gen_random_uuid())`,
  `LOCK TABLE ${FEED_TABLES[feed]} IN ACCESS EXCLUSIVE MODE`,
  `SELECT 1 FROM ${FEED_TABLES[feed]} FOR KEY SHARE`,
  'LOCK TABLE change_feed_entries IN ACCESS EXCLUSIVE MODE',
  'SELECT 1 FROM change_feeds FOR KEY SHARE',
  'UPDATE change_feeds SET revision = 0',
];

/** Statements that only the owner of the database may run. */
const SCHEMA = [
  'ALTER TABLE api_keys DISABLE TRIGGER ALL',
  'ALTER TABLE batches DISABLE ROW LEVEL SECURITY',
  'DROP POLICY api_keys_of_tenant ON api_keys',
  `CREATE OR REPLACE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
  `CREATE FUNCTION mine() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
  'ALTER FUNCTION keep_over() SET search_path = pg_temp',
  'CREATE TABLE mine (id integer)',
  'CREATE TEMPORARY TABLE change_feeds (feed text)',
  'DROP TABLE batch_lines_default',
  'TRUNCATE batches',
  'CREATE ROLE mine',
  'SELECT rolpassword FROM pg_authid',
  'SELECT 1 FROM migrations',
  `COPY (SELECT 1) TO PROGRAM 'true'`,
];

const FORBIDDEN: Readonly<Record<AppName, readonly string[]>> = {
  gateway: [
    ...KEYS,
    ...CREDENTIALS,
    ...CREDITS,
    'SELECT secret_hash FROM api_keys',
    'UPDATE native_batches SET fence = 1',
  ],
  'batch-worker': [
    ...KEYS,
    ...CREDENTIALS,
    ...CREDITS,
    'SELECT secret_hash FROM api_keys',
    `INSERT INTO batches (id, created_on, organization_id, workspace_id, api_key_hash, endpoint, model, status, expires_at)
     VALUES ('b', now(), gen_random_uuid(), gen_random_uuid(), '${HASH}', '', '', 'validating', now())`,
    'UPDATE batches SET workspace_id = gen_random_uuid()',
    `UPDATE batches SET api_key_hash = '${HASH}'`,
    'UPDATE batches SET upstream_requested_at = now()',
    'UPDATE native_batches SET workspace_id = gen_random_uuid()',
    'UPDATE webhook_deliveries SET delivered_at = NULL',
    'SELECT request FROM videos',
    'INSERT INTO videos (id) VALUES (1)',
    `INSERT INTO generations (id, created_on) VALUES ('g', now())`,
    'DELETE FROM audit_entries',
  ],
  'video-worker': [
    ...KEYS,
    ...CREDENTIALS,
    ...CREDITS,
    'SELECT secret_hash FROM api_keys',
    `INSERT INTO videos (id) VALUES ('v')`,
    'UPDATE videos SET workspace_id = gen_random_uuid()',
    'UPDATE videos SET credential_id = gen_random_uuid()',
    'UPDATE webhook_deliveries SET workspace_id = gen_random_uuid()',
    'SELECT body FROM batch_lines',
    'SELECT 1 FROM batches',
    'SELECT 1 FROM native_batches',
    'SELECT 1 FROM generations',
    'SELECT input FROM generation_contents',
    `SELECT make_partition('batch_lines', '2031-01-06')`,
  ],
  credentials: [
    ...KEYS,
    ...CREDITS,
    'SELECT 1 FROM api_keys',
    'UPDATE batches SET finalized_at = NULL',
    'UPDATE videos SET finished_at = NULL',
    'SELECT request FROM videos',
    'SELECT body FROM batch_lines',
    'SELECT payload FROM webhook_deliveries',
    'SELECT input FROM generation_contents',
    'UPDATE ledger_accounts SET balance_usd = 5',
    `INSERT INTO outbox (contract, payload) VALUES ('c', '{}')`,
    ...entriesOf('access'),
  ],
  auth: [
    ...CREDENTIALS,
    ...entriesOf('credentials'),
    ...CREDITS.filter((sql) => !sql.includes('ledger_audits')),
    'UPDATE ledger_accounts SET balance_usd = 5',
    'UPDATE audit_entries SET status = 200',
    'SELECT request FROM videos',
    'SELECT body FROM batch_lines',
    'SELECT body FROM batch_results',
    'SELECT input FROM generation_contents',
    'UPDATE batches SET finalized_at = NULL',
  ],
};

describe.each(APP_NAMES)('the login of %s', (app) => {
  it('does none of what other apps do', async () => {
    for (const sql of FORBIDDEN[app]) await expectRefused(app, sql);
  });

  it('changes no table, function, policy or partition, and makes nothing of its own', async () => {
    const refused = SCHEMA.filter((sql) => app !== 'auth' || !sql.includes('TEMPORARY'));
    for (const sql of refused) await expectRefused(app, sql);
    const partitions = await owner.rows<{ name: string }>({
      sql: `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'batch_lines'::regclass`,
    });
    expect(partitions.length).toBeGreaterThan(4);
    for (const { name } of partitions) {
      await expectRefused(app, `DROP TABLE ${name}`);
      await expectRefused(app, `SELECT drop_expired_partition('batch_lines', '${name}')`);
    }
  });

  it('acts as no other app and as no tenant of another', async () => {
    const foreign = [...APP_ROLES, ...TENANT_ROLES, 'sluice_tenant', 'postgres'].filter(
      (role) => role !== appRole(app) && role !== tenantRoleOf(app),
    );
    for (const role of foreign) {
      expect([role, await refusalOf(logins[app], `SET LOCAL ROLE ${role}`)]).toEqual([role, NOT_ALLOWED]);
      expect([role, await refusalOf(logins[app], `SET SESSION AUTHORIZATION ${role}`)]).toEqual([role, NOT_ALLOWED]);
    }
  });

  it('has its statements planned as the owner’s are', async () => {
    const table = {
      gateway: 'generations',
      credentials: 'credentials',
      auth: 'api_keys',
      'batch-worker': 'batches',
      'video-worker': 'videos',
    }[app];
    // These comparisons are not leakproof: with a policy's condition PostgreSQL would use no index for them.
    const sql = `EXPLAIN (COSTS OFF) SELECT organization_id FROM ${table} WHERE lower(organization_id::text) = 'x' AND created_at > now()`;
    expect(await logins[app].rows({ sql })).toEqual(await owner.rows({ sql }));
  });
});

describe('a worker', () => {
  it.each(WORKERS)('in the place of %s does not make a job again of one that is over', async (app) => {
    const batch = await storeBatch(owner, 1);
    const video = await storeVideo(owner, {});
    await owner.execute({
      sql: `UPDATE batches SET status = 'failed', finalized_at = now(), completed = 0, failed = 1, callback_url = 'https://a/b'`,
    });
    await owner.execute({ sql: `UPDATE videos SET status = 'failed', finished_at = now(), request = NULL` });
    const tries = {
      'batch-worker': [
        `UPDATE batches SET status = 'in_progress', finalized_at = NULL WHERE id = '${batch.id}'`,
        `UPDATE batches SET finalized_at = now() + interval '1 day' WHERE id = '${batch.id}'`,
        `UPDATE batches SET status = 'completed' WHERE id = '${batch.id}'`,
        `INSERT INTO native_batches (reference, batch_id, batch_number, created_on, part, first_segment, last_segment, first_seq, last_seq, endpoint, model, provider, upstream_model, organization_id, workspace_id, api_key_hash, finish_by)
         SELECT 'r', id, number, created_on, 1, 0, 0, 0, 0, endpoint, model, 'p', 'm', organization_id, workspace_id, api_key_hash, now() FROM batches WHERE id = '${batch.id}'`,
      ],
      'video-worker': [
        `UPDATE videos SET status = 'in_progress', finished_at = NULL WHERE id = '${video.id}'`,
        `UPDATE videos SET status = 'completed' WHERE id = '${video.id}'`,
        `INSERT INTO generations (id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed, state, hold_usd)
         SELECT id, created_at::date, gen_random_uuid(), workspace_id, api_key_hash, 'video', model, false, 'open', 0 FROM videos WHERE id = '${video.id}'`,
      ],
    }[app];
    const codes = await Promise.all(tries.map((sql) => refusalOf(logins[app], sql)));
    expect(codes.filter((code) => code !== NOT_ALLOWED)).toEqual([]);
    // No upload exists that it could delete.
    if (app === 'batch-worker') expect(await logins[app].execute({ sql: 'DELETE FROM batches' })).toBe(0);
  });

  it('owes a webhook for an end of its own jobs alone, and none a second time', async () => {
    const video = await storeVideo(owner, {});
    await owner.execute({
      sql: `UPDATE videos SET status = 'failed', finished_at = now(), request = NULL, callback_url = 'https://a/b' WHERE id = $1`,
      values: [video.id],
    });
    const owe = (id: string, workspace = 'workspace_id', url = 'callback_url'): string => `
      INSERT INTO webhook_deliveries (id, organization_id, workspace_id, url, host, type, payload)
      SELECT ${id}, organization_id, ${workspace}, ${url}, 'a', 't', '{}' FROM videos WHERE id = '${video.id}'`;
    const asWorker = (...sql: string[]): Promise<string | null> => refusalOf(logins['video-worker'], ...sql);
    expect(await asWorker(owe(`id || '-failed'`))).toBeNull();
    expect(await asWorker(owe(`id || '-completed'`))).toBe(NOT_ALLOWED);
    expect(await asWorker(owe(`id || '-failed'`, 'gen_random_uuid()'))).toBe(NOT_ALLOWED);
    expect(await asWorker(owe(`id || '-failed'`, 'workspace_id', `'https://other/'`))).toBe(NOT_ALLOWED);
    const ofNoJob = `INSERT INTO webhook_deliveries (id, organization_id, workspace_id, url, host, type, payload)
      VALUES ('batch-failed', gen_random_uuid(), gen_random_uuid(), 'https://a/b', 'a', 't', '{}')`;
    expect(await refusalOf(logins['batch-worker'], ofNoJob)).toBe(NOT_ALLOWED);
    expect(await asWorker('DELETE FROM webhook_deliveries')).toBe(NOT_ALLOWED);
    const ended = `UPDATE webhook_deliveries SET delivered_at = now()`;
    expect(await asWorker(owe(`id || '-failed'`), ended, 'UPDATE webhook_deliveries SET delivered_at = NULL')).toBe(
      NOT_ALLOWED,
    );
  });

  it('deletes no webhook of these days, and owes none for a video that ended long ago', async () => {
    const video = await storeVideo(owner, {});
    await owner.execute({
      sql: `UPDATE videos SET status = 'failed', finished_at = now() - interval '2 hours', request = NULL, callback_url = 'https://a/b' WHERE id = $1`,
      values: [video.id],
    });
    const owe = `INSERT INTO webhook_deliveries (id, organization_id, workspace_id, url, host, type, payload)
      SELECT id || '-failed', organization_id, workspace_id, callback_url, 'a', 't', '{}' FROM videos WHERE id = '${video.id}'`;
    expect(await refusalOf(logins['video-worker'], owe)).toBe(NOT_ALLOWED);
    await owner.execute({ sql: owe });
    const endLongAgo = `UPDATE webhook_deliveries SET delivered_at = now() - interval '90 days' WHERE id = '${video.id}-failed'`;
    await logins['video-worker'].execute({ sql: endLongAgo });
    const deliveries = new WebhookDeliveriesRepository(
      logins['video-worker'],
      new OutboxRepository(logins['video-worker']),
    );
    expect(await deliveries.purgeEnded(1)).toBe(0);
    await owner.execute({ sql: `UPDATE webhook_deliveries SET created_at = now() - interval '2 days'` });
    expect(await deliveries.purgeEnded(1)).toBeGreaterThan(0);
    await expect(deliveries.purgeEnded(0)).rejects.toThrow('a day at least');
  });
});

describe('the login of auth', () => {
  it('audits the ledger, all of it and what is new', async () => {
    const audits = new LedgerAuditRepository(logins.auth);
    for (const isFull of [true, false]) expect((await audits.audit({ isFull })).findings).toBeDefined();
  });
});

describe('the upkeep of partitions', () => {
  /** SQL of the Monday so many weeks after that of this week. */
  const mondayIn = (weeks: number): string => `date_trunc('week', now() AT TIME ZONE 'UTC')::date + ${weeks * 7}`;

  const addGenerations = (count: number, day: string): Promise<number> =>
    owner.execute({
      sql: `INSERT INTO generations (id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed, state, hold_usd)
            SELECT gen_random_uuid(), ${day}, gen_random_uuid(), gen_random_uuid(), '${HASH}', 'chat', 'm', false, 'open', 0
            FROM generate_series(1, ${count})`,
    });

  it('is done by the login of the batch worker, and gives new partitions the rights of the others', async () => {
    const partitions = new PartitionsRepository(logins['batch-worker']);
    await owner.execute({
      sql: `SELECT drop_weekly_partitions(t, '2040-01-01') FROM unnest(ARRAY['batch_lines', 'batch_results', 'generations']) t`,
    });
    await owner.execute({
      sql: `INSERT INTO batch_lines (created_on, batch_number, seq, custom_id, body)
            SELECT (now() AT TIME ZONE 'UTC')::date - 7, 0, i, i::text, '' FROM generate_series(1, 20001) i`,
    });
    for (const table of PARTITIONED_TABLES) {
      const { weeks, adoption } = await partitions.plan(table);
      for (const week of weeks) await partitions.makeWeek(table, week);
      if (table === 'batch_lines') await partitions.adoptDefault(table, adoption!);
      for (const week of (await partitions.plan(table)).weeks) await partitions.makeWeek(table, week);
      expect(await partitions.countStrays(table)).toBe(0);
    }
    const organizationId = randomUUID();
    await new LedgerRepository(owner).topUp(organizationId, '10', randomUUID());
    const { number } = await storeBatch(logins.gateway, 3, '1', { organizationId, creditsUsd: '0' });
    const counted = await owner.firstRow({
      sql: 'SELECT count(*)::integer AS n FROM batch_lines WHERE batch_number = $1',
      values: [number],
    });
    expect(counted).toEqual({ n: 3 });
    const rights = await owner.rows<{ rights: string }>({
      sql: `SELECT DISTINCT array_to_string(ARRAY(SELECT a.grantee::regrole || ' ' || a.privilege_type FROM aclexplode(c.relacl) a
              WHERE a.grantee <> c.relowner ORDER BY 1), ', ') AS rights
            FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'batch_lines'::regclass`,
    });
    expect(rights.map((row) => row.rights).toSorted()).toEqual([
      'sluice_batch_worker DELETE, sluice_batch_worker SELECT, sluice_gateway INSERT, sluice_gateway SELECT',
      'sluice_gateway INSERT, sluice_gateway SELECT',
    ]);
  });

  it('gives an upload the partition that was made while it waited', async () => {
    const last = await owner.firstRow<{ day: string; name: string }>({
      sql: `SELECT (${mondayIn(4)} + 2)::text AS day, 'batch_lines_' || to_char(${mondayIn(4)}, 'IYYY"w"IW') AS name`,
    });
    await owner.execute({ sql: `DROP TABLE ${last!.name}` });
    const given = await owner.transaction(async (upkeep) => {
      await upkeep.mayTake(60);
      await upkeep.client.query('LOCK TABLE batch_lines_default IN ACCESS EXCLUSIVE MODE');
      const asked = logins.gateway.transaction(async (session) => {
        await session.mayTake(60);
        await session.client.query(`SET LOCAL lock_timeout = '60s'`);
        return session.firstRow({ sql: `SELECT lines_partition('${last!.day}') AS partition` });
      });
      const sql = `SELECT FROM pg_locks WHERE relation = 'batch_lines_default'::regclass AND NOT granted`;
      while ((await upkeep.rows({ sql })).length === 0) await delay(20);
      await upkeep.client.query(`SELECT make_partition('batch_lines', ${mondayIn(4)})`);
      return { asked };
    });
    expect(await given.asked).toEqual({ partition: last!.name });
  }, 60_000);

  it('makes no week but those that are planned', async () => {
    const make = (table: string, monday: string): Promise<string | null> =>
      refusalOf(logins['batch-worker'], `SELECT make_partition('${table}', ${monday})`);
    for (const table of PARTITIONED_TABLES) {
      for (const weeks of [-1_000, -8, 5, 60, 10_000]) {
        expect([table, weeks, await make(table, mondayIn(weeks))]).toEqual([table, weeks, NOT_PLANNED]);
      }
      for (const day of ['NULL', `'infinity'`, `'-infinity'`]) {
        expect([table, day, await make(table, day)]).toEqual([table, day, NOT_PLANNED]);
      }
    }
    // Rows of a gateway whose clock was wrong. A week with rows is made, if it is not further away than a year.
    for (const weeks of [-60, 10, 60]) await addGenerations(1, mondayIn(weeks));
    expect(await make('generations', mondayIn(-60))).toBeNull();
    expect(await make('generations', `${mondayIn(-60)} - 1`)).toBe(NOT_PLANNED);
    expect(await make('generations', mondayIn(10))).toBeNull();
    expect(await make('generations', mondayIn(60))).toBe(NOT_PLANNED);
    // Rows that the retention ends need no partition.
    await owner.execute({
      sql: `INSERT INTO batch_lines (created_on, batch_number, seq, custom_id, body)
            SELECT ${mondayIn(-8)}, 0, 0, 'old', '' WHERE NOT EXISTS (SELECT FROM batches WHERE finalized_at IS NULL AND created_on < now() - interval '7 days')`,
    });
    expect(await make('batch_lines', mondayIn(-8))).toBe(NOT_PLANNED);
    await owner.execute({ sql: 'DELETE FROM generations' });
    await owner.execute({ sql: `DELETE FROM batch_lines WHERE custom_id = 'old'` });
  });

  it('adopts the default partition for the planned weeks alone, and not while it holds few rows', async () => {
    const adopt = (from: string, to: string, ...steps: string[]): Promise<string | null> =>
      refusalOf(
        logins['batch-worker'],
        ...steps.map(
          (step) => `SELECT adopt_default_partition('generations', '${step}', (${from})::date, (${to})::date)`,
        ),
      );
    const each = async (from: string, to: string): Promise<unknown[]> => [
      await adopt(from, to, 'check'),
      await adopt(from, to, 'exchange'),
    ];
    const refused = [NOT_PLANNED, NOT_PLANNED];
    await addGenerations(20_000, mondayIn(-3));
    expect(await each(mondayIn(-3), mondayIn(0))).toEqual(refused);
    await addGenerations(1, mondayIn(-3));
    for (const [from, to] of [
      [mondayIn(-4), mondayIn(0)],
      [mondayIn(-2), mondayIn(0)],
      [`${mondayIn(-3)} + 1`, mondayIn(0)],
      [mondayIn(-3), `${mondayIn(0)} - 1`],
      [mondayIn(-3), mondayIn(-3)],
      [mondayIn(-3), mondayIn(-4)],
      [mondayIn(-3), mondayIn(6)],
      [mondayIn(-3), `'2199-12-30'`],
      [mondayIn(-3), `'infinity'`],
      [mondayIn(-3), 'NULL'],
      ['NULL', mondayIn(0)],
      [`'1900-01-01'`, `'1900-01-08'`],
      [`'2200-01-06'`, `'2200-01-13'`],
    ] as const) {
      expect([from, to, await each(from, to)]).toEqual([from, to, refused]);
    }
    expect(await adopt(mondayIn(-3), mondayIn(0), 'check', 'validate', 'exchange')).toBeNull();
    await owner.execute({ sql: 'DELETE FROM generations' });
  });

  it('drops what is expired and nothing else', async () => {
    const partitions = new PartitionsRepository(logins['batch-worker']);
    await owner.execute({
      sql: `SELECT ensure_weekly_partitions('batch_results', d, d) FROM unnest(ARRAY[now()::date - ${BATCH_RETENTION_DAYS + 10}, now()::date - ${BATCH_RETENTION_DAYS - 7}]) d`,
    });
    await owner.execute({
      sql: `UPDATE batches SET status = 'failed', finalized_at = now(), completed = 0, failed = total WHERE finalized_at IS NULL`,
    });
    const expired = await partitions.expired('batch_results');
    expect(expired).toHaveLength(1);
    await partitions.drop('batch_results', expired[0]!);
    expect(await partitions.expired('batch_results')).toEqual([]);
    const younger = await owner.firstRow<{ name: string }>({
      sql: `SELECT min(inhrelid::regclass::text) AS name FROM pg_inherits WHERE inhparent = 'batch_results'::regclass AND inhrelid::regclass::text <> 'batch_results_default'`,
    });
    await expect(partitions.drop('batch_results', younger!.name)).rejects.toThrow('kept');
    await expect(partitions.drop('generations', 'generations_default')).rejects.toThrow('kept');
  });
});

describe(migrate.name, () => {
  it('takes back what is not declared, and renews what is, also when it is given no logins', async () => {
    const rightsOf = (): Promise<unknown> =>
      owner.rows({
        sql: `SELECT c.relname, c.relacl::text, (SELECT array_agg(a.attacl::text ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL) FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S') ORDER BY 1`,
      });
    await migrate(created.url, TEST_LOGINS);
    const before = await rightsOf();
    await owner.execute({ sql: 'GRANT SELECT, UPDATE ON api_keys, credentials TO sluice_video_worker' });
    await owner.execute({ sql: 'REVOKE SELECT ON videos FROM sluice_video_worker' });
    await migrate(created.url);
    expect(await rightsOf()).toEqual(before);
    await owner.execute({ sql: 'GRANT UPDATE ON api_keys TO sluice_test_video_worker' });
    await owner.execute({ sql: 'GRANT sluice_auth TO sluice_test_video_worker' });
    await migrate(created.url, TEST_LOGINS);
    for (const sql of KEYS) await expectRefused('video-worker', sql);
    expect(await refusalOf(logins['video-worker'], 'SET LOCAL ROLE sluice_auth')).toBe(NOT_ALLOWED);
  });

  it('sets the password of a login, and refuses a login that is a superuser or owns tables', async () => {
    const login = `sluice_login_${randomUUID().slice(0, 8)}`;
    const url = new URL(created.url);
    [url.username, url.password] = [login, 'two-words'];
    try {
      await migrate(created.url, [...TEST_LOGINS, { app: 'auth', login, password: 'two-words' }]);
      const sealed = await owner.firstRow<{ scram: string }>({
        sql: 'SELECT rolpassword AS scram FROM pg_authid WHERE rolname = $1',
        values: [login],
      });
      expect(sealed?.scram).toMatch(/^SCRAM-SHA-256\$4096:/);
      const source = await createDataSource({ url: url.href, poolSize: 1 }).initialize();
      await source.destroy();
      await owner.execute({ sql: `ALTER ROLE ${login} SUPERUSER` });
      await expect(migrate(created.url, [{ app: 'auth', login, password: null }])).rejects.toThrow('must be LOGIN');
    } finally {
      await owner.execute({ sql: `DROP OWNED BY ${login}` });
      await owner.execute({ sql: `DROP ROLE ${login}` });
    }
  });

  it('names the SQL that a superuser has to run for an owner that may create no roles, and works after that', async () => {
    const [name, login] = [`sluice_owner_${randomUUID().slice(0, 8)}`, `sluice_app_${randomUUID().slice(0, 8)}`];
    const url = new URL(created.url);
    [url.username, url.password, url.pathname] = [name, 'two-words', `/${name}`];
    await owner.execute({ sql: `CREATE ROLE ${name} LOGIN PASSWORD 'two-words'` });
    await owner.execute({ sql: `GRANT sluice_tenant TO ${name}` });
    await owner.execute({ sql: `CREATE DATABASE ${name} OWNER ${name}` });
    try {
      const asked = migrate(url.href, [{ app: 'auth', login, password: null }]);
      const expected = `CREATE ROLE ${login} LOGIN CONNECTION LIMIT 30; GRANT sluice_auth TO ${login}`;
      await expect(asked).rejects.toThrow(`as a superuser run: ${expected}; then`);
      for (const sql of expected.split('; ')) await owner.execute({ sql });
      await migrate(url.href, [{ app: 'auth', login, password: null }]);
    } finally {
      await owner.execute({ sql: `DROP DATABASE ${name}` });
      await owner.execute({ sql: `DROP ROLE IF EXISTS ${login}` });
      await owner.execute({ sql: `DROP ROLE ${name}` });
    }
  }, 60_000);

  it('leaves a database alone in which one login does everything', async () => {
    const plain = await createTestDatabase();
    try {
      const database = await created.connect(plain.url);
      const given = await database.rows({
        sql: `SELECT grantee FROM information_schema.role_table_grants WHERE grantee LIKE 'sluice\\_%' AND grantee <> 'sluice_tenant'`,
      });
      expect(given).toEqual([]);
      expect((await storeBatch(database, 2)).id).toBeDefined();
    } finally {
      await created.disconnectLast();
      await plain.drop();
    }
  });
});
