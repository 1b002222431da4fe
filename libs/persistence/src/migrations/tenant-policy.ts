import type { QueryRunner } from 'typeorm';

/** The role belongs to the whole cluster: another database may already have created it, or create it at this moment. */
export const ROLE = 'sluice_tenant';

/** Scalar subqueries, so that PostgreSQL reads a setting once per statement and not once per row. */
const setting = (name: string, type: string): string =>
  `(SELECT nullif(current_setting('sluice.${name}', true), '')::${type})`;
export const ORGANIZATION = setting('organization', 'uuid');
export const WORKSPACE = setting('workspace', 'uuid');

/** Management sees every workspace of its organization; a workspace sees only itself. */
export const OF_ORGANIZATION_OR_WORKSPACE = `organization_id = ${ORGANIZATION} AND (${WORKSPACE} IS NULL OR workspace_id = ${WORKSPACE})`;

export interface TenantRules {
  /** SQL condition for the rows that belong to a tenant. */
  readonly owned: string;
  /** Rights needed to answer a caller; absent if only work that belongs to no tenant uses the table. */
  readonly granted?: string | undefined;
}

/** Shows a tenant only its rows of a table; every other role with rights on the table sees all rows. */
export async function guardTenantRows(runner: QueryRunner, table: string, rules: TenantRules): Promise<void> {
  await runner.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
  await runner.query(`CREATE POLICY ${table}_of_tenant ON ${table} TO ${ROLE} USING (${rules.owned})`);
  await runner.query(`CREATE POLICY ${table}_of_installation ON ${table} USING ((SELECT current_user <> '${ROLE}'))`);
  if (rules.granted !== undefined) await runner.query(`GRANT ${rules.granted} ON ${table} TO ${ROLE}`);
}
