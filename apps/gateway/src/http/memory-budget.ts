import { WaitingPool, type WaitingPoolOptions } from './waiting-pool';

/** A request of this size is small: it needs no room for others. Larger ones leave a share of the budget. */
const SMALL_BYTES = 1024 * 1024;

/**
 * The bytes that requests of this process may use together: bodies while they arrive, and the data made from them.
 *
 * A request reserves everything that it will need before its body is read, so requests never wait for each other while
 * holding a part.
 */
export class MemoryBudget extends WaitingPool {
  constructor(
    readonly bytes: number,
    options: Partial<WaitingPoolOptions> = {},
  ) {
    super(bytes, { smallAmount: SMALL_BYTES, ...options });
  }

  get reserved(): number {
    return this.pool.taken;
  }

  /** Whether more is in use than the budget allows. */
  get isOverdrawn(): boolean {
    return this.pool.taken > this.bytes;
  }

  /** Returns what the workspace of `holders` has reserved. */
  heldBy(holders: readonly string[]): number {
    return this.pool.heldBy(holders);
  }

  /**
   * Returns how much to reserve for this many bytes. A request that is larger than what one workspace may hold reserves
   * that; the rest is for others, which would wait for as long as its body arrives.
   */
  most(bytes: number): number {
    return Math.min(bytes, this.mostOfOne);
  }

  /** Reserves memory that is already in use, even beyond the budget. */
  force(holders: readonly string[], bytes: number): void {
    this.pool.force(holders, bytes);
  }
}
