import { LINKS, type Place } from './media-places';

/** The places of values by nesting depth, for the running scan. */
export class PlaceTrack {
  /** Place of the value of the last name, and of the object that contains it, by depth. */
  readonly #at: Place[];
  readonly #around: Place[];
  /** True inside an unknown field, where media may be text. */
  readonly #isUnclear: Uint8Array;

  constructor(mostDepth: number) {
    this.#at = Array.from({ length: mostDepth + 1 }, () => 'text');
    this.#around = [...this.#at];
    this.#isUnclear = new Uint8Array(mostDepth + 1);
  }

  begin(): void {
    this.#at[0] = 'text';
    this.#isUnclear[0] = 0;
  }

  at(depth: number): Place {
    return this.#at[depth]!;
  }

  around(depth: number): Place {
    return this.#around[depth]!;
  }

  isUnclear(depth: number): boolean {
    return this.#isUnclear[depth] === 1;
  }

  enter(depth: number, place: Place): void {
    this.#at[depth] = place;
  }

  open(depth: number, isList: boolean): void {
    const around = this.#at[depth - 1]!;
    this.#around[depth] = around;
    this.#isUnclear[depth] = around === 'other' ? 1 : this.#isUnclear[depth - 1]!;
    // The elements of a list of links have the place of the list's name.
    this.#at[depth] = around === 'json' || (isList && LINKS.has(around)) ? around : 'text';
  }
}
