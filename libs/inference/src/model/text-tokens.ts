import { CLASS_OF, TABLES, UNITS_PER_TOKEN } from './text-automaton';

export { UNITS_PER_TOKEN } from './text-automaton';

/**
 * Bytes whose costs are added up before the sum is split: both sums fit into the halves of one number, because no cost
 * is above 127.
 */
const BYTES_OF_A_BLOCK = 512;

/** Counts a text that arrives in pieces with the same result as for the whole text. */
export class TextCounter {
  /** Units that ordinary text of this kind needs (`UNITS_PER_TOKEN` units are one token). */
  units = 0;
  /** Units that any text needs at least; see `text-automaton.ts`. */
  mostUnits = 0;
  #row = 0;

  /** Counts the bytes of a JSON string between two offsets, without its quotes. */
  add(bytes: Uint8Array, start: number, end: number): this {
    const { rows, costs } = TABLES;
    let row = this.#row;
    for (let at = start; at < end;) {
      const blockEnd = Math.min(end, at + BYTES_OF_A_BLOCK);
      let sums = 0;
      for (; at < blockEnd; at += 1) {
        const index = row | CLASS_OF[bytes[at]!]!;
        sums = (sums + costs[index]!) | 0;
        row = rows[index]!;
      }
      this.units += sums & 0xffff;
      this.mostUnits += sums >>> 16;
    }
    this.#row = row;
    return this;
  }

  /** Raises the count to `units` if it is lower. `units` includes the units counted before. */
  raiseTo(units: number): void {
    this.units = Math.max(this.units, units);
  }

  addText(text: string): void {
    const bytes = Buffer.from(text);
    this.add(bytes, 0, bytes.length);
  }
}

/** Returns units as whole tokens, rounded up; at least one if there are any units. */
export function tokensOfUnits(units: number): number {
  return Math.ceil(units / UNITS_PER_TOKEN);
}
