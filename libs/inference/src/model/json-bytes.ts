import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '@libs/json';

const SPACE = 0x20;
/** Below this length, a loop over the bytes is faster than a call to native `indexOf`. */
const SHORT_STRING = 64;

export function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > SHORT_STRING) return bytes.subarray(start, end).includes(BACKSLASH);
  for (let at = start; at < end; at += 1) if (bytes[at] === BACKSLASH) return true;
  return false;
}

export function isKey(bytes: Buffer, closingQuote: number): boolean {
  let at = closingQuote + 1;
  while (at < bytes.length && bytes[at]! <= SPACE) at += 1;
  return bytes[at] === COLON;
}

export function isScalarByte(byte: number): boolean {
  return IS_SCALAR[byte] === 1;
}

/** Returns whether a byte is white space or a colon, which do not affect the counts. */
export function isSkipped(byte: number): boolean {
  return byte <= SPACE || byte === COLON;
}

/** Returns the offset of the last byte of the white space or colons at `start`; there may be megabytes. */
export function lastSkipped(bytes: Buffer, start: number): number {
  let end = start + 1;
  while (end < bytes.length && isSkipped(bytes[end]!)) end += 1;
  return end - 1;
}

/** Bytes that are part of numbers and literals; punctuation and white space are not. */
const MARKS = new Set([QUOTE, COMMA, COLON, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT]);
const IS_SCALAR = Uint8Array.from({ length: 256 }, (_, byte) => (byte > SPACE && !MARKS.has(byte) ? 1 : 0));
