import { isLocked, MOST_LOCKS_OF_ONE, type RefusedRow } from './store-apart';

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 60_000;
/** A question waits for no lock, so it is repeated sooner. */
const LONGEST_QUESTION_MS = 5_000;

export interface StuckRowsOptions<Row> {
  /** Returns what a row locks, such as its account. */
  readonly keyOf: (row: Row) => unknown;
  /** Returns what several keys may lock together; absent: each key by itself. */
  readonly payerOf?: (row: Row) => unknown;
  /** Returns those rows whose lock is held by another session, without waiting for it. */
  readonly lockedOf?: (rows: readonly Row[]) => Promise<readonly Row[]>;
  /** Returns the error if the row is still stuck, null when it is stored or given up. Never throws. */
  readonly store: (row: Row) => Promise<unknown>;
  /** Takes rows back whose lock is free. */
  readonly onFree: (rows: readonly Row[]) => void;
}

interface Stuck<Row> {
  readonly rows: Row[];
  failures: number;
  dueMs: number;
  /** The last question found that the lock is held. */
  isLocked: boolean;
}

/**
 * Stores rows that PostgreSQL takes too long to store, separately from the others. One row is tried at a time, with
 * increasing pauses of up to a minute. Rows behind a lock wait together, and one of them is tried for all. Where it can
 * be asked whether a lock is held, none of them is tried before it is free.
 */
export class StuckRows<Row extends object> {
  readonly #stuck = new Map<unknown, Stuck<Row>>();
  #running: Promise<void> | null = null;
  #endWait: (() => void) | null = null;
  #isHurried = false;

  constructor(private readonly options: StuckRowsOptions<Row>) {}

  get size(): number {
    let size = 0;
    for (const { rows } of this.#stuck.values()) size += rows.length;
    return size;
  }

  /** Returns the rows that are not stored yet. */
  rows(): Row[] {
    return [...this.#stuck.values()].flatMap(({ rows }) => rows);
  }

  /** Keeps a row if its lock is known to be held. Returns false for any other row, which can be stored now. */
  keepIfLocked(row: Row): boolean {
    if (this.#stuck.size === 0) return false;
    const key = this.options.keyOf(row);
    if (!this.#stuck.has(key) && !this.#isPayerLocked(row)) return false;
    this.#put(key, row);
    return true;
  }

  /** Keeps rows that failed alone. */
  add(stuck: readonly RefusedRow<Row>[]): void {
    for (const { row, error } of stuck) this.#put(isLocked(error) ? this.options.keyOf(row) : row, row);
    if (stuck.length === 0) return;
    this.#endWait?.();
    this.#running ??= this.#run();
  }

  /** Resolves when no row is stuck. Pauses are short from now on. */
  async settled(): Promise<void> {
    this.#isHurried = true;
    this.#endWait?.();
    while (this.#running !== null) await this.#running;
    this.#isHurried = false;
  }

  #isPayerLocked(row: Row): boolean {
    const { payerOf } = this.options;
    if (payerOf === undefined) return false;
    const payer = payerOf(row);
    let locks = 0;
    for (const [key, { rows }] of this.#stuck) {
      // A row that is slow by itself is its own key; it is not behind a lock.
      if (key !== rows[0] && payerOf(rows[0]!) === payer) locks += 1;
    }
    return locks >= MOST_LOCKS_OF_ONE;
  }

  #put(key: unknown, row: Row): void {
    const known = this.#stuck.get(key);
    if (known !== undefined) known.rows.push(row);
    else this.#stuck.set(key, { rows: [row], failures: 0, dueMs: performance.now() + FIRST_RETRY_MS, isLocked: false });
  }

  async #run(): Promise<void> {
    while (this.#stuck.size > 0) {
      const [, soonest] = soonestOf([...this.#stuck])!;
      await this.#wait(soonest.dueMs - performance.now());
      // Another row came that may be due sooner.
      if (!this.#isHurried && soonest.dueMs > performance.now() + 1) continue;
      await this.#askWhatIsLocked();
      const next = soonestOf([...this.#stuck].filter(([, { isLocked: isHeld }]) => !isHeld));
      if (next !== undefined && (next[1] === soonest || next[1].dueMs <= performance.now())) await this.#try(...next);
    }
    this.#running = null;
  }

  async #wait(forMs: number): Promise<void> {
    const waitMs = Math.max(0, this.#isHurried ? Math.min(forMs, FIRST_RETRY_MS) : forMs);
    const waited = Promise.withResolvers<void>();
    const timer = setTimeout(waited.resolve, waitMs);
    this.#endWait = waited.resolve;
    await waited.promise;
    clearTimeout(timer);
    this.#endWait = null;
  }

  /** Lets the rows go whose lock was held at the last question and is not any more. */
  async #askWhatIsLocked(): Promise<void> {
    const { lockedOf, onFree } = this.options;
    if (lockedOf === undefined) return;
    const behindLocks = [...this.#stuck].filter(([key, { rows }]) => key !== rows[0]);
    if (behindLocks.length === 0) return;
    const found = await lockedOf(behindLocks.map(([, { rows }]) => rows[0]!)).catch(() => null);
    const locked = found && new Set(found);
    for (const [key, stuck] of behindLocks) {
      const wasLocked = stuck.isLocked;
      // If the question failed, nothing new is known, and the next try of another row reports why.
      if (locked !== null) stuck.isLocked = locked.has(stuck.rows[0]!);
      if (stuck.isLocked) this.#postpone(stuck, LONGEST_QUESTION_MS);
      if (!wasLocked || stuck.isLocked) continue;
      this.#stuck.delete(key);
      onFree(stuck.rows);
    }
  }

  async #try(key: unknown, stuck: Stuck<Row>): Promise<void> {
    const row = stuck.rows[0]!;
    const error = await this.options.store(row);
    stuck.rows.shift();
    if (error === null) {
      this.#stuck.delete(key);
      this.options.onFree(stuck.rows);
      return;
    }
    // Another row is tried next, because this one may be slow by itself.
    stuck.rows.push(row);
    this.#postpone(stuck, LONGEST_RETRY_MS);
  }

  #postpone(stuck: Stuck<Row>, mostMs: number): void {
    stuck.failures += 1;
    const longestMs = Math.min(mostMs, FIRST_RETRY_MS * 2 ** Math.min(stuck.failures, 10));
    stuck.dueMs = performance.now() + longestMs * (0.5 + Math.random() / 2);
  }
}

function soonestOf<Row>(
  stuck: readonly (readonly [unknown, Stuck<Row>])[],
): readonly [unknown, Stuck<Row>] | undefined {
  return stuck.reduce<readonly [unknown, Stuck<Row>] | undefined>(
    (one, other) => (one === undefined || other[1].dueMs < one[1].dueMs ? other : one),
    undefined,
  );
}
