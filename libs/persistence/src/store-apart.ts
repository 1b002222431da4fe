import { AppError } from '@libs/errors';
import { sqlStateOf } from './session';

/** A row that PostgreSQL did not accept, and the error. */
export interface RefusedRow<Row> {
  readonly row: Row;
  readonly error: unknown;
}

/** The result of storing rows together. */
export interface StoredApart<Row, Result> {
  /** The results of `store` for each part that was stored, with the rows of the part. */
  readonly stored: readonly { readonly rows: readonly Row[]; readonly result: Result }[];
  /** Would be refused again. */
  readonly refused: readonly RefusedRow<Row>[];
  /**
   * Rows that failed individually: too slow, or behind a lock. Storing them later may succeed; others need not wait for
   * them.
   */
  readonly stuck: readonly RefusedRow<Row>[];
  /**
   * Rows left for later because of an error that need not be caused by them; null if there are none. They may be stored
   * nevertheless.
   */
  readonly failed: { readonly rows: readonly Row[]; readonly error: unknown } | null;
}

/**
 * SQLSTATE classes of data exceptions, violated constraints and checks, exceeded limits, and errors that a trigger
 * raises.
 */
const CLASSES_OF_DATA: ReadonlySet<string> = new Set(['22', '23', '44', '54', 'P0']);

/**
 * SQLSTATE classes of the connection, of a transaction that lost against another, and of a server that is full,
 * shutting down or read-only.
 */
const CLASSES_OF_SERVER: ReadonlySet<string> = new Set(['08', '25', '40', '53', '55', '57', '58']);
const LOCKED = '55P03';
/** One statement took too long or too much memory, or waited for a lock: fewer rows may succeed. */
const TOO_HEAVY: ReadonlySet<string> = new Set(['57014', '53200', LOCKED]);
/**
 * Number of parts after such a failure. Each failure takes until a timeout, and this way one slow row of 512 is found
 * with three more.
 */
const PARTS_OF_HEAVY = 8;
/** Statements that may fail for reasons other than data before the rest is left for later. */
const MOST_FAILURES = 64;
/**
 * How often rows are tried together again after a lock timeout if no payer is locked any more, as after a timeout behind
 * another process that waited for a lock itself.
 */
const MOST_REPEATS = 1;
/**
 * Lock timeouts of one payer after which its other rows count as stuck without a try: each try takes until the timeout.
 */
export const MOST_LOCKS_OF_ONE = 2;

/** Returns true for an error that the same rows would cause again, unlike a lost connection or a lock. */
export function isRefusedForItsData(error: unknown): boolean {
  return CLASSES_OF_DATA.has(stateOf(error)?.slice(0, 2) ?? '');
}

/** Returns true if a row could not be written because another session holds its lock. */
export function isLocked(error: unknown): boolean {
  return stateOf(error) === LOCKED;
}

/** `Database` throws problems as `unavailable`, with PostgreSQL's error as the cause. */
function stateOf(error: unknown): string | null {
  return sqlStateOf(error instanceof AppError ? error.cause : error);
}

function isAboutServer(state: string | null): boolean {
  return state === null || (CLASSES_OF_SERVER.has(state.slice(0, 2)) && !TOO_HEAVY.has(state));
}

/** Which rows may wait for the same lock. */
export interface RowLocks<Row, Payer = unknown> {
  /** Returns what a row locks, such as its batch; absent: what its payer locks, or each row by itself. */
  readonly keyOf?: (row: Row) => unknown;
  /** Returns what several keys may lock together, such as the organization that owns many batches; absent: the key. */
  readonly payerOf?: (row: Row) => Payer;
  /** Returns all payers that another session keeps locked, without waiting for a lock; `payerOf` must be given. */
  readonly lockedPayers?: () => Promise<ReadonlySet<Payer>>;
}

/**
 * Stores rows in as few groups as PostgreSQL accepts: a group that it refuses is split, until the failing rows are
 * alone. One refused row among 512 costs about 18 statements. After a lock timeout the rows of locked payers are set
 * apart if they can be found, else each key is tried by itself. Stops at the first failure that is about the server,
 * not the rows.
 * @param store stores its rows, a part of `rows`, in one transaction
 */
export async function storeApart<Row, Result, Payer = unknown>(
  rows: readonly Row[],
  store: (rows: readonly Row[]) => Promise<Result>,
  locking: RowLocks<Row, Payer> = {},
): Promise<StoredApart<Row, Result>> {
  return new Storing<Row, Result, Payer>(store, locking).run(rows);
}

class Storing<Row, Result, Payer> {
  readonly #stored: { rows: readonly Row[]; result: Result }[] = [];
  readonly #refused: RefusedRow<Row>[] = [];
  readonly #stuck: RefusedRow<Row>[] = [];
  /** To be tried, the last one first. */
  readonly #parts: (readonly Row[])[] = [];
  readonly #locks: Locks<Row>;
  #failures = 0;
  #repeats = 0;

  constructor(
    private readonly store: (rows: readonly Row[]) => Promise<Result>,
    private readonly locking: RowLocks<Row, Payer>,
  ) {
    this.#locks = new Locks(locking.payerOf ?? this.#keyOf);
  }

