import type { Client } from 'pg';
import { APP_NAMES } from '@libs/contracts';
import { TENANT_ROLE } from '../tenants/tenant';
import { APP_RIGHTS, type RowRule } from './app-rights';
import { APP_ROLES, appRole, tenantRoleOf, TENANT_ROLES } from './app-roles';

interface Policy {
  readonly name: string;
  readonly table: string;
  readonly sql: string;
  /** True for a policy that a migration created and that is only altered here. */
  readonly isGiven: boolean;
}

const TENANTS = [TENANT_ROLE, ...TENANT_ROLES].join(', ');

/**
 * Applies the policies of `sluice_tenant` to the tenant role of each app. The apps' own roles get a policy `true`,
 * which PostgreSQL removes from plans together with the policy for other logins.
 */
const onTenantRows = (table: string): Policy[] => [
  {
    name: `${table}_of_tenant`,
    table,
    isGiven: true,
    sql: `ALTER POLICY ${table}_of_tenant ON ${table} TO ${TENANTS}`,
  },
  {
    name: `${table}_of_installation`,
    table,
    isGiven: true,
    sql: `ALTER POLICY ${table}_of_installation ON ${table}
      USING ((SELECT current_user <> ALL ('{${TENANTS}}'::name[])))`,
  },
  {
    name: `${table}_of_apps`,
    table,
    isGiven: false,
    sql: `CREATE POLICY ${table}_of_apps ON ${table} TO ${APP_ROLES.join(', ')} USING (true) WITH CHECK (true)`,
  },
];

const RULES: readonly Policy[] = APP_NAMES.flatMap((app) =>
  (APP_RIGHTS[app].rows ?? []).map(({ table, verb, holds }) => {
    const role = appRole(app);
    const name = `${table}_${verb.toLowerCase()}_of_${role}`;
    // Includes the role of tenants, because an app could switch to it to evade the condition.
    const roles = [role, tenantRoleOf(app)].filter((one) => one !== null).join(', ');
    const sql = `CREATE POLICY ${name} ON ${table} AS RESTRICTIVE FOR ${verb} TO ${roles} ${conditionOf(verb, holds)}`;
    return { name, table, isGiven: false, sql };
  }),
);

function conditionOf(verb: RowRule['verb'], holds: string): string {
  switch (verb) {
    case 'INSERT':
      return `WITH CHECK (${holds})`;
    // A change may make the condition false for the new row, so only the old row is checked.
    case 'UPDATE':
      return `USING (${holds}) WITH CHECK (true)`;
    case 'DELETE':
    case 'ALL':
      return `USING (${holds})`;
  }
}

/**
 * Returns the statements that bring the policies of each table up to date. The SQL of a policy is stored in its
 * comment, because PostgreSQL does not keep the original text to compare with.
 */
export async function policiesFor(client: Client): Promise<string[][]> {
  const { rows } = await client.query<{ table: string; policy: string | null; comment: string | null }>(
    `SELECT c.relname AS table, p.polname AS policy, obj_description(p.oid, 'pg_policy') AS comment
     FROM pg_class c LEFT JOIN pg_policy p ON p.polrelid = c.oid
     WHERE c.relrowsecurity AND c.relnamespace = current_schema()::regnamespace`,
  );
  const known = new Map(rows.map(({ policy, comment }) => [policy, comment]));
  const tables = [...new Set(rows.map(({ table }) => table))];
  return tables.flatMap((table) => {
    const wanted = [...onTenantRows(table), ...RULES.filter((rule) => rule.table === table)];
    const statements = wanted.filter(({ name, sql }) => known.get(name) !== sql).flatMap(statementsFor);
    return statements.length === 0 ? [] : [statements];
  });
}

function statementsFor({ name, table, sql, isGiven }: Policy): string[] {
  const comment = `COMMENT ON POLICY ${name} ON ${table} IS '${sql.replaceAll(`'`, `''`)}'`;
  return isGiven ? [sql, comment] : [`DROP POLICY IF EXISTS ${name} ON ${table}`, sql, comment];
}
