import type { Session } from '../database';

/** Identifies the bulk rows of an upload. */
interface BulkKey {
  readonly number: bigint;
  readonly createdOn: string;
}

/** PostgreSQL's counts of an upload. */
export interface StoredUpload {
  /** True if there is a line, and a position in a segment, for each of 0…total−1, and no others. */
  readonly isWhole: boolean;
  readonly lines: string;
  readonly segments: string;
}

/**
 * Line numbers are unique and not negative. So if there are `total` of them and the last is `total` − 1, none is
 * missing.
 */
const IS_WHOLE_SQL = `
  SELECT lines.n AS lines, segments.n AS segments,
    lines.n = $3 AND lines.first = 0 AND lines.last = $3 - 1
      AND segments.n > 0 AND segments.joined AND segments.last = $3 - 1 AS "isWhole"
  FROM (
    SELECT count(*) AS n, min(seq) AS first, max(seq) AS last FROM batch_lines
    WHERE created_on = $1 AND batch_number = $2
  ) lines, (
    SELECT count(*) AS n, bool_and(first_seq = next_seq AND last_seq >= first_seq) AS joined, max(last_seq) AS last
    FROM (SELECT first_seq, last_seq, coalesce(lag(last_seq) OVER (ORDER BY number) + 1, 0) AS next_seq
          FROM batch_segments WHERE created_on = $1 AND batch_number = $2) s
  ) segments`;

export async function storedUploadOf(session: Session, key: BulkKey, total: number): Promise<StoredUpload> {
  const row = await session.firstRow<StoredUpload>({
    name: 'batch-is-whole',
    sql: IS_WHOLE_SQL,
    values: [key.createdOn, key.number, total],
  });
  return row ?? { isWhole: false, lines: '0', segments: '0' };
}

/**
 * Removes the bulk rows of an upload if its `receiving` row existed and was removed. Transactions that write bulk rows
 * or accept the batch hold the lock on that row, so none of them can interleave. If the row does not exist nothing is
 * removed: it was removed together with its bulk rows, or the number is that of an accepted batch.
 * @param which `stale`: only if its lease has expired, as PostgreSQL sees it now
 */
export async function discardRows(session: Session, key: BulkKey, which: 'any' | 'stale' = 'any'): Promise<boolean> {
  await session.mayTake(60);
  const bulk = { values: [key.number, key.createdOn] };
  const removed = await session.execute({
    sql: `DELETE FROM batches WHERE number = $1 AND created_on = $2 AND status = 'receiving'
          ${which === 'stale' ? 'AND lease_until < now()' : ''}`,
    ...bulk,
  });
  if (removed !== 1) return false;
  await session.execute({ sql: 'DELETE FROM batch_segments WHERE batch_number = $1 AND created_on = $2', ...bulk });
  await session.execute({ sql: 'DELETE FROM batch_lines WHERE batch_number = $1 AND created_on = $2', ...bulk });
  return true;
}
