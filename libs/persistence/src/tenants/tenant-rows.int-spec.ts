import type { Session } from '../database';
import { PARTITIONED_TABLES, PartitionsRepository } from '../partitions.repository';
import { openTestDatabase, storePropertiedTenant, type OpenTestDatabase, type PropertiedTenant } from '../testing';
import { ENTER_TENANT, scopeOf, TENANT_ROLE, type Tenant } from './tenant';

/** Columns that say, in themselves or through another row, whose a row is. */
const COLUMNS_OF_TENANTS = [
  'organization_id',
  'workspace_id',
  'api_key_hash',
  'account_id',
  'batch_id',
  'batch_number',
  'debit_account',
];
const REFUSED_BY_POLICY = '42501';

/** Tables that policies guard. One of the tests compares with what PostgreSQL says, so no table is missing here. */
const GUARDED = [
  'api_keys',
  'audit_entries',
  'authorization_codes',
  'batch_lines',
  'batch_results',
  'batch_segments',
  'batches',
  'credentials',
  'federation_policies',
  'generation_contents',
  'generations',
  'idempotency_keys',
  'identity_issuers',
  'last_uses',
  'ledger_accounts',
  'ledger_byok_months',
  'ledger_holds',
  'ledger_key_days',
  'ledger_keys',
  'ledger_transfers',
  'ledger_workspaces',
  'native_batches',
  'organizations',
  'outbox',
  'videos',
  'webhook_deliveries',
  'webhook_secrets',
  'workspace_budgets',
  'workspace_members',
  'workspaces',
];

let opened: OpenTestDatabase;
let mine: PropertiedTenant;
let theirs: PropertiedTenant;

beforeAll(async () => {
  opened = await openTestDatabase();
  mine = await storePropertiedTenant(opened.database, 1);
  theirs = await storePropertiedTenant(opened.database, 2);
});

afterAll(() => opened.close());

class UndoneAsMeant extends Error {}

/**
 * Runs the work as the tenant, who names both batches and has all rights on the table, so that only the policy keeps it
 * from other rows. Triggers and foreign keys are off. Everything is rolled back.
 */
async function asTenant<T>(table: string, tenant: Tenant | null, work: (session: Session) => Promise<T>): Promise<T> {
  const told: T[] = [];
  const undone = opened.database.transaction(async (session) => {
    await session.client.query(`SET LOCAL session_replication_role = replica; GRANT ALL ON ${table} TO ${TENANT_ROLE}`);
    const scope = tenant && scopeOf(tenant, [mine.batchId, theirs.batchId]);
    await session.execute(
      scope ? { sql: ENTER_TENANT, values: [...scope] } : { sql: `SELECT set_config('role', '${TENANT_ROLE}', true)` },
    );
    told.push(await work(session));
    throw new UndoneAsMeant();
  });
  await expect(undone).rejects.toBeInstanceOf(UndoneAsMeant);
  return told[0]!;
}

async function rowsOf(session: Session, table: string): Promise<string[]> {
  const rows = await session.rows<{ row: string }>({ sql: `SELECT to_jsonb(t)::text AS row FROM ${table} t` });
  return rows.map(({ row }) => row);
}

/** The state that PostgreSQL refuses the statement with, which costs the transaction nothing. */
async function refusalOf(session: Session, sql: string, values: readonly string[]): Promise<unknown> {
  await session.client.query('SAVEPOINT attempt');
  const state = await session.execute({ sql, values }).then(
    () => null,
    (error: { readonly code?: unknown }) => error.code,
  );
  await session.client.query('ROLLBACK TO SAVEPOINT attempt');
  return state;
}

const insertInto = (table: string): string =>
  `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_record(NULL::${table}, $1::jsonb)`;

const columnsOf = async (table: string): Promise<string[]> =>
  (
    await opened.database.rows<{ name: string }>({
      sql: `SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position`,
      values: [table],
    })
  ).map(({ name }) => name);

describe('the rows of another tenant', () => {
  it.each(GUARDED)('in %s are not there, for whatever is asked', async (table) => {
    const [own, foreign] = [mine.rows.get(table)!, theirs.rows.get(table)!];
    const column = (await columnsOf(table)).at(-1);
    await asTenant(table, mine, async (session) => {
      expect(await rowsOf(session, table)).toEqual([own]);
      expect(await session.execute({ sql: `UPDATE ${table} SET ${column} = ${column}` })).toBe(1);
      expect(await session.execute({ sql: `DELETE FROM ${table}` })).toBe(1);
      expect(await refusalOf(session, insertInto(table), [own])).toBeNull();
      expect(await refusalOf(session, insertInto(table), [foreign])).toBe(REFUSED_BY_POLICY);
    });
    const all = await opened.database.rows<{ n: number }>({ sql: `SELECT count(*)::integer AS n FROM ${table}` });
    expect(all).toEqual([{ n: 2 }]);
  });

  it.each(GUARDED)('in %s, and all others, are not there for nobody', async (table) => {
    await asTenant(table, null, async (session) => {
      expect(await rowsOf(session, table)).toEqual([]);
      expect(await session.execute({ sql: `DELETE FROM ${table}` })).toBe(0);
      expect(await refusalOf(session, insertInto(table), [mine.rows.get(table)!])).toBe(REFUSED_BY_POLICY);
    });
  });

  it('can be reached by no change of an own row', async () => {
    for (const table of GUARDED) {
      const columns = await columnsOf(table);
      if (!columns.includes('organization_id')) continue;
      await asTenant(table, mine, async (session) => {
        const sql = `UPDATE ${table} SET organization_id = $1`;
        expect([table, await refusalOf(session, sql, [theirs.organizationId])]).toEqual([table, REFUSED_BY_POLICY]);
      });
    }
  });

  it('in another workspace of the organization are not there for a workspace', async () => {
    const elsewhere = { ...mine, workspaceId: theirs.workspaceId };
    for (const table of GUARDED) {
      if (!(await columnsOf(table)).includes('workspace_id') || table.startsWith('ledger_')) continue;
      expect([table, await asTenant(table, elsewhere, (session) => rowsOf(session, table))]).toEqual([table, []]);
    }
  });

  it('of batches are there for management no more than for another workspace', async () => {
    const management = { organizationId: mine.organizationId };
    for (const table of ['batches', 'batch_lines', 'batch_results', 'generations', 'videos']) {
      expect(await asTenant(table, management, (session) => rowsOf(session, table))).toEqual([]);
    }
    expect(await asTenant('credentials', management, (session) => rowsOf(session, 'credentials'))).toHaveLength(1);
  });
});

