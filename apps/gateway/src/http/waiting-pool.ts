import { SharedPool } from '@libs/contracts';

export interface WaitingPoolOptions {
  /** How long a request waits for its part. */
  readonly longestWaitMs: number;
  /** Requests that wait at once. */
  readonly mostWaiting: number;
}

const DEFAULTS: WaitingPoolOptions = { longestWaitMs: 2_000, mostWaiting: 256 };

/** A workspace may hold at most twice what is left for others, its organization three times. */
const WEIGHTS = [2, 3] as const;

interface Waiter {
  readonly holders: readonly string[];
  readonly amount: number;
  readonly end: (isGranted: boolean) => void;
}

/** A pool that workspaces share. Requests that find no room wait in a bounded queue, which is shared as fairly. */
export class WaitingPool {
  protected readonly pool: SharedPool;
  readonly #places: SharedPool;
  readonly #options: WaitingPoolOptions;
  readonly #waiters = new Set<Waiter>();

  constructor(size: number, options: Partial<WaitingPoolOptions> = {}) {
    this.#options = { ...DEFAULTS, ...options };
    this.pool = new SharedPool(size, WEIGHTS);
    this.#places = new SharedPool(this.#options.mostWaiting, WEIGHTS);
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** The most that one workspace may hold, if no other holds anything. */
  get mostOfOne(): number {
    return Math.floor((this.pool.size * WEIGHTS[0]) / (WEIGHTS[0] + 1));
  }

  /** Takes the amount at once, or returns false. */
  take(holders: readonly string[], amount: number): boolean {
    return this.pool.take(holders, amount);
  }

  /** Resolves with whether the amount was taken, at the latest when the longest wait is over. */
  wait(holders: readonly string[], amount: number): Promise<boolean> {
    if (!this.#places.take(holders)) return Promise.resolve(false);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        holders,
        amount,
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

  give(holders: readonly string[], amount: number): void {
    this.pool.give(holders, amount);
    for (const waiter of this.#waiters) {
      if (this.pool.take(waiter.holders, waiter.amount)) waiter.end(true);
    }
  }
}
