import type { Database } from '@libs/persistence';

/** The rows of every table of the installation, counted; those of partitions under their parent. */
export async function rowsOfTables(database: Database): Promise<ReadonlyMap<string, number>> {
  const tables = await database.rows<{ name: string }>({
    sql: `SELECT relname AS name FROM pg_class
          WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname`,
  });
  const counts = tables.map(({ name }) => `SELECT '${name}' AS name, count(*)::integer AS rows FROM "${name}"`);
  const rows = await database.rows<{ name: string; rows: number }>({ sql: counts.join(' UNION ALL ') });
  return new Map(rows.map(({ name, rows: count }) => [name, count]));
}

/** By how many rows each table has grown, of those that have. */
export function growthOf(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Map<string, number> {
  const grown = [...after].map(([name, rows]) => [name, rows - (before.get(name) ?? 0)] as const);
  return new Map(grown.filter(([, rows]) => rows !== 0));
}

/** What a table takes on disk with its indexes, live rows or not. */
export async function bytesOf(database: Database, table: string): Promise<number> {
  const row = await database.firstRow<{ bytes: number }>({
    sql: 'SELECT pg_total_relation_size($1::regclass)::float8 AS bytes',
    values: [table],
  });
  return row!.bytes;
}
