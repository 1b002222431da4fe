import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { createDataSource } from '../data-source';
import { Database } from '../database';
import { migrate } from '../migrate';

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A busy machine may take long to begin one more process of PostgreSQL. */
const CONNECT_TIMEOUT_MS = 20_000;
const DEFAULT_URL = 'postgres://postgres@127.0.0.1:5432/postgres';

/** A fresh database with every migration applied, on the server that DATABASE_URL names. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = process.env.DATABASE_URL ?? DEFAULT_URL;
  const name = `sluice_test_${randomBytes(6).toString('hex')}`;
  await onServer(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const drop = (): Promise<void> => onServer(server, `DROP DATABASE ${name} WITH (FORCE)`);
  try {
    await migrate(url.href);
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
