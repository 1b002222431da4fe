import { Client } from 'pg';
import { createDataSource } from './data-source';
import type { AppLogin } from './rights/app-logins';
import { applyAppRights } from './rights/apply-app-rights';

/** Id of the advisory lock: any number that is used for no other lock. */
const MIGRATION_LOCK = 7_205_471_001;
const MIGRATION_TIMEOUT_MS = 600_000;
const CONNECT_TIMEOUT_MS = 15_000;

/**
 * Applies the missing migrations, then grants each app its rights. Two processes that start at the same time take
 * turns: the second finds nothing left to do.
 * @param logins logins of the apps; if empty, rights are renewed in a database that has them
 * @returns the names of the migrations that were applied
 */
export async function migrate(url: string, logins: readonly AppLogin[] = []): Promise<string[]> {
  const lock = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  await lock.connect();
  const dataSource = createDataSource({
    url,
    poolSize: 1,
    applicationName: 'migrate',
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    statementTimeoutMs: MIGRATION_TIMEOUT_MS,
  });
  try {
    await lock.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await dataSource.initialize();
    const applied = (await dataSource.runMigrations()).map((migration) => migration.name);
    await applyAppRights(lock, logins);
    return applied;
  } finally {
    if (dataSource.isInitialized) await dataSource.destroy();
    await lock.end();
  }
}
