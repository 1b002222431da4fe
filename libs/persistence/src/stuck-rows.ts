import { isLocked, MOST_LOCKS_OF_ONE, type RefusedRow } from './store-apart';

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 60_000;

export interface StuckRowsOptions<Row> {
  /** Returns what a row locks, such as its account. */
  readonly keyOf: (row: Row) => unknown;
  /** Returns what several keys may lock together; absent: each key by itself. */
  readonly payerOf?: (row: Row) => unknown;
  /** Returns the error if the row is still stuck, null when it is stored or given up. Never throws. */
  readonly store: (row: Row) => Promise<unknown>;
  /** Takes rows back whose lock is free. */
  readonly onFree: (rows: readonly Row[]) => void;
}

interface Stuck<Row> {
  readonly rows: Row[];
  failures: number;
  dueMs: number;
}

/**
 * Stores rows that PostgreSQL takes too long to store, separately from the others. One row is tried at a time, with
 * increasing pauses of up to a minute. Rows behind a lock wait together, and one of them is tried for all.
 */
export class StuckRows<Row extends object> {
  readonly #stuck = new Map<unknown, Stuck<Row>>();
  #running: Promise<void> | null = null;
  #endWait: (() => void) | null = null;
  #isHurried = false;

  constructor(private readonly options: StuckRowsOptions<Row>) {}

  get size(): number {
    return this.#stuck.size === 0 ? 0 : this.rows().length;
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
    if (stuck.length > 0) this.#running ??= this.#run();
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
    else this.#stuck.set(key, { rows: [row], failures: 0, dueMs: performance.now() + FIRST_RETRY_MS });
  }

  async #run(): Promise<void> {
    while (this.#stuck.size > 0) {
      const [key, next] = [...this.#stuck].reduce((one, other) => (other[1].dueMs < one[1].dueMs ? other : one));
      await this.#wait(next.dueMs - performance.now());
      await this.#try(key, next);
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
    stuck.failures += 1;
    const longestMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(stuck.failures, 10));
    stuck.dueMs = performance.now() + longestMs * (0.5 + Math.random() / 2);
  }
}
