import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  LETTER_N,
  MINUS,
  MalformedJson,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  decodeString,
  isDigit,
  isEscaped,
  isSpace,
  literalEnd,
  numberBetween,
  numberEnd,
} from './json-grammar';

export { MalformedJson } from './json-grammar';

/** Deeper text is refused: twice what the public door lets in. */
export const MAX_JSON_DEPTH = 128;

/** Below this length a byte loop beats the call into native `indexOf`. */
const SHORT_STRING = 48;

/** Which container is open at each depth of the skip that is running; a skip never calls back. */
const openContainers = new Uint8Array(MAX_JSON_DEPTH + 1);

/**
 * Walks JSON text as bytes, one pass, without building a single object.
 *
 * It checks the grammar of everything it passes (brackets, commas, keys, literals, numbers), so truncated
 * text, `NaN` and the like are refused. Inside strings it only looks for the closing quote: bytes there are
 * never judged and never changed.
 */
export class JsonCursor {
  position: number;
  #depth = 0;

  constructor(
    readonly bytes: Buffer,
    position = 0,
  ) {
    this.position = position;
  }

  /** The next byte that is no white space, which stays unread; -1 at the end of the text. */
  peek(): number {
    const { bytes } = this;
    let at = this.position;
    while (at < bytes.length) {
      const byte = bytes[at]!;
      if (byte > 0x20 || !isSpace(byte)) {
        this.position = at;
        return byte;
      }
      at += 1;
    }
    this.position = at;
    return -1;
  }

  /** Refuses anything but white space from here to the end of the text. */
  expectEnd(): void {
    if (this.peek() !== -1) throw new MalformedJson('text after the value', this.position);
  }

  /**
   * Reads the object that starts here. `onMember` is called with the cursor on the first byte of each value;
   * it may read the value, otherwise the value is skipped. Keys arrive decoded; `keyStart` is the offset of
   * the key's opening quote.
   */
  readObject(onMember: (key: string, keyStart: number) => void): void {
    this.#open(OPEN_OBJECT);
    if (this.peek() === CLOSE_OBJECT) this.#close();
    else this.#readMembers(onMember);
  }

  /** Like `readObject`, with the cursor on the key of some member of an object that has been entered before. */
  resumeObject(onMember: (key: string, keyStart: number) => void): void {
    this.#depth += 1;
    this.#readMembers(onMember);
  }

