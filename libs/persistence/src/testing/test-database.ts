import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { APP_NAMES, type AppName } from '@libs/contracts';
import { createDataSource } from '../data-source';
import { Database } from '../database';
import { migrate } from '../migrate';
import type { AppLogin } from '../rights/app-logins';

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A busy machine may take long to begin one more process of PostgreSQL. */
const CONNECT_TIMEOUT_MS = 20_000;
const DEFAULT_URL = 'postgres://postgres@127.0.0.1:5432/postgres';

/** All test databases of a cluster share these logins, because roles belong to the cluster. */
const TEST_PASSWORD = 'test-only';
export const TEST_LOGINS: readonly AppLogin[] = APP_NAMES.map((app) => ({
  app,
  login: `sluice_test_${app.replaceAll('-', '_')}`,
  password: TEST_PASSWORD,
  connections: -1,
}));

/** Returns the URL for an app. `url` is that of a test database with logins, or of a proxy in front of it. */
export function appUrlOf(app: AppName, url: string): string {
  const own = new URL(url);
  [own.username, own.password] = [TEST_LOGINS.find((one) => one.app === app)!.login, TEST_PASSWORD];
  return own.href;
}

/**
 * A fresh database with every migration applied, on the server that DATABASE_URL names.
 *
 * @param logins whether each app has a login of its own, see `appUrlOf`
 */
export async function createTestDatabase({ logins = false } = {}): Promise<TestDatabase> {
  const server = process.env.DATABASE_URL ?? DEFAULT_URL;
  const name = `sluice_test_${randomBytes(6).toString('hex')}`;
  await onServer(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const drop = (): Promise<void> => onServer(server, `DROP DATABASE ${name} WITH (FORCE)`);
  try {
    await migrate(url.href, logins ? TEST_LOGINS : []);
  } catch (error) {
    await drop();
    throw error;
  }
  return { url: url.href, drop };
}

async function onServer(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

export interface OpenTestDatabase {
  readonly database: Database;
  close(): Promise<void>;
}

/** A fresh database and a connection pool on it, for a repository's own spec. */
export async function openTestDatabase(): Promise<OpenTestDatabase> {
  const created = await createTestDatabase();
  const dataSource = createDataSource({ url: created.url, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  await dataSource.initialize();
  return {
    database: new Database(dataSource),
    close: async () => {
      await dataSource.destroy();
      await created.drop();
    },
  };
}
