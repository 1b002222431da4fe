/** What the shape of a JSON text may come to before anybody builds objects from it. */
export const MAX_DEPTH = 64;
export const MAX_KEYS_PER_OBJECT = 10_000;
export const MAX_VALUES = 1_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
/** Below this length a byte loop beats the call into native `indexOf`. */
const SHORT_STRING = 64;

/** Commas seen at each depth of the scan that is running; a scan never calls back. */
const commasAt = new Int32Array(MAX_DEPTH + 1);
const isObjectAt = new Uint8Array(MAX_DEPTH + 1);

export interface JsonShape {
  /** What the text has too much of, or null. */
  readonly problem: string | null;
  /** Whether some object key is written with a backslash. */
  readonly hasEscapedKey: boolean;
}

/**
 * Counts brackets and commas of a JSON text in one pass over its bytes. It does not check the grammar, which
 * is the parser's task; it keeps the parser from texts that cost more than their size suggests.
 */
export function scanJsonShape(bytes: Buffer): JsonShape {
  return new ShapeScan(bytes).run();
}

class ShapeScan implements JsonShape {
  problem: string | null = null;
  hasEscapedKey = false;
  private depth = 0;
  private values = 0;

  constructor(private readonly bytes: Buffer) {}

  run(): JsonShape {
    const { bytes } = this;
    for (let at = 0; at < bytes.length && this.problem === null; at += 1) {
      const byte = bytes[at]!;
      if (byte === QUOTE) at = this.passString(at);
      else if (byte === COMMA) this.countComma();
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.open(byte);
      else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && this.depth > 0) this.depth -= 1;
    }
    return { problem: this.problem, hasEscapedKey: this.hasEscapedKey };
  }

  private passString(openingQuote: number): number {
    const { bytes } = this;
    const end = stringEnd(bytes, openingQuote);
    const isEscapedKey = isObjectAt[this.depth] === 1 && isKey(bytes, end) && hasEscape(bytes, openingQuote, end);
    if (isEscapedKey) this.hasEscapedKey = true;
    return end;
  }

  private countComma(): void {
    const { depth } = this;
    commasAt[depth]! += 1;
    this.countValue();
    const isFull = isObjectAt[depth] === 1 && commasAt[depth]! >= MAX_KEYS_PER_OBJECT;
    if (isFull) this.problem = 'too many members in one object';
  }

  private open(bracket: number): void {
    this.depth += 1;
    this.countValue();
    if (this.depth > MAX_DEPTH) {
      this.problem = 'too many levels';
      return;
    }
    commasAt[this.depth] = 0;
    isObjectAt[this.depth] = bracket === OPEN_OBJECT ? 1 : 0;
  }

  private countValue(): void {
    this.values += 1;
    if (this.values >= MAX_VALUES) this.problem = 'too many values';
  }
}

/** Offset of the closing quote, or the end of the text. */
function stringEnd(bytes: Buffer, openingQuote: number): number {
  const { length } = bytes;
  let at = openingQuote + 1;
  for (;;) {
    const near = Math.min(at + SHORT_STRING, length);
    while (at < near) {
      const byte = bytes[at]!;
      if (byte === QUOTE) return at;
      at += byte === BACKSLASH ? 2 : 1;
    }
    if (at >= length) return length;
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1) return length;
    let run = quote;
    while (run > at && bytes[run - 1] === BACKSLASH) run -= 1;
    if ((quote - run) % 2 === 0) return quote;
    at = quote + 1;
  }
}

function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > SHORT_STRING) return bytes.subarray(start, end).includes(BACKSLASH);
  for (let at = start + 1; at < end; at += 1) if (bytes[at] === BACKSLASH) return true;
  return false;
}

function isKey(bytes: Buffer, closingQuote: number): boolean {
  let at = closingQuote + 1;
  while (at < bytes.length && bytes[at]! <= 0x20) at += 1;
  return bytes[at] === COLON;
}
