import type { Database } from '../database';

/** Left out: NOT NULL as a constraint of its own (PostgreSQL 18), indexes of constraints, and partitions. */
const LISTING = `
  WITH tables AS (
    SELECT oid, relname AS name, relrowsecurity AS has_row_security, pg_get_partkeydef(oid) AS partition_key
    FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      AND relname <> 'migrations'
  )
  SELECT name, 0 AS part, 0 AS place, 'table ' || name
    || coalesce(' partition by ' || partition_key, '') || CASE WHEN has_row_security THEN ' row security' ELSE '' END
    AS line
  FROM tables
  UNION ALL
  SELECT name, 1, attnum, '  ' || attname || ' ' || format_type(atttypid, atttypmod)
    || CASE WHEN attnotnull THEN ' not null' ELSE '' END
    || CASE attidentity WHEN 'a' THEN ' generated always as identity' WHEN 'd' THEN ' generated as identity' ELSE '' END
    || coalesce(' default ' || pg_get_expr(adbin, adrelid), '')
  FROM tables
  JOIN pg_attribute ON attrelid = oid AND attnum > 0 AND NOT attisdropped
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  UNION ALL
  SELECT name, 2, 0, '  constraint ' || conname || ' ' || pg_get_constraintdef(c.oid)
  FROM tables JOIN pg_constraint c ON conrelid = tables.oid AND contype IN ('p', 'u', 'f', 'c', 'x')
  UNION ALL
  SELECT name, 3, 0, '  ' || replace(pg_get_indexdef(indexrelid), ' ON ONLY public.', ' ON public.')
  FROM tables JOIN pg_index ON indrelid = tables.oid
  WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid)
  UNION ALL
  SELECT name, 4, 0, '  ' || pg_get_triggerdef(t.oid)
  FROM tables JOIN pg_trigger t ON tgrelid = tables.oid AND NOT tgisinternal
  ORDER BY name, part, place, line`;

/** Returns the tables of a database, one line each for a table, a column, a constraint, an index and a trigger. */
export async function listSchema(database: Database): Promise<readonly string[]> {
  const rows = await database.rows<{ line: string }>({ name: 'list-schema', sql: LISTING, values: [] });
  return rows.map(({ line }) => line.replaceAll(/\s*\n\s*/g, ' '));
}
