import type { SharedPool } from './shared-pool';

interface Waiter {
  readonly holders: readonly string[];
  readonly amount: number;
  readonly enter: () => void;
}

/**
 * A shared pool with a queue of callers that wait for a part of it. The queue is shared in the same way, and callers
 * for whom the pool has no room let others pass.
 */
export class SharedLine {
  /** In the order of their arrival. */
  readonly #waiters = new Set<Waiter>();

  /** @param places in the line, one for each that waits */
  constructor(
    readonly pool: SharedPool,
    readonly places: SharedPool,
  ) {}

  /** Number of those that wait. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Waits in the queue for an amount. `enter` is called after it has been taken for the holders.
   * @returns a function that leaves the queue; null if the queue has no room for the holders
   */
  wait(holders: readonly string[], amount: number, enter: () => void): (() => void) | null {
    if (!this.places.take(holders)) return null;
    const waiter: Waiter = { holders, amount, enter };
    this.#waiters.add(waiter);
    return () => this.#leave(waiter);
  }

  /** Returns an amount to the pool, and admits waiting callers for whom there is room now. */
  give(holders: readonly string[], amount: number): void {
    this.pool.give(holders, amount);
    for (const waiter of this.#waiters) {
      if (this.pool.taken >= this.pool.size) return;
      if (!this.pool.take(waiter.holders, waiter.amount)) continue;
      this.#leave(waiter);
      waiter.enter();
    }
  }

  #leave(waiter: Waiter): void {
    if (this.#waiters.delete(waiter)) this.places.give(waiter.holders);
  }
}
