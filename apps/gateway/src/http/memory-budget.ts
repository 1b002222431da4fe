import { SharedPool } from '@libs/contracts';

export interface MemoryBudgetOptions {
  /** How long a request waits for memory. */
  readonly longestWaitMs: number;
  /** Requests that wait at once. */
  readonly mostWaiting: number;
}

const DEFAULTS: MemoryBudgetOptions = { longestWaitMs: 2_000, mostWaiting: 256 };

/** A workspace may hold at most twice what is left for others, its organization three times. */
const WEIGHTS = [2, 3] as const;

interface Waiter {
  readonly holders: readonly string[];
  readonly bytes: number;
  readonly end: (isGranted: boolean) => void;
}

/**
 * The bytes that requests of this process may take together: bodies while they arrive, and what is made of them.
 *
 * A request reserves all that it will need before its body is read, so requests that each have a part never wait for
 * one another. What finds no room waits in a bounded line, which is shared as fairly as the memory itself.
 */
export class MemoryBudget {
  readonly #pool: SharedPool;
  readonly #places: SharedPool;
  readonly #options: MemoryBudgetOptions;
  readonly #waiters = new Set<Waiter>();

  constructor(
    readonly bytes: number,
    options: Partial<MemoryBudgetOptions> = {},
  ) {
    this.#options = { ...DEFAULTS, ...options };
    this.#pool = new SharedPool(bytes, WEIGHTS);
    this.#places = new SharedPool(this.#options.mostWaiting, WEIGHTS);
  }

  get reserved(): number {
    return this.#pool.taken;
  }

  /** Whether more is in use than the budget allows. */
  get isOverdrawn(): boolean {
    return this.#pool.taken > this.bytes;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Returns what the workspace of `holders` has reserved. */
  heldBy(holders: readonly string[]): number {
    return this.#pool.heldBy(holders);
  }

  /** What to reserve for a request of so many bytes: one larger than the whole budget gets all of it, alone. */
  most(bytes: number): number {
    return Math.min(bytes, this.bytes);
  }

  /** The most that one workspace may hold, if no other holds anything. */
  get mostOfOne(): number {
    return Math.floor((this.bytes * WEIGHTS[0]) / (WEIGHTS[0] + 1));
  }

  /** Reserves at once, or returns false. */
  take(holders: readonly string[], bytes: number): boolean {
    return this.#pool.take(holders, bytes);
  }

  /** Reserves what is in use already, beyond the budget if need be. */
  force(holders: readonly string[], bytes: number): void {
    this.#pool.force(holders, bytes);
  }

  /** Resolves with whether the bytes were reserved, at the latest when the longest wait is over. */
  wait(holders: readonly string[], bytes: number): Promise<boolean> {
    if (!this.#places.take(holders)) return Promise.resolve(false);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        holders,
        bytes,
        end: (isGranted) => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          this.#places.give(holders);
          resolve(isGranted);
        },
      };
      const timer = setTimeout(() => waiter.end(false), this.#options.longestWaitMs);
      this.#waiters.add(waiter);
    });
  }

  give(holders: readonly string[], bytes: number): void {
    this.#pool.give(holders, bytes);
    for (const waiter of this.#waiters) {
      if (this.#pool.take(waiter.holders, waiter.bytes)) waiter.end(true);
    }
  }
}
