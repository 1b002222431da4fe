import { APP_NAMES, type AppName } from '@libs/contracts';

/** Apps whose answers to callers run as a tenant. */
const APPS_OF_TENANTS: ReadonlySet<AppName> = new Set<AppName>(['gateway', 'credentials', 'auth']);

/** What an app may do belongs to this role, which its login is a member of. */
export const appRole = (app: AppName): string => `sluice_${app.replaceAll('-', '_')}`;

/** What it may do for a tenant; null for an app that answers none. */
export const tenantRoleOf = (app: AppName): string | null =>
  APPS_OF_TENANTS.has(app) ? `${appRole(app)}_tenant` : null;

export const APP_ROLES: readonly string[] = APP_NAMES.map(appRole);
export const TENANT_ROLES: readonly string[] = APP_NAMES.flatMap((app) => tenantRoleOf(app) ?? []);
