import { AppError } from '@libs/errors';

/**
 * Whose rows a piece of work may see and change: those of an organization, or those of one workspace of it. A Principal
 * is a tenant, as is any other object with both fields.
 */
export interface Tenant {
  readonly organizationId: string;
  /** Null or absent: all workspaces of the organization. Rows that only a workspace may read are not visible then. */
  readonly workspaceId?: string | null | undefined;
}

export interface WorkspaceTenant extends Tenant {
  readonly workspaceId: string;
}

/**
 * The role with which a tenant's statements run: no login, no table of its own, restricted by the policies of every
 * table. Apps with separate logins have tenant roles with fewer rights (see `rights`).
 */
export const TENANT_ROLE = 'sluice_tenant';

/** Session setting: the tenant role of the login. */
const ROLE_SETTING = 'sluice.tenant_role';

/**
 * Returns the statement that prepares a new connection. It stores which of `roles` the login has, or `sluice_tenant`
 * for a login that can switch to all of them.
 */
export const prepareSql = (roles: readonly string[]): string => `
  SELECT set_config('jit', 'off', false), set_config('${ROLE_SETTING}', coalesce((
    SELECT rolname::text FROM pg_catalog.pg_roles
    WHERE rolname IN (${[TENANT_ROLE, ...roles].map((role) => `'${role}'`).join(', ')}) AND pg_has_role(oid, 'MEMBER')
    ORDER BY rolname <> '${TENANT_ROLE}' LIMIT 1), '${TENANT_ROLE}'), false)`;

/** The settings of a transaction with which the policies compare rows; one that is not set shows nothing. */
export const TENANT_SETTINGS = {
  organization: 'sluice.organization',
  workspace: 'sluice.workspace',
  /** Comma-separated ids of batches whose lines, segments and results are needed. */
  batches: 'sluice.batches',
} as const;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const BATCH_ID = /^[\w-]{1,80}$/;

/** Organization, workspace and batches, in the form of the settings. */
export type TenantScope = readonly [organization: string, workspace: string, batches: string];

/** @throws AppError server for an invalid id, which must become neither a setting nor SQL */
export function scopeOf({ organizationId, workspaceId }: Tenant, batchIds: readonly string[] = []): TenantScope {
  const ids = [organizationId, ...(workspaceId ? [workspaceId] : [])];
  if (!ids.every((id) => UUID.test(id)) || !batchIds.every((id) => BATCH_ID.test(id))) {
    throw new AppError('server', 'Internal error', { internal: 'a tenant was named by something that is no id' });
  }
  return [organizationId, workspaceId ?? '', batchIds.join(',')];
}

/**
 * Switches the rest of the transaction to a tenant. It returns no row, so it can precede another statement without
 * affecting its answer.
 */
export const ENTER_TENANT = enterSql('$1', '$2', '$3');

/** The same statement with the scope in the text, for places without parameters; `scopeOf` lets only ids through. */
export function enterTenantSql(scope: TenantScope): string {
  const [organization, workspace, batches] = scope.map((value) => `'${value}'`);
  return enterSql(organization!, workspace!, batches!);
}

function enterSql(organization: string, workspace: string, batches: string): string {
  const set = (name: string, value: string): string => `set_config('${name}', ${value}, true)`;
  return `SELECT WHERE ${[
    set('role', `coalesce(nullif(current_setting('${ROLE_SETTING}', true), ''), '${TENANT_ROLE}')`),
    set(TENANT_SETTINGS.organization, organization),
    set(TENANT_SETTINGS.workspace, workspace),
    set(TENANT_SETTINGS.batches, batches),
  ].join(' || ')} IS NULL`;
}
