import type { Database } from '@libs/persistence';

const TABLES = [
  'batches',
  'batch_lines',
  'batch_segments',
  'batch_results',
  'ledger_holds',
  'ledger_transfers',
  'outbox',
  'generations',
  'api_keys',
  'workspaces',
  'credentials',
] as const;

/** How many rows stand in each table, and what is held; what a refusal leaves behind shows here. */
export type StoredRows = Readonly<Record<(typeof TABLES)[number] | 'held_usd', string>>;

export async function countRows(database: Database): Promise<StoredRows> {
  const counts = TABLES.map((table) => `(SELECT count(*) FROM ${table})::text AS ${table}`);
  const held = `(SELECT coalesce(sum(held_usd), 0)::text FROM ledger_accounts) AS held_usd`;
  const row = await database.firstRow<StoredRows>({ sql: `SELECT ${[...counts, held].join(', ')}`, values: [] });
  return row!;
}
