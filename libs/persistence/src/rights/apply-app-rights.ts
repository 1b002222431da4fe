import type { Client } from 'pg';
import { APP_NAMES } from '@libs/contracts';
import { TENANT_ROLE } from '../tenants/tenant';
import { verifierOf, type AppLogin } from './app-logins';
import { APP_RIGHTS } from './app-rights';
import { connectionsOf } from './connections';
import { APP_ROLES, appRole, tenantRoleOf, TENANT_ROLES } from './app-roles';
import { repeated, RoleMaker } from './role-maker';
import { policiesFor } from './row-policies';

const ROLES = [...APP_ROLES, ...TENANT_ROLES];
const GROUP = 'NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS';

/**
 * Creates the logins, and gives each app exactly the rights in `APP_RIGHTS`. Without logins it renews the rights of a
 * database that has roles of apps, and does nothing in one with a single login.
 */
export async function applyAppRights(client: Client, logins: readonly AppLogin[]): Promise<void> {
  if (logins.length === 0 && !(await hasAppRights(client))) return;
  await client.query(`SET lock_timeout = '2s'`);
  const roles = new RoleMaker(client);
  for (const role of ROLES) await roles.ensure(role, GROUP);
  for (const app of APP_NAMES) {
    const tenant = tenantRoleOf(app);
    if (tenant !== null) await roles.grant(tenant, appRole(app));
  }
  for (const login of logins) await ensureLogin(client, roles, login);
  roles.requireAll();
  await repeated(async () => {
    const place = await placeOf(client);
    await inTransaction(client, [...placeSql(place, logins), ...grantsSql(place), ...(await largeObjectsSql(client))]);
  });
  for (const sql of await policiesFor(client)) await repeated(() => inTransaction(client, sql));
}

async function hasAppRights(client: Client): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM pg_policies WHERE schemaname = current_schema() AND policyname LIKE '%\\_of\\_apps' LIMIT 1`,
  );
  return rowCount === 1;
}

/** Lets only the owner and the apps connect to the database: rights that a copy of a database does not get. */
export async function grantConnect(client: Client, logins: readonly AppLogin[]): Promise<void> {
  const place = await placeOf(client);
  await repeated(() => inTransaction(client, placeSql(place, logins)));
}

interface Place {
  readonly database: string;
  readonly schema: string;
  readonly tables: readonly { readonly name: string; readonly parent: string | null; readonly isDefault: boolean }[];
}

async function placeOf(client: Client): Promise<Place> {
  const { rows: names } = await client.query<Pick<Place, 'database' | 'schema'>>(
    'SELECT quote_ident(current_database()) AS database, quote_ident(current_schema()) AS schema',
  );
  const { rows: tables } = await client.query<Place['tables'][number]>(
    `SELECT quote_ident(c.relname) AS name, i.inhparent::regclass::text AS parent,
            coalesce(pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', false) AS "isDefault"
     FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')`,
  );
  return { ...names[0]!, tables };
}

/** Lets only the owner and the apps connect, and keeps the apps from creating objects. */
function placeSql({ database, schema }: Place, logins: readonly AppLogin[]): string[] {
  if (logins.length === 0) return [];
  return [
    `REVOKE CONNECT, TEMPORARY ON DATABASE ${database} FROM PUBLIC`,
    `REVOKE CREATE ON SCHEMA ${schema} FROM PUBLIC`,
    `GRANT CONNECT ON DATABASE ${database} TO ${logins.map(({ login }) => login).join(', ')}`,
    ...APP_NAMES.filter((app) => APP_RIGHTS[app].temporary).map(
      (app) => `GRANT TEMPORARY ON DATABASE ${database} TO ${appRole(app)}`,
    ),
    ...logins.map(({ login }) => `REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${login}`),
  ];
}

/** Revokes from all roles the functions that create large objects, which nothing uses. Only a superuser may do that. */
async function largeObjectsSql(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT oid::regprocedure::text AS name FROM pg_proc
     WHERE pronamespace = 'pg_catalog'::regnamespace AND proname IN ('lo_creat', 'lo_create', 'lo_from_bytea')
       AND has_function_privilege('public', oid, 'EXECUTE') AND pg_has_role(current_user, proowner, 'USAGE')`,
  );
  return rows.map(({ name }) => `REVOKE EXECUTE ON FUNCTION ${name} FROM PUBLIC`);
}

function grantsSql({ schema, tables }: Place): string[] {
  const all = ROLES.join(', ');
  return [
    ...['TABLES', 'SEQUENCES', 'FUNCTIONS'].map((what) => `REVOKE ALL ON ALL ${what} IN SCHEMA ${schema} FROM ${all}`),
    `GRANT USAGE ON SCHEMA ${schema} TO ${all}`,
    ...APP_NAMES.flatMap((app) => {
      const rights = APP_RIGHTS[app];
      const [role, tenant] = [appRole(app), tenantRoleOf(app)];
      const partitions = tables.flatMap(({ name, parent, isDefault }) => {
        const of = parent === null ? undefined : rights.partitions?.[parent];
        return [of?.all, isDefault ? of?.default : undefined].flatMap((granted) => grant(granted, name, role));
      });
      return [
        ...Object.entries(rights.tables).flatMap(([table, granted]) => grant(granted, table, role)),
        ...Object.entries(rights.asTenant ?? {}).flatMap(([table, granted]) => grant(granted, table, tenant!)),
        ...partitions,
        ...(rights.functions ?? []).map((name) => `GRANT EXECUTE ON FUNCTION ${name} TO ${role}`),
        ...(rights.sequences ?? []).map((name) => `GRANT USAGE ON SEQUENCE ${name} TO ${role}`),
      ];
    }),
  ];
}

function grant(granted: string | undefined, table: string, role: string): string[] {
  return granted === undefined ? [] : [`GRANT ${granted} ON ${table} TO ${role}`];
}

async function ensureLogin(client: Client, roles: RoleMaker, given: AppLogin): Promise<void> {
  const { app, login, password, connections } = given;
  await roles.ensure(login, `LOGIN CONNECTION LIMIT ${connections ?? connectionsOf(app)}`);
  const { rowCount } = await client.query(
    `SELECT FROM pg_roles r WHERE rolname = $1 AND (rolsuper OR rolbypassrls OR rolcreaterole OR NOT rolcanlogin
       OR NOT rolinherit OR pg_has_role(oid, (SELECT relowner FROM pg_class WHERE oid = 'api_keys'::regclass), 'MEMBER'))`,
    [login],
  );
  if (rowCount !== 0) {
    throw new Error(`${login} must be LOGIN INHERIT NOSUPERUSER NOCREATEROLE NOBYPASSRLS and own no table`);
  }
  if (connections !== undefined) await roles.limit(login, connections);
  if (password !== null) await roles.alter(`ALTER ROLE ${login} PASSWORD '${verifierOf(password)}'`);
  for (const role of [TENANT_ROLE, ...ROLES].filter((one) => one !== appRole(app))) await roles.revoke(role, login);
  await roles.grant(appRole(app), login);
}

async function inTransaction(client: Client, statements: readonly string[]): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(statements.join(';\n'));
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}
