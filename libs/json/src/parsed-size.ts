/**
 * Most values of each kind that a JSON text may have to be parsed: an object takes sixty times as much memory as its
 * text, a number four times. A conversation of 10,000 turns with tools has 40,000 objects and lists and 70,000 fields;
 * the longest list of token ids that providers accept has 300,000 numbers.
 */
export const MAX_CONTAINERS = 100_000;
export const MAX_MEMBERS = 100_000;
export const MAX_STRINGS = 200_000;
export const MAX_NUMBERS = 500_000;
/** Each comma follows a value, unless the text is not valid JSON. */
const MAX_COMMAS = MAX_CONTAINERS + MAX_MEMBERS + MAX_STRINGS + MAX_NUMBERS;

/**
 * Most bytes that V8 needs for a value besides its text, on 64-bit systems: an object with its own hidden class or with
 * an index as a name, a short string, a number in a mixed list. `parsed-size.spec.ts` measures them.
 */
const CONTAINER_BYTES = 80;
const MEMBER_BYTES = 240;
const STRING_BYTES = 48;
const NUMBER_BYTES = 24;

/** Counts the values of a JSON text. */
export class ParsedSize {
  private containers = 0;
  private members = 0;
  private strings = 0;
  private numbers = 0;
  private commas = 0;

  /** An object or an array. */
  addContainer(): void {
    this.containers += 1;
  }

  addMember(): void {
    this.members += 1;
  }

  addString(): void {
    this.strings += 1;
  }

  /** A number or a literal. */
  addNumber(): void {
    this.numbers += 1;
  }

  /** A text without values between its commas needs no memory, but time to scan. */
  addComma(): void {
    this.commas += 1;
  }

  get isTooLarge(): boolean {
    const hasManyParts = this.containers > MAX_CONTAINERS || this.members > MAX_MEMBERS;
    return hasManyParts || this.commas > MAX_COMMAS || this.strings > MAX_STRINGS || this.numbers > MAX_NUMBERS;
  }

  /** Returns the most bytes that the parsed values take, without the characters of their strings. */
  get bytes(): number {
    return (
      this.containers * CONTAINER_BYTES +
      this.members * MEMBER_BYTES +
      this.strings * STRING_BYTES +
      this.numbers * NUMBER_BYTES
    );
  }
}
