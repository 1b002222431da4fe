import { CLASS_OF, TABLES, UNITS_PER_TOKEN } from './text-automaton';

export { UNITS_PER_TOKEN } from './text-automaton';

/** Two sums of so many costs fit in the halves of a number: none is above 127. */
const BYTES_OF_A_BLOCK = 512;

/** Counts a text that comes in pieces as if it were whole. */
export class TextCounter {
  /** What ordinary text of this kind takes, in parts of a token (`UNITS_PER_TOKEN`). */
  units = 0;
  /** A floor for what any text takes: see `text-automaton.ts`. */
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

  /** Raises the count to `units` if it is lower. The units counted before are part of them. */
  raiseTo(units: number): void {
    this.units = Math.max(this.units, units);
  }

  addText(text: string): void {
    const bytes = Buffer.from(text);
    this.add(bytes, 0, bytes.length);
  }
}

/** Returns whole tokens, at least one where there is something. */
export function tokensOfUnits(units: number): number {
  return Math.ceil(units / UNITS_PER_TOKEN);
}
