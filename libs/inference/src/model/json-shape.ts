import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  closingQuote,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../dialects/json-grammar';

/** What the shape of a JSON text may come to before anybody builds objects from it. */
export const MAX_DEPTH = 64;
export const MAX_KEYS_PER_OBJECT = 10_000;
export const MAX_VALUES = 1_000_000;

const SPACE = 0x20;
/** Below this length a byte loop beats the call into native `indexOf`. */
const SHORT_STRING = 64;

/** What a picture, a sound or a file counts, whatever its size on the wire. */
const MEDIA_BYTES = 4_000;
/** What a number, a literal or a token's id counts. */
const SCALAR_BYTES = 4;

/** Members of a request that the model reads. */
const PROMPT_MEMBERS = namesOf('messages', 'tools', 'input', 'instructions', 'system', 'prompt');
const MEDIA_MEMBERS = namesOf('data', 'file_data');
const DATA_URL = Buffer.from('data:');

/** Of each depth of the scan that is running; a scan never calls back. */
const commasAt = new Int32Array(MAX_DEPTH + 1);
const isObjectAt = new Uint8Array(MAX_DEPTH + 1);
/** Whether the member whose value stands there, or in an array there, is named as media are. */
const isMediaAt = new Uint8Array(MAX_DEPTH + 1);

export interface JsonShape {
  /** What the text has too much of, or null. */
  readonly problem: string | null;
  /** Whether some object key is written with a backslash. */
  readonly hasEscapedKey: boolean;
  /** As a request: the bytes of all text that the model reads. What comes behind a problem counts as such text. */
  readonly promptBytes: number;
}

/**
 * Counts brackets, commas and the text of prompts in one pass over the bytes of a JSON text. It does not check the
 * grammar, which is the parser's task; it keeps the parser from texts that cost more than their size suggests.
 */
export function scanJsonShape(bytes: Buffer): JsonShape {
  return new ShapeScan(bytes).run();
}

class ShapeScan implements JsonShape {
  problem: string | null = null;
  hasEscapedKey = false;
  promptBytes = 0;
  private depth = 0;
  private values = 0;
  /** Inside the value of a member that the model reads. */
  private isInPrompt = false;

  constructor(private readonly bytes: Buffer) {}

  run(): JsonShape {
    const { bytes } = this;
    let at = 0;
    for (; at < bytes.length && this.problem === null; at += 1) {
      const byte = bytes[at]!;
      if (byte === QUOTE) at = this.passString(at);
      else if (byte === COMMA) this.countComma();
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.open(byte);
      else if (this.isInPrompt && isScalarByte(byte)) at = this.passScalar(at);
      else this.passMark(byte);
    }
    if (this.problem !== null) this.promptBytes += bytes.length - at;
    return { problem: this.problem, hasEscapedKey: this.hasEscapedKey, promptBytes: this.promptBytes };
  }

  private passString(openingQuote: number): number {
    const { bytes } = this;
    const quote = closingQuote(bytes, openingQuote);
    const end = quote === -1 ? bytes.length : quote;
    if (isObjectAt[this.depth] === 1 && isKey(bytes, end)) this.enterMember(openingQuote + 1, end);
    else if (this.isInPrompt) this.countText(openingQuote + 1, end);
    return end;
  }

  /** The name between these offsets is one of the object that is open. */
  private enterMember(start: number, end: number): void {
    const { bytes, depth } = this;
    const isEscaped = hasEscape(bytes, start, end);
    if (isEscaped) this.hasEscapedKey = true;
    if (depth === 1) this.isInPrompt = isNamed(PROMPT_MEMBERS, { bytes, start, end, isEscaped });
    if (this.isInPrompt) isMediaAt[depth] = isNamed(MEDIA_MEMBERS, { bytes, start, end, isEscaped }) ? 1 : 0;
  }

  private countText(start: number, end: number): void {
    const isMedia = isMediaAt[this.depth] === 1 || startsWith(this.bytes, DATA_URL, start);
    this.promptBytes += isMedia ? MEDIA_BYTES : end - start;
  }

  /** Up to the last byte of a number or a literal. */
  private passScalar(start: number): number {
    const { bytes } = this;
    this.promptBytes += SCALAR_BYTES;
    let at = start + 1;
    while (at < bytes.length && isScalarByte(bytes[at]!)) at += 1;
    return at - 1;
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
    // What stands in an array is named as the array is.
    isMediaAt[this.depth] = isMediaAt[this.depth - 1]!;
  }

  /** White space, a colon, a closing bracket, or outside of prompts a byte of something else. */
  private passMark(byte: number): void {
    if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && this.depth > 0) this.depth -= 1;
  }

  private countValue(): void {
    this.values += 1;
    if (this.values >= MAX_VALUES) this.problem = 'too many values';
  }
}

function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > SHORT_STRING) return bytes.subarray(start, end).includes(BACKSLASH);
  for (let at = start; at < end; at += 1) if (bytes[at] === BACKSLASH) return true;
  return false;
}

function isKey(bytes: Buffer, closingQuote: number): boolean {
  let at = closingQuote + 1;
  while (at < bytes.length && bytes[at]! <= SPACE) at += 1;
  return bytes[at] === COLON;
}

function isScalarByte(byte: number): boolean {
  return byte > SPACE && byte !== COMMA && byte !== COLON && byte !== CLOSE_ARRAY && byte !== CLOSE_OBJECT;
}

interface Names {
  readonly texts: ReadonlySet<string>;
  readonly encoded: readonly Buffer[];
}

function namesOf(...texts: readonly string[]): Names {
  return { texts: new Set(texts), encoded: texts.map((text) => Buffer.from(text)) };
}

/** A name between two offsets. */
interface Named {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly isEscaped: boolean;
}

function isNamed({ texts, encoded }: Names, { bytes, start, end, isEscaped }: Named): boolean {
  if (isEscaped) return texts.has(decoded(bytes.toString('utf8', start - 1, end + 1)));
  for (const name of encoded) if (name.length === end - start && startsWith(bytes, name, start)) return true;
  return false;
}

/** The text of a JSON string; what is none is left for the parser to refuse. */
function decoded(json: string): string {
  try {
    return String(JSON.parse(json));
  } catch {
    return '';
  }
}

function startsWith(bytes: Buffer, prefix: Buffer, start: number): boolean {
  for (let i = 0; i < prefix.length; i += 1) if (bytes[start + i] !== prefix[i]) return false;
  return true;
}
