import {
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
  isSpace,
  literalEnd,
  numberBetween,
  numberEnd,
  stringEnd,
} from './json-grammar';

export { MalformedJson } from './json-grammar';

/** Deeper text is refused: twice what the public API accepts. */
export const MAX_JSON_DEPTH = 128;

/** The open container at each depth of the running skip. Shared, because a skip never calls back. */
const openContainers = new Uint8Array(MAX_JSON_DEPTH + 1);

/**
 * Walks over JSON text as bytes, in one pass, without creating any object.
 *
 * It checks the grammar of everything that it passes (brackets, commas, keys, literals, numbers), so truncated text,
 * `NaN` and the like are refused. Inside strings it only looks for the closing quote: bytes there are neither checked
 * nor changed.
 */
export class JsonCursor {
  position: number;
  /** Offset of the opening quote of the key that was read last. */
  keyStart = 0;
  /** Offset of the last field or element to which the cursor moved. */
  #valueStart = -1;
  /** True if a container was entered and nothing of it was read yet. */
  #isFresh = false;
  #depth = 0;

  constructor(
    readonly bytes: Buffer,
    position = 0,
  ) {
    this.position = position;
  }

  /** Skips white space and returns the next byte without reading it; -1 at the end of the text. */
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

  /** Throws MalformedJson unless only white space follows. */
  expectEnd(): void {
    if (this.peek() !== -1) throw new MalformedJson('text after the value', this.position);
  }

  /**
   * Reads the object that starts here. `onMember` is called with the cursor on the first byte of each value;
   * it may read the value, otherwise the value is skipped. Keys arrive decoded; `keyStart` is the offset of
   * the key's opening quote.
   */
  readObject(onMember: (key: string, keyStart: number) => void): void {
    this.enterObject();
    for (let key = this.nextKey(); key !== null; key = this.nextKey()) onMember(key, this.keyStart);
  }

  /** Enters the object that starts here; read it with `nextKey`, without a callback. */
  enterObject(): void {
    this.#open(OPEN_OBJECT, 'an object is missing');
  }

  /** Enters an object that was entered before, with the cursor on the key of some field. */
  resumeObject(): void {
    this.#depth += 1;
    this.#isFresh = true;
  }

  /**
   * Returns the next key, decoded, of the object that was entered last and moves to the first byte of its value;
   * `keyStart` is the offset of the key's opening quote. Returns null after the end of the object. A value that was not
   * read is skipped.
   */
  nextKey(): string | null {
    if (!this.#goOn(CLOSE_OBJECT)) return null;
    this.#expectPeek(QUOTE, 'a key is missing');
    this.keyStart = this.position;
    const key = this.readString();
    this.#expectPeek(COLON, 'a colon is missing');
    this.position += 1;
    this.peek();
    this.#valueStart = this.position;
    return key;
  }

  /** Enters the array that starts here; read it with `nextElement`. */
  enterArray(): void {
    this.#open(OPEN_ARRAY, 'an array is missing');
  }

  /** Moves to the next element of the array that was entered last, like `nextKey`; false when it has ended. */
  nextElement(): boolean {
    if (!this.#goOn(CLOSE_ARRAY)) return false;
    this.peek();
    this.#valueStart = this.position;
    return true;
  }

  /** Moves to where the next field or element must start; returns false after the end of the container. */
  #goOn(close: number): boolean {
    if (!this.#isFresh && this.position === this.#valueStart) this.skipValue();
    const byte = this.peek();
    if (byte === close) {
      this.position += 1;
      this.#depth -= 1;
      this.#isFresh = false;
      return false;
    }
    if (this.#isFresh) this.#isFresh = false;
    else if (byte === COMMA) this.position += 1;
    else throw new MalformedJson('a comma or bracket is missing', this.position);
    return true;
  }

  /** Reads the array that starts here; `onElement` works like `onMember`. */
  readArray(onElement: (index: number) => void): void {
    this.enterArray();
    for (let index = 0; this.nextElement(); index += 1) onElement(index);
  }

  /** Reads the string that starts here. */
  readString(): string {
    const start = this.position;
    const end = stringEnd(this.bytes, start);
    this.position = end;
    return decodeString(this.bytes, start, end);
  }

  /** Reads the string that starts here; returns null, and skips the value, if it is not a string. */
  readStringOrNull(): string | null {
    if (this.peek() === QUOTE) return this.readString();
    this.skipValue();
    return null;
  }

  /** Reads the number that starts here; returns null, and skips the value, if it is not a number. */
  readNumberOrNull(): number | null {
    const byte = this.peek();
    const start = this.position;
    this.skipValue();
    if (byte !== MINUS && !isDigit(byte)) return null;
    return numberBetween(this.bytes, start, this.position);
  }

  /** Reads the array that starts here; returns its length if it contains only numbers, else null. */
  readNumbers(): number | null {
    const start = this.position;
    this.enterArray();
    this.#depth -= 1;
    this.#isFresh = false;
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
      this.position = stringEnd(this.bytes, this.position);
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

  /** After a value at `depth`: closes the containers that end here; returns the depth of the next value, or 0. */
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
      // In ASCII, a closing bracket is its opening one plus 2.
      if (byte !== open + 2) throw new MalformedJson('a comma or bracket is missing', this.position);
      this.position += 1;
      depth -= 1;
    }
    return 0;
  }

  #skipKey(): void {
    this.#expectPeek(QUOTE, 'a key is missing');
    this.position = stringEnd(this.bytes, this.position);
    this.#expectPeek(COLON, 'a colon is missing');
    this.position += 1;
  }

  #open(bracket: number, otherwise: string): void {
    this.#expectPeek(bracket, otherwise);
    this.#depth += 1;
    if (this.#depth > MAX_JSON_DEPTH) throw new MalformedJson('too deep', this.position);
    this.position += 1;
    this.#isFresh = true;
  }

  #expectPeek(byte: number, reason: string): void {
    if (this.peek() !== byte) throw new MalformedJson(reason, this.position);
  }
}
