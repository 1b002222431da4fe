import type { DataSource } from 'typeorm';
import { createDataSource, type EntityClass } from '../data-source';
import { Database } from '../database';
import { storePropertiedTenant, type PropertiedTenant } from './tenant-fixture';
import { createTestDatabase } from './test-database';

/** A database in which two tenants have a row in each table. */
export interface TwoTenants {
  readonly url: string;
  /** With one connection, so that each session reuses the one of the session before. */
  readonly database: Database;
  /** The same, as the login sees it. */
  readonly dataSource: DataSource;
  readonly mine: PropertiedTenant;
  readonly theirs: PropertiedTenant;
  close(): Promise<void>;
}

export async function openTwoTenants(entities: readonly EntityClass[] = []): Promise<TwoTenants> {
  const created = await createTestDatabase();
  const dataSource = await createDataSource({ url: created.url, entities, poolSize: 1 }).initialize();
  const database = new Database(dataSource);
  const mine = await storePropertiedTenant(database, -1);
  const theirs = await storePropertiedTenant(database, -2);
  const close = async (): Promise<void> => {
    await dataSource.destroy();
    await created.drop();
  };
  return { url: created.url, database, dataSource, mine, theirs, close };
}
