import { setTimeout as delay } from 'node:timers/promises';
import type { RefusedRow } from './store-apart';
import { StuckRows } from './stuck-rows';

const LONGEST_RETRY_MS = 5_000;

/** The result of storing rows together. */
export interface GroupTry<Row> {
  /** Rows to store again after a pause, before all others. */
  readonly left: readonly Row[];
  /** Rows to store again one by one, while the others continue. */
  readonly stuck: readonly RefusedRow<Row>[];
  /** Null if no row is left or stuck. */
  readonly error: unknown;
}

export interface GroupCommitOptions<Row, Try extends GroupTry<Row>> {
  /** How long rows wait for others to join their group. */
  readonly gatherMs: number;
  /** Most rows of one group. */
  readonly mostRows: number;
  /** Number of rows that wait no longer; `mostRows` if absent. */
  readonly fullRows?: number;
  /** A group is closed when it reaches this weight. */
  readonly mostWeight?: number;
  readonly weightOf?: (row: Row) => number;
  readonly firstRetryMs?: number;
  /** As in {@link StuckRows}. */
  readonly keyOf?: (row: Row) => unknown;
  readonly payerOf?: (row: Row) => unknown;
  readonly lockedOf?: (rows: readonly Row[]) => Promise<readonly Row[]>;
  /** Never throws. Returns nothing if no row can be left or stuck. */
  readonly store: (rows: readonly Row[]) => Promise<Try | void>;
  /** Called when rows to store again are back in their places. */
  readonly onTried?: (tried: Try, isFirstFailure: boolean) => void;
}

/**
 * Collects rows and stores them in groups, one group at a time: rows that wait when a group is done form the next one.
 * No row is dropped: rows that PostgreSQL did not accept are retried for as long as the process lives.
 */
export class GroupCommit<Row extends object, Try extends GroupTry<Row> = GroupTry<Row>> {
  readonly #stuck: StuckRows<Row>;
  #waiting: Row[] = [];
  #waitingWeight = 0;
  #storing: readonly Row[] = [];
  #storingWeight = 0;
  #running: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isHurried = false;
  #isFlushing = false;
  #failures = 0;

  constructor(private readonly options: GroupCommitOptions<Row, Try>) {
    this.#stuck = new StuckRows({
      keyOf: options.keyOf ?? ((row) => row),
      payerOf: options.payerOf,
      lockedOf: options.lockedOf,
      store: (row) => this.#storeAlone(row),
      onFree: (rows) => rows.forEach((row) => this.add(row)),
    });
  }

  /** Rows that no group has taken yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Rows that are not stored. */
  get size(): number {
    return this.#waiting.length + this.#storing.length + this.#stuck.size;
  }

  get weight(): number {
    return this.#waitingWeight + this.#storingWeight + this.#weigh(this.#stuck.rows());
  }

  get isFlushing(): boolean {
    return this.#isFlushing;
  }

  add(row: Row): void {
    if (this.#stuck.keepIfLocked(row)) return;
    this.#waiting.push(row);
    this.#waitingWeight += this.options.weightOf?.(row) ?? 0;
    this.#arrange();
  }

  /** Stores the waiting rows without waiting for more. */
  hurry(): void {
    this.#isHurried = this.#waiting.length > 0;
    this.#arrange();
  }

  /** Resolves when nothing is left to store. */
  async flush(): Promise<void> {
    this.#isFlushing = true;
    while (this.size > 0) {
      this.#arrange();
      await this.#running;
      await this.#stuck.settled();
    }
    this.#isFlushing = false;
  }

  /** Returns the rows that are not stored, except those that wait separately. */
  rows(): readonly Row[] {
    return [...this.#storing, ...this.#waiting];
  }

  #arrange(): void {
    if (this.#running !== null || this.#waiting.length === 0) return;
    const { gatherMs, mostRows, fullRows = mostRows, mostWeight = Infinity } = this.options;
    const isFull = this.#waiting.length >= fullRows || this.#waitingWeight >= mostWeight;
    if (isFull || this.#isHurried || this.#isFlushing) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), gatherMs);
  }

  #begin(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#running = this.#storeGroup(this.#take()).finally(() => {
      this.#running = null;
      this.#arrange();
    });
  }

  #take(): readonly Row[] {
    const { mostRows, mostWeight = Infinity, weightOf } = this.options;
    let [count, weight] = [0, 0];
    while (count < this.#waiting.length && count < mostRows && weight < mostWeight) {
      weight += weightOf?.(this.#waiting[count]!) ?? 0;
      count += 1;
    }
    this.#isHurried = false;
    this.#waitingWeight -= weight;
    this.#storingWeight = weight;
    this.#storing = this.#waiting.splice(0, count);
    return this.#storing;
  }

  async #storeGroup(group: readonly Row[]): Promise<void> {
    const tried = await this.options.store(group);
    this.#storing = [];
    this.#storingWeight = 0;
    if (!tried) return;
    const { left, stuck, error } = tried;
    if (error !== null) {
      this.#stuck.add(stuck);
      this.#waiting = [...left, ...this.#waiting].filter((row) => !this.#stuck.keepIfLocked(row));
      this.#waitingWeight = this.#weigh(this.#waiting);
    }
    this.options.onTried?.(tried, this.#failures === 0);
    this.#failures = left.length === 0 ? 0 : this.#failures + 1;
    if (this.#failures > 0) await delay(this.#retryMs());
  }

  #retryMs(): number {
    const { firstRetryMs = LONGEST_RETRY_MS } = this.options;
    const longestMs = Math.min(LONGEST_RETRY_MS, firstRetryMs * 2 ** Math.min(this.#failures - 1, 10));
    return longestMs * (0.5 + Math.random() / 2);
  }

  async #storeAlone(row: Row): Promise<unknown> {
    const tried = await this.options.store([row]);
    if (!tried) return null;
    if (tried.error === null) this.options.onTried?.(tried, false);
    return tried.error;
  }

  #weigh(rows: readonly Row[]): number {
    const { weightOf } = this.options;
    return weightOf === undefined ? 0 : rows.reduce((sum, row) => sum + weightOf(row), 0);
  }
}
