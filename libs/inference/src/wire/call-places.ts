import { SharedPool } from '@libs/contracts';

/** A call's place at a provider: a connection, or one in the line for them. */
export interface CallPlace {
  /** Runs `begin` as soon as the call may have a connection: now, or when others have given theirs back. */
  start(begin: () => void): void;
  /** Gives the place back. Called once. */
  leave(): void;
}

/**
 * The connections to one provider, and a line of as many calls that wait for one. Both are shared: a caller with many
 * slow answers leaves connections for others, and its waiting calls let those of others pass.
 */
export class CallPlaces {
  readonly #running: SharedPool;
  readonly #waiting: SharedPool;
  /** In the order in which they came. */
  readonly #line = new Set<Place>();

  /** @param weights of what a call's holders may have, as `SharedPool` has them; none where callers need no shares */
  constructor(connections: number, weights: readonly number[]) {
    this.#running = new SharedPool(connections, weights);
    this.#waiting = new SharedPool(connections, weights);
  }

  get taken(): number {
    return this.#running.taken + this.#waiting.taken;
  }

  /** Returns null where even the line has no place for the holders. */
  enter(holders: readonly string[]): CallPlace | null {
    if (this.#running.take(holders)) return new Place(this, holders, true);
    if (!this.#waiting.take(holders)) return null;
    const place = new Place(this, holders, false);
    this.#line.add(place);
    return place;
  }

  leave(place: Place): void {
    if (this.#line.delete(place)) return this.#waiting.give(place.holders);
    this.#running.give(place.holders);
    for (const next of this.#line) {
      if (this.#running.taken === this.#running.size) return;
      if (this.#running.take(next.holders)) this.#advance(next);
    }
  }

  #advance(next: Place): void {
    this.#line.delete(next);
    this.#waiting.give(next.holders);
    next.advance();
  }
}

class Place implements CallPlace {
  #begin: (() => void) | null = null;

  constructor(
    private readonly places: CallPlaces,
    readonly holders: readonly string[],
    private mayRun: boolean,
  ) {}

  start(begin: () => void): void {
    if (this.mayRun) begin();
    else this.#begin = begin;
  }

  advance(): void {
    this.mayRun = true;
    this.#begin?.();
    this.#begin = null;
  }

  leave(): void {
    this.#begin = null;
    this.places.leave(this);
  }
}