  async run(rows: readonly Row[]): Promise<StoredApart<Row, Result>> {
    if (rows.length > 0) this.#parts.push(rows);
    for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop()) {
      const lock = this.#locks.before(part);
      if (lock !== null) {
        this.#divide(part, lock);
        continue;
      }
      try {
        this.#stored.push({ rows: part, result: await this.store(part) });
      } catch (error) {
        if (!isRefusedForItsData(error)) this.#failures += 1;
        if (isAboutServer(stateOf(error)) || this.#failures > MOST_FAILURES) return this.#leave(part, error);
        await this.#failed(part, error);
      }
    }
    return { ...this.#soFar(), stuck: this.#stuck, failed: null };
  }

  readonly #keyOf = (row: Row): unknown => (this.locking.keyOf ?? this.locking.payerOf ?? identity)(row);

  #soFar(): Pick<StoredApart<Row, Result>, 'stored' | 'refused'> {
    return { stored: this.#stored, refused: this.#refused };
  }

  #leave(part: readonly Row[], error: unknown): StoredApart<Row, Result> {
    const untried = [part, ...this.#parts.toReversed()];
    return { ...this.#soFar(), ...leftFor(error, untried, this.#stuck, this.#stored.length > 0) };
  }

  async #failed(part: readonly Row[], error: unknown): Promise<void> {
    const locked = isLocked(error) ? await this.#lockedOf(part) : null;
    if (locked === null) return this.#divide(part, error);
    if (locked.size > 0) {
      this.#stuck.push(...[...locked].map((row) => ({ row, error })));
      const others = part.filter((row) => !locked.has(row));
      if (others.length > 0) this.#parts.push(others);
    } else if (this.#repeats < MOST_REPEATS) {
      this.#repeats += 1;
      this.#parts.push(part);
    } else {
      this.#divide(part, error);
    }
  }

  /** Returns the rows of locked payers, or null if it cannot be asked which ones are locked. */
  async #lockedOf(part: readonly Row[]): Promise<ReadonlySet<Row> | null> {
    const { payerOf, lockedPayers } = this.locking;
    if (payerOf === undefined || lockedPayers === undefined) return null;
    // If the question fails as well, each key is tried by itself.
    const found = await lockedPayers().catch(() => null);
    return found && new Set(part.filter((row) => found.has(payerOf(row))));
  }

  /** Arranges for smaller parts to be tried, or sets the rows apart. */
  #divide(part: readonly Row[], error: unknown): void {
    const smaller = partsOf(part, error, this.#keyOf);
    if (smaller !== null) return void this.#parts.push(...smaller.toReversed());
    const apart = isRefusedForItsData(error) ? this.#refused : this.#stuck;
    apart.push(...part.map((row) => ({ row, error })));
    if (isLocked(error)) this.#locks.note(part, error);
  }
}

const identity = (row: unknown): unknown => row;

/** Counts the lock timeouts of each payer. */
class Locks<Row> {
  readonly #found = new Map<unknown, { count: number; readonly error: unknown }>();

  constructor(private readonly payerOf: (row: Row) => unknown) {}

  note(part: readonly Row[], error: unknown): void {
    const payer = this.payerOf(part[0]!);
    const { count } = this.#found.get(payer) ?? { count: 0 };
    this.#found.set(payer, { count: count + 1, error });
  }

  /** Returns the error of the last lock timeout if the part must not be tried, else null. */
  before(part: readonly Row[]): unknown {
    if (this.#found.size === 0) return null;
    const payer = this.payerOf(part[0]!);
    const found = this.#found.get(payer);
    if (found === undefined || found.count < MOST_LOCKS_OF_ONE) return null;
    return part.every((row) => this.payerOf(row) === payer) ? found.error : null;
  }
}

/** Returns smaller parts to try, or null if the part cannot be split any further. */
function partsOf<Row>(part: readonly Row[], error: unknown, keyOf: (row: Row) => unknown): Row[][] | null {
  if (isLocked(error)) {
    const byKey = [...Map.groupBy(part, keyOf).values()];
    return byKey.length > 1 ? byKey : null;
  }
  if (part.length === 1) return null;
  const size = Math.ceil(part.length / (TOO_HEAVY.has(stateOf(error) ?? '') ? PARTS_OF_HEAVY : 2));
  return Array.from({ length: Math.ceil(part.length / size) }, (_, index) =>
    part.slice(index * size, (index + 1) * size),
  );
}

/**
 * If nothing at all was stored, the rows that failed individually are treated like the others, except those behind a
 * lock: a server that says so is there.
 */
function leftFor<Row>(
  error: unknown,
  untried: readonly (readonly Row[])[],
  stuck: readonly RefusedRow<Row>[],
  isSomeStored: boolean,
): Pick<StoredApart<Row, never>, 'stuck' | 'failed'> {
  const apart = isSomeStored ? stuck : stuck.filter((one) => isLocked(one.error));
  const others = isSomeStored ? [] : stuck.filter((one) => !isLocked(one.error));
  return { stuck: apart, failed: { rows: [...others.map(({ row }) => row), ...untried.flat()], error } };
}
