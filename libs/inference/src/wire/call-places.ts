import { SharedLine, SharedPool } from '@libs/contracts';

/** A call's place at a provider: a connection, or a position in the queue for one. */
export interface CallPlace {
  /** Runs `begin` as soon as the call may have a connection: at once, or when other calls have ended. */
  start(begin: () => void): void;
  /** Releases the place. Must be called once. */
  leave(): void;
}

/**
 * The connections to one provider, and a queue of calls that wait for one; its length equals the number of connections.
 * A caller with many slow answers cannot take all connections, and its waiting calls let calls of others pass.
 */
export class CallPlaces {
  readonly #line: SharedLine;

  /** @param weights of the holders of calls, as in `SharedPool`; empty if one holder may have all connections */
  constructor(connections: number, weights: readonly number[]) {
    this.#line = new SharedLine(new SharedPool(connections, weights), new SharedPool(connections, weights));
  }

  /** Number of calls that have a connection or wait for one. */
  get taken(): number {
    return this.#line.pool.taken + this.#line.waiting;
  }

  /** Returns a place for a call; null if even the queue has no room for its holders. */
  enter(holders: readonly string[]): CallPlace | null {
    const place = new Place(this.#line, holders);
    return place.enter() ? place : null;
  }
}

class Place implements CallPlace {
  #begin: (() => void) | null = null;
  /** Removes a call from the queue; null once the call may have a connection. */
  #leaveLine: (() => void) | null = null;

  constructor(
    private readonly line: SharedLine,
    private readonly holders: readonly string[],
  ) {}

  enter(): boolean {
    if (this.line.pool.take(this.holders)) return true;
    this.#leaveLine = this.line.wait(this.holders, 1, () => this.#advance());
    return this.#leaveLine !== null;
  }

  start(begin: () => void): void {
    if (this.#leaveLine === null) begin();
    else this.#begin = begin;
  }

  leave(): void {
    this.#begin = null;
    if (this.#leaveLine === null) this.line.give(this.holders, 1);
    else this.#leaveLine();
  }

  #advance(): void {
    const begin = this.#begin;
    this.#leaveLine = null;
    this.#begin = null;
    begin?.();
  }
}
