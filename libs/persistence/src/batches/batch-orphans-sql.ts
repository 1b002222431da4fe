import { endOfStem } from './batch-figures-sql';

const MOST_ORPHANS = 1_000;

/** Tables whose rows refer to their batch by number. */
const NUMBERED_TABLES = { lines: 'batch_lines', results: 'batch_results', segments: 'batch_segments' } as const;

type NumberedKind = keyof typeof NUMBERED_TABLES;

/**
 * SQL for up to 1,000 batch numbers above `$1` that occur in a table but belong to no batch. Removed batches and those
 * past their retention keep their row, so they are not included.
 *
 * Goes from one number to the next by the index: each batch costs a lookup in each partition, however many rows it has.
 */
export const orphansSql = (kind: NumberedKind): string => {
  const table = NUMBERED_TABLES[kind];
  const next = (after: string): string =>
    `SELECT batch_number AS number FROM ${table} WHERE batch_number > ${after} ORDER BY batch_number LIMIT 1`;
  return `
    WITH RECURSIVE numbers AS (
      (${next('$1::bigint')})
      UNION ALL
      SELECT following.number FROM numbers n CROSS JOIN LATERAL (${next('n.number')}) following
    ), orphans AS (
      SELECT number FROM numbers n WHERE NOT EXISTS (SELECT 1 FROM batches b WHERE b.number = n.number)
      LIMIT ${MOST_ORPHANS}
    )
    SELECT number, (SELECT count(*)::integer FROM ${table} WHERE batch_number = o.number) AS count
    FROM orphans o ORDER BY number`;
};

/**
 * SQL for up to 1,000 beginnings of batch ids that occur in charges but belong to no batch. `$1`: the ids' earliest
 * time, in seconds since the epoch. Goes from one batch to the next by the primary key of `ledger_transfers`.
 */
export const ORPHAN_CHARGES_SQL = `
  WITH RECURSIVE stems AS (
    (${nextCharge(`reference >= 'gen-batch-' || $1::text`)})
    UNION ALL
    SELECT following.stem FROM stems s CROSS JOIN LATERAL (${nextCharge(`reference > ${endOfStem('s.stem')}`)}) following
  ), orphans AS (
    SELECT substr(stem, 5) AS id, stem FROM stems s WHERE NOT EXISTS (
      SELECT 1 FROM batches b WHERE b.id BETWEEN substr(s.stem, 5) AND ${endOfStem('substr(s.stem, 5)')}
        AND left(b.id, -6) = substr(s.stem, 5))
    LIMIT ${MOST_ORPHANS}
  )
  SELECT id, (SELECT count(*)::integer FROM ledger_transfers t
    WHERE t.kind = 'charge' AND t.reference BETWEEN o.stem AND ${endOfStem('o.stem')}) AS count
  FROM orphans o ORDER BY id`;

/** Returns SQL for the next stem; a reference that is not a line id is returned whole. */
function nextCharge(condition: string): string {
  return `SELECT coalesce(substring(reference FROM '^gen-batch-[0-9]{1,11}-[0-9A-Za-z]{14}'), reference) AS stem
    FROM ledger_transfers WHERE kind = 'charge' AND ${condition} AND reference < 'gen-batch-z' ORDER BY reference LIMIT 1`;
}
