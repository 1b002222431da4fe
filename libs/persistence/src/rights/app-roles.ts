import { APP_NAMES, type AppName } from '@libs/contracts';

/** Apps whose answers to callers run with a tenant role. */
const APPS_OF_TENANTS: ReadonlySet<AppName> = new Set<AppName>(['gateway', 'credentials', 'auth']);

/** Returns the role with the rights of an app. The app's login is a member of it. */
export const appRole = (app: AppName): string => `sluice_${app.replaceAll('-', '_')}`;

/** Returns the role that an app switches to for a tenant; null for an app that answers no callers. */
export const tenantRoleOf = (app: AppName): string | null =>
  APPS_OF_TENANTS.has(app) ? `${appRole(app)}_tenant` : null;

export const APP_ROLES: readonly string[] = APP_NAMES.map(appRole);
export const TENANT_ROLES: readonly string[] = APP_NAMES.flatMap((app) => tenantRoleOf(app) ?? []);
