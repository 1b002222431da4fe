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
  /** Failed for a reason that need not be in the rows; null when none did. They may be stored all the same. */
  readonly failed: { readonly rows: readonly Row[]; readonly error: unknown } | null;
}

/** Data exceptions, violated constraints and checks, exceeded limits, and what a trigger raises. */
const CLASSES_OF_DATA: ReadonlySet<string> = new Set(['22', '23', '44', '54', 'P0']);

/** The connection, a transaction that lost against another, locks, a server that is full, ends or only reads. */
const CLASSES_OF_SERVER: ReadonlySet<string> = new Set(['08', '25', '40', '53', '55', '57', '58']);
/** One statement took too long or too much memory: fewer rows may not. */
const TOO_HEAVY: ReadonlySet<string> = new Set(['57014', '53200']);
/** Statements that may fail for other reasons than data before the rest is left for later. */
const MOST_FAILURES = 64;

/** Returns true for an error that the same rows would cause again, unlike a lost connection or a lock. */
export function isRefusedForItsData(error: unknown): boolean {
  return CLASSES_OF_DATA.has(sqlStateOf(error)?.slice(0, 2) ?? '');
}

function isAboutServer(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === null || (CLASSES_OF_SERVER.has(state.slice(0, 2)) && !TOO_HEAVY.has(state));
}

/**
 * Stores rows in as few groups as PostgreSQL takes: a group that it refuses is halved, until the refused rows are alone.
 * One refused row among 512 costs about 18 statements. Stops at the first failure that is about the server, not the rows.
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
  const failedAlone: Row[] = [];
  let failure: unknown = null;
  let failures = 0;
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    try {
      stored.push({ rows: part, result: await store(part) });
    } catch (error) {
      const isRefused = isRefusedForItsData(error);
      if (!isRefused) failures += 1;
      if (isAboutServer(error) || failures > MOST_FAILURES) {
        const left = [...failedAlone, ...part, ...parts.toReversed().flat()];
        return { stored, refused, failed: { rows: left, error } };
      }
      const half = Math.ceil(part.length / 2);
      if (part.length > 1) parts.push(part.slice(half), part.slice(0, half));
      else if (isRefused) refused.push({ row: part[0]!, error });
      else {
        failedAlone.push(part[0]!);
        failure = error;
      }
    }
  }
  return { stored, refused, failed: failedAlone.length === 0 ? null : { rows: failedAlone, error: failure } };
}
