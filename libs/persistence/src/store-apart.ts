import { sqlStateOf } from './session';

/** What PostgreSQL refused, and why. */
export interface RefusedRow<Row> {
  readonly row: Row;
  readonly error: unknown;
}

/** What became of rows that were to be stored together. */
export interface StoredApart<Row, Result> {
  /** What `store` returned for each part that was stored, with the rows of the part. */
  readonly stored: readonly { readonly rows: readonly Row[]; readonly result: Result }[];
  /** Would be refused again. */
  readonly refused: readonly RefusedRow<Row>[];
  /** Failed for a reason that is not in the rows; null when none did. They may be stored all the same. */
  readonly failed: { readonly rows: readonly Row[]; readonly error: unknown } | null;
}

/** Data exceptions, violated constraints and checks, exceeded limits, and what a trigger raises. */
const CLASSES_OF_DATA: ReadonlySet<string> = new Set(['22', '23', '44', '54', 'P0']);

/** Returns true for an error that the same rows would cause again, unlike a lost connection or a lock. */
export function isRefusedForItsData(error: unknown): boolean {
  return CLASSES_OF_DATA.has(sqlStateOf(error)?.slice(0, 2) ?? '');
}

/**
 * Stores rows in as few groups as PostgreSQL takes: a group that is refused for its data is halved, until the refused
 * rows are alone. One refused row among 512 costs about 18 statements. Stops at the first failure of another kind.
 *
 * @param store stores its rows in one transaction; a part of `rows`, in their order
 */
export async function storeApart<Row, Result>(
  rows: readonly Row[],
  store: (rows: readonly Row[]) => Promise<Result>,
): Promise<StoredApart<Row, Result>> {
  const stored: { rows: readonly Row[]; result: Result }[] = [];
  const refused: RefusedRow<Row>[] = [];
  const parts: (readonly Row[])[] = rows.length === 0 ? [] : [rows];
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    try {
      stored.push({ rows: part, result: await store(part) });
    } catch (error) {
      if (!isRefusedForItsData(error)) {
        const left = [...part, ...parts.toReversed().flat()];
        return { stored, refused, failed: { rows: left, error } };
      }
      const half = Math.ceil(part.length / 2);
      if (part.length === 1) refused.push({ row: part[0]!, error });
      else parts.push(part.slice(half), part.slice(0, half));
    }
  }
  return { stored, refused, failed: null };
}