  #readMembers(onMember: (key: string, keyStart: number) => void): void {
    for (;;) {
      this.#expectPeek(QUOTE, 'a key is missing');
      const keyStart = this.position;
      const key = this.readString();
      this.#expectPeek(COLON, 'a colon is missing');
      this.position += 1;
      this.peek();
      const valueStart = this.position;
      onMember(key, keyStart);
      if (this.position === valueStart) this.skipValue();
      const next = this.peek();
      if (next === CLOSE_OBJECT) break;
      if (next !== COMMA) throw new MalformedJson('a comma or brace is missing', this.position);
      this.position += 1;
    }
    this.#close();
  }

  #close(): void {
    this.position += 1;
    this.#depth -= 1;
  }

  /** Reads the array that starts here; `onElement` works like `onMember`. */
  readArray(onElement: (index: number) => void): void {
    this.#open(OPEN_ARRAY);
    if (this.peek() !== CLOSE_ARRAY) {
      for (let index = 0; ; index += 1) {
        this.peek();
        const valueStart = this.position;
        onElement(index);
        if (this.position === valueStart) this.skipValue();
        const next = this.peek();
        if (next === CLOSE_ARRAY) break;
        if (next !== COMMA) throw new MalformedJson('a comma or bracket is missing', this.position);
        this.position += 1;
      }
    }
    this.#close();
  }

  /** Reads the string that starts here. */
  readString(): string {
    const start = this.position;
    const end = this.#stringEnd(start);
    this.position = end;
    return decodeString(this.bytes, start, end);
  }

  /** The string that starts here, or null (skipping the value) when something else does. */
  readStringOrNull(): string | null {
    if (this.peek() === QUOTE) return this.readString();
    this.skipValue();
    return null;
  }

  /** The number that starts here, or null (skipping the value) when something else does. */
  readNumberOrNull(): number | null {
    const byte = this.peek();
    const start = this.position;
    this.skipValue();
    if (byte !== MINUS && !isDigit(byte)) return null;
    return numberBetween(this.bytes, start, this.position);
  }

  /** Reads the array that starts here and gives its length if it holds numbers only, else null. */
  readNumbers(): number | null {
    const start = this.position;
    this.#open(OPEN_ARRAY);
    this.#depth -= 1;
    let count = 0;
    for (;;) {
      const byte = this.peek();
      if (byte !== MINUS && !isDigit(byte)) break;
      this.position = numberEnd(this.bytes, this.position);
      count += 1;
      if (this.peek() !== COMMA) break;
      this.position += 1;
    }
    if (this.peek() === CLOSE_ARRAY && this.bytes[this.position - 1] !== COMMA) {
      this.position += 1;
      return count;
    }
    this.position = start;
    this.skipValue();
    return null;
  }

  isObject(): boolean {
    return this.peek() === OPEN_OBJECT;
  }

  isArray(): boolean {
    return this.peek() === OPEN_ARRAY;
  }

  isString(): boolean {
    return this.peek() === QUOTE;
  }

  isNull(): boolean {
    return this.peek() === LETTER_N;
  }

  /** Moves past the value that starts here, checking its grammar. */
  skipValue(): void {
    let depth = 0;
    for (;;) {
      const byte = this.peek();
      const opened = this.#skipScalarOrOpen(byte);
      if (opened !== 0) {
        depth += 1;
        if (this.#depth + depth > MAX_JSON_DEPTH) throw new MalformedJson('too deep', this.position);
        openContainers[depth] = opened;
        if (this.peek() !== opened + 2) {
          if (opened === OPEN_OBJECT) this.#skipKey();
          continue;
        }
        this.position += 1;
        depth -= 1;
      }
      depth = this.#closeContainers(depth);
      if (depth === 0) return;
    }
  }

  /** Consumes a scalar whole (returns 0) or only the opening bracket of a container (returns the bracket). */
  #skipScalarOrOpen(byte: number): number {
    if (byte === QUOTE) {
      this.position = this.#stringEnd(this.position);
      return 0;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      this.position += 1;
      return byte;
    }
    this.position =
      byte === MINUS || isDigit(byte)
        ? numberEnd(this.bytes, this.position)
        : literalEnd(this.bytes, this.position, byte);
    return 0;
  }

  /** After a value at `depth`: closes what ends here; returns the depth at which the next value is due, or 0. */
  #closeContainers(from: number): number {
    let depth = from;
    while (depth > 0) {
      const open = openContainers[depth]!;
      const byte = this.peek();
      if (byte === COMMA) {
        this.position += 1;
        if (open === OPEN_OBJECT) this.#skipKey();
        return depth;
      }
      // In ASCII each closing bracket stands two after its opening one.
      if (byte !== open + 2) throw new MalformedJson('a comma or bracket is missing', this.position);
      this.position += 1;
      depth -= 1;
    }
    return 0;
  }

  #skipKey(): void {
    this.#expectPeek(QUOTE, 'a key is missing');
    this.position = this.#stringEnd(this.position);
    this.#expectPeek(COLON, 'a colon is missing');
    this.position += 1;
  }

  #open(bracket: number): void {
    this.#expectPeek(bracket, bracket === OPEN_OBJECT ? 'an object is missing' : 'an array is missing');
    this.#depth += 1;
    if (this.#depth > MAX_JSON_DEPTH) throw new MalformedJson('too deep', this.position);
    this.position += 1;
  }

  #expectPeek(byte: number, reason: string): void {
    if (this.peek() !== byte) throw new MalformedJson(reason, this.position);
  }

  #stringEnd(openingQuote: number): number {
    const { bytes } = this;
    const { length } = bytes;
    let at = openingQuote + 1;
    for (;;) {
      const near = Math.min(at + SHORT_STRING, length);
      while (at < near) {
        const byte = bytes[at]!;
        if (byte === QUOTE) return at + 1;
        at += byte === BACKSLASH ? 2 : 1;
      }
      const quote = at < length ? bytes.indexOf(QUOTE, at) : -1;
      if (quote === -1) throw new MalformedJson('a string does not end', openingQuote);
      if (isEscaped(bytes, quote, at)) at = quote + 1;
      else return quote + 1;
    }
  }
}
