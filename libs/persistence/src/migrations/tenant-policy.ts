import type { QueryRunner } from 'typeorm';

/** Of the whole cluster: another database may have made it already, or make it at this moment. */
export const ROLE = 'sluice_tenant';

/** Scalar subqueries, so that PostgreSQL reads a setting once per statement and not once per row. */
const setting = (name: string, type: string): string =>
  `(SELECT nullif(current_setting('sluice.${name}', true), '')::${type})`;
export const ORGANIZATION = setting('organization', 'uuid');
export const WORKSPACE = setting('workspace', 'uuid');

/** Management sees every workspace of its organization, a workspace sees itself. */
export const OF_ORGANIZATION_OR_WORKSPACE = `organization_id = ${ORGANIZATION} AND (${WORKSPACE} IS NULL OR workspace_id = ${WORKSPACE})`;

export interface TenantRules {
  /** Which of its rows are a tenant's. */
  readonly owned: string;
  /** Rights needed to answer a caller; absent if only work that belongs to no tenant uses the table. */
  readonly granted?: string | undefined;
}

/** The rows of a table are a tenant's, and every other role that was granted the table sees all of them. */
export async function guardTenantRows(runner: QueryRunner, table: string, rules: TenantRules): Promise<void> {
  await runner.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
  await runner.query(`CREATE POLICY ${table}_of_tenant ON ${table} TO ${ROLE} USING (${rules.owned})`);
  await runner.query(`CREATE POLICY ${table}_of_installation ON ${table} USING ((SELECT current_user <> '${ROLE}'))`);
  if (rules.granted !== undefined) await runner.query(`GRANT ${rules.granted} ON ${table} TO ${ROLE}`);
}
