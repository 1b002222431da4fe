import { WaitingPool, type WaitingPoolOptions } from './waiting-pool';

/**
 * The bytes that requests of this process may take together: bodies while they arrive, and what is made of them.
 *
 * A request reserves all that it will need before its body is read, so requests that each have a part never wait for
 * one another.
 */
export class MemoryBudget extends WaitingPool {
  constructor(
    readonly bytes: number,
    options: Partial<WaitingPoolOptions> = {},
  ) {
    super(bytes, options);
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

  /** Returns what to reserve for so many bytes: a request larger than the whole budget gets all of it, alone. */
  most(bytes: number): number {
    return Math.min(bytes, this.bytes);
  }

  /** Reserves what is in use already, beyond the budget if need be. */
  force(holders: readonly string[], bytes: number): void {
    this.pool.force(holders, bytes);
  }
}
