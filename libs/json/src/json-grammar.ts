/** Text that is not valid JSON (RFC 8259), or too deep. Has the offset of the error, never the text. */
export class MalformedJson extends Error {
  override readonly name = 'MalformedJson';

  constructor(
    reason: string,
    /** Offset of the byte that does not fit. */
    readonly offset: number,
  ) {
    super(`${reason} at byte ${offset}`);
  }
}

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const MINUS = 0x2d;
export const PLUS = 0x2b;
export const DOT = 0x2e;
const LETTER_E = 0x65;
export const LETTER_N = 0x6e;

const LITERALS: Readonly<Record<number, readonly number[]>> = {
  0x74: [...Buffer.from('true')],
  0x66: [...Buffer.from('false')],
  0x6e: [...Buffer.from('null')],
};

export function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function skipDigits(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && isDigit(bytes[at]!)) at += 1;
  if (at === from) throw new MalformedJson('a digit is missing', at);
  return at;
}

/** Below this length, a loop over the bytes is faster than a call to native `indexOf`. */
const SHORT_STRING = 48;

/** Returns the offset after the string that opens at `openingQuote`. Its content is not checked. */
export function stringEnd(bytes: Buffer, openingQuote: number): number {
  const quote = closingQuote(bytes, openingQuote);
  if (quote === -1) throw new MalformedJson('a string does not end', openingQuote);
  return quote + 1;
}

/** The offset of the quote that closes the string, or -1. */
export function closingQuote(bytes: Buffer, openingQuote: number): number {
  const { length } = bytes;
  let at = openingQuote + 1;
  for (;;) {
    const near = Math.min(at + SHORT_STRING, length);
    while (at < near) {
      const byte = bytes[at]!;
      if (byte === QUOTE) return at;
      at += byte === BACKSLASH ? 2 : 1;
    }
    const quote = at < length ? bytes.indexOf(QUOTE, at) : -1;
    if (quote === -1 || !isEscaped(bytes, quote, at)) return quote;
    at = quote + 1;
  }
}

/** Returns whether an odd number of backslashes, none before `from`, precedes `quote`. */
function isEscaped(bytes: Buffer, quote: number, from: number): boolean {
  let at = quote;
  while (at > from && bytes[at - 1] === BACKSLASH) at -= 1;
  return (quote - at) % 2 === 1;
}

/** Cache of names by a hash of their length and three of their bytes. A later name replaces an earlier one. */
const knownNames: string[] = Array.from({ length: 1_024 }, () => '');
const LONGEST_KNOWN_NAME = 32;

/** Returns the text between two quotes. Names repeat, so most come from the cache. */
export function decodeString(bytes: Buffer, start: number, end: number): string {
  const length = end - start - 2;
  if (length === 0 || length > LONGEST_KNOWN_NAME) return decodeNew(bytes, start, end);
  const middle = bytes[start + 1 + (length >> 1)]!;
  const slot = (length * 89 + bytes[start + 1]! * 7 + middle * 31 + bytes[end - 2]! * 3) & 1_023;
  const known = knownNames[slot]!;
  if (isSame(known, bytes, start + 1, length)) return known;
  const text = decodeNew(bytes, start, end);
  // Only names of one byte per character are kept, so that they can be compared with bytes.
  if (isSame(text, bytes, start + 1, length)) knownNames[slot] = text;
  return text;
}

function isSame(text: string, bytes: Buffer, start: number, length: number): boolean {
  if (text.length !== length) return false;
  for (let i = 0; i < length; i += 1) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}

function decodeNew(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start + 1, end - 1);
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    throw new MalformedJson('an invalid escape', start);
  }
}

/** Returns the offset after the number at `start`. A number that no double can represent, such as 1e999, is refused. */
export function numberEnd(bytes: Buffer, start: number): number {
  let at = start;
  if (bytes[at] === MINUS) at += 1;
  if (bytes[at] === 0x30) at += 1;
  else at = skipDigits(bytes, at);
  if (at < bytes.length && bytes[at] === DOT) at = skipDigits(bytes, at + 1);
  return at < bytes.length && (bytes[at]! | 0x20) === LETTER_E ? exponentEnd(bytes, start, at + 1) : at;
}

function exponentEnd(bytes: Buffer, start: number, sign: number): number {
  const digits = bytes[sign] === MINUS || bytes[sign] === PLUS ? sign + 1 : sign;
  const end = skipDigits(bytes, digits);
  if (isBeyondDouble(bytes, start, end)) throw new MalformedJson('a number is too large', start);
  return end;
}

/** Numbers up to this length, such as 9e99, fit a double. */
const LONGEST_WITHIN_DOUBLE = 4;

/**
 * Returns whether the number between these offsets has an exponent that no double can represent. `JSON.parse` makes
 * such a number infinite, and the cursor refuses it.
 */
export function isBeyondDouble(bytes: Buffer, start: number, end: number): boolean {
  if (end - start <= LONGEST_WITHIN_DOUBLE) return false;
  let at = end - 1;
  while (at > start && isDigit(bytes[at]!)) at -= 1;
  // An exponent of two digits always fits.
  if (end - 1 - at <= 2) return false;
  if (bytes[at] === MINUS || bytes[at] === PLUS) at -= 1;
  return (bytes[at]! | 0x20) === LETTER_E && !Number.isFinite(Number(bytes.toString('latin1', start, end)));
}

/** Returns the offset after `true`, `false` or `null` at `start`, whose first byte is `byte`. */
export function literalEnd(bytes: Buffer, start: number, byte: number): number {
  const literal = LITERALS[byte];
  if (literal === undefined) throw new MalformedJson('a value is missing', start);
  for (let i = 0; i < literal.length; i += 1) {
    if (bytes[start + i] !== literal[i]) throw new MalformedJson('an unknown word', start);
  }
  return start + literal.length;
}

/** Whole numbers of up to this many digits fit a double exactly. */
const MOST_EXACT_DIGITS = 15;

/** The value of a well-formed number. */
export function numberBetween(bytes: Buffer, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at]!;
    if (!isDigit(byte) || end - start > MOST_EXACT_DIGITS) return Number(bytes.toString('latin1', start, end));
    value = value * 10 + byte - 0x30;
  }
  return value;
}