describe('the role of tenants', () => {
  const relations = (): Promise<
    { name: string; guarded: boolean; policies: string[]; rights: boolean; parted: boolean }[]
  > =>
    opened.database.rows({
      sql: `SELECT c.relname AS name, c.relrowsecurity AS guarded, c.relispartition AS parted,
              ARRAY(SELECT policyname::text FROM pg_policies p WHERE p.tablename = c.relname ORDER BY 1) AS policies,
              has_any_column_privilege('${TENANT_ROLE}', c.oid, 'SELECT, INSERT, UPDATE')
                OR has_table_privilege('${TENANT_ROLE}', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE') AS rights
            FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
            ORDER BY c.relname`,
    });

  it('cannot log in, is no superuser and does not pass by policies', async () => {
    const [role] = await opened.database.rows({
      sql: `SELECT rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = $1`,
      values: [TENANT_ROLE],
    });
    expect(new Set(Object.values(role!))).toEqual(new Set([false]));
    const owned = await opened.database.rows({
      sql: `SELECT 1 FROM pg_class WHERE relowner = $1::regrole`,
      values: [TENANT_ROLE],
    });
    expect(owned).toEqual([]);
  });

  it('is bound by a policy on every table with a column that says whose a row is', async () => {
    const named = await opened.database.rows<{ name: string }>({
      sql: `SELECT DISTINCT c.table_name AS name FROM information_schema.columns c
            JOIN pg_class r ON r.oid = format('%I.%I', c.table_schema, c.table_name)::regclass AND NOT r.relispartition
            WHERE c.table_schema = 'public' AND c.column_name = ANY($1) ORDER BY 1`,
      values: [COLUMNS_OF_TENANTS],
    });
    const guarded = (await relations()).filter((one) => one.guarded);
    expect(guarded.map(({ name }) => name)).toEqual(expect.arrayContaining(named.map(({ name }) => name)));
    for (const { name, policies } of guarded) {
      expect(policies).toEqual([`${name}_of_installation`, `${name}_of_tenant`]);
    }
    // So no table is guarded that is not tested above. Tasks are no tenant's: their rows are kept apart by app. Charges
    // that wait are only for the gateway itself, and no tenant sees them.
    expect(guarded.map(({ name }) => name)).toEqual([...GUARDED, 'delayed_charges', 'task_runs'].toSorted());
    expect([...mine.rows.keys()].toSorted()).toEqual(GUARDED);
  });

  it('may touch nothing but tables with policies: no partition, not of weeks to come either', async () => {
    await opened.database.execute({
      sql: `SELECT ensure_weekly_partitions(t, '2031-01-06', '2031-01-20')
            FROM unnest(ARRAY['batch_lines', 'batch_results', 'generations']) t`,
    });
    const last = await opened.database.firstRow<{ monday: string; name: string }>({
      sql: `SELECT day::date::text AS monday, to_char(day, 'IYYY"w"IW') AS name
            FROM (SELECT date_trunc('week', now() AT TIME ZONE 'UTC') + interval '4 weeks' AS day) d`,
    });
    const partitions = new PartitionsRepository(opened.database);
    for (const table of PARTITIONED_TABLES) {
      await opened.database.execute({ sql: `DROP TABLE ${table}_${last!.name}` });
      await partitions.makeWeek(table, last!.monday);
    }
    const all = await relations();
    expect(all.filter(({ parted }) => parted).length).toBeGreaterThan(20);
    expect(all.filter(({ rights, guarded }) => rights && !guarded).map(({ name }) => name)).toEqual([]);
    const touched = all.filter(({ rights }) => rights).map(({ name }) => name);
    expect(touched).toEqual(expect.arrayContaining(['batches', 'batch_results', 'credentials', 'api_keys']));
  });

  it('reads a partition through its table alone', async () => {
    const [partition] = await opened.database.rows<{ name: string }>({
      sql: `SELECT tableoid::regclass::text AS name FROM batch_results WHERE batch_number = 1`,
    });
    const tenant = opened.database.asTenant(mine, [mine.batchId]);
    expect(await tenant.rows({ sql: 'SELECT seq FROM batch_results' })).toEqual([{ seq: 0 }]);
    await expect(tenant.rows({ sql: `SELECT seq FROM ${partition!.name}` })).rejects.toMatchObject({
      code: REFUSED_BY_POLICY,
    });
  });

  it.each(['consent_sessions', 'used_token_ids', 'oauth_apps', 'intake_seeds', 'batch_workers', 'migrations'])(
    'may not read %s, which is nobody’s',
    async (table) => {
      await expect(opened.database.asTenant(mine).rows({ sql: `SELECT 1 FROM ${table}` })).rejects.toMatchObject({
        code: REFUSED_BY_POLICY,
      });
    },
  );
});
