import { createDataSource } from '../data-source';
import { Database } from '../database';
import { GenerationsRepository } from '../generations/generations.repository';
import { LedgerRepository } from '../ledger/ledger.repository';
import type { Books } from './books';
import { createTestDatabase } from './test-database';

/** A ledger in a database of its own whose clock the spec sets. */
export interface ClockedBooks extends Books {
  /** Sets the time of all statements that begin from now on. */
  setTime(time: Date): Promise<void>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 20_000;

/** Every connection finds this `now()` before PostgreSQL's. Statements that run keep the time of their snapshot. */
const CLOCK = [
  'CREATE SCHEMA clock',
  'CREATE TABLE clock.face (at timestamptz NOT NULL)',
  'INSERT INTO clock.face VALUES (pg_catalog.now())',
  'CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT at FROM clock.face $$',
  'ALTER TABLE ledger_transfers ALTER COLUMN created_at SET DEFAULT clock.now()',
  'GRANT USAGE ON SCHEMA clock TO PUBLIC',
  'GRANT SELECT ON clock.face TO PUBLIC',
  `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = clock, public, pg_catalog', current_database()); END $$`,
];

export async function openClockedBooks(): Promise<ClockedBooks> {
  const created = await createTestDatabase();
  const options = { url: created.url, connectTimeoutMs: CONNECT_TIMEOUT_MS };
  const before = await createDataSource(options).initialize();
  for (const sql of CLOCK) await before.query(sql);
  await before.destroy();
  const dataSource = await createDataSource(options).initialize();
  const database = new Database(dataSource);
  return {
    database,
    ledger: new LedgerRepository(database),
    generations: new GenerationsRepository(database),
    setTime: async (time) => {
      await database.execute({ sql: 'UPDATE clock.face SET at = $1::timestamptz', values: [time.toISOString()] });
    },
    close: async () => {
      await dataSource.destroy();
      await created.drop();
    },
  };
}
