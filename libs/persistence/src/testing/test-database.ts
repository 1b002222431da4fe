import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { APP_NAMES, type AppName } from '@libs/contracts';
import { createDataSource } from '../data-source';
import { Database } from '../database';
import { migrate } from '../migrate';
import type { AppLogin } from '../rights/app-logins';
import { grantConnect } from '../rights/apply-app-rights';

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A busy machine may take long to begin one more process of PostgreSQL. */
const CONNECT_TIMEOUT_MS = 20_000;
/** Environment variable: the name of the database that `createTestDatabase` copies, see `createTemplates`. */
export const TEMPLATE_VARIABLE = 'TEST_DATABASE_TEMPLATE';
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
 * A fresh database with every migration applied, on the server that DATABASE_URL names. It is a copy of a database that
 * `npm test` migrates for all specs, if there is one: that takes a twentieth of the time.
 *
 * @param logins whether each app has a login of its own, see `appUrlOf`
 */
export async function createTestDatabase({ logins = false } = {}): Promise<TestDatabase> {
  const server = process.env.DATABASE_URL ?? DEFAULT_URL;
  const template = process.env[TEMPLATE_VARIABLE];
  if (template === undefined) return createDatabase(server, '', (url) => migrate(url, logins ? TEST_LOGINS : []));
  if (!logins) return createDatabase(server, `TEMPLATE ${template}`, async () => {});
  return createDatabase(server, `TEMPLATE ${withLogins(template)}`, (url) =>
    withClient(url, (client) => grantConnect(client, TEST_LOGINS)),
  );
}

/** Databases that `createTestDatabase` copies; nothing may be connected to them. */
export interface TestTemplates {
  /** The value of `TEMPLATE_VARIABLE`. */
  readonly name: string;
  drop(): Promise<void>;
}

/** Migrates a database, and one with logins of the apps, for all specs that run. */
export async function createTemplates(server: string): Promise<TestTemplates> {
  const plain = await createDatabase(server, '', (url) => migrate(url));
  const name = new URL(plain.url).pathname.slice(1);
  try {
    const options = `TEMPLATE ${name}`;
    const own = await createDatabase(server, options, (url) => migrate(url, TEST_LOGINS), withLogins(name));
    return { name, drop: async () => void (await Promise.all([plain.drop(), own.drop()])) };
  } catch (error) {
    await plain.drop();
    throw error;
  }
}

const withLogins = (template: string): string => `${template}_apps`;

async function createDatabase(
  server: string,
  options: string,
  prepare: (url: string) => Promise<unknown>,
  name = `sluice_test_${randomBytes(6).toString('hex')}`,
): Promise<TestDatabase> {
  await onServer(server, `CREATE DATABASE ${name} ${options}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const drop = (): Promise<void> => onServer(server, `DROP DATABASE ${name} WITH (FORCE)`);
  try {
    await prepare(url.href);
  } catch (error) {
    await drop();
    throw error;
  }
  return { url: url.href, drop };
}

async function onServer(url: string, sql: string): Promise<void> {
  await withClient(url, (client) => client.query(sql));
}

async function withClient(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
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
