const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const FIRST_PRINTABLE = 0x20;
/** `\u0000`, for what has no shorter form. */
const BYTES_OF_ESCAPE = 6;
/** Half of a pair of UTF-16 without its other half has the bytes of U+FFFD as UTF-8, and an escape in JSON. */
const BYTES_OF_REPLACEMENT = 3;
const LONE_SURROGATE = /\p{Surrogate}/gu;

/** Returns the bytes of a text as a JSON string, as `JSON.stringify` writes it, without writing it. */
export function bytesOfString(text: string): number {
  let bytes = Buffer.byteLength(text) + 2;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE || code === BACKSLASH) bytes += 1;
    else if (code < FIRST_PRINTABLE) bytes += (hasShortEscape(code) ? 2 : BYTES_OF_ESCAPE) - 1;
  }
  if (text.isWellFormed()) return bytes;
  for (const _half of text.matchAll(LONE_SURROGATE)) bytes += BYTES_OF_ESCAPE - BYTES_OF_REPLACEMENT;
  return bytes;
}

/** Whether a control character is one of \b, \t, \n, \f and \r. */
function hasShortEscape(code: number): boolean {
  return code >= 0x08 && code <= 0x0d && code !== 0x0b;
}
