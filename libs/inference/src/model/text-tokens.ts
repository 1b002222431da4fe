import { CLASS_BITS, CLASS_OF, TABLES } from './text-automaton';

/** Costs of a text are counted in sixteenths of a token. */
export const UNITS_PER_TOKEN = 16;

/** Returns sixteenths of a token for the bytes of a JSON string between two offsets, without its quotes. */
export function textUnits(bytes: Uint8Array, start: number, end: number): number {
  const counter = new TextCounter();
  counter.add(bytes, start, end);
  return counter.units;
}

/** Counts a text that comes in pieces as if it were whole. */
export class TextCounter {
  /** Sixteenths of a token. */
  units = 0;
  #state = 0;

  /** Counts the bytes of a JSON string between two offsets. */
  add(bytes: Uint8Array, start: number, end: number): void {
    const { next, units } = TABLES;
    let state = this.#state;
    let sum = 0;
    for (let i = start; i < end; i += 1) {
      const index = (state << CLASS_BITS) | CLASS_OF[bytes[i]!]!;
      sum += units[index]!;
      state = next[index]!;
    }
    this.#state = state;
    this.units += sum;
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
