import { closingQuote, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-grammar';

/** How many parts a text may have. */
export interface MostParts {
  /** Objects and arrays. */
  readonly containers: number;
  readonly members: number;
  readonly commas: number;
}

const NONE = 0;
const IS_STRING = 1;
const IS_COMMA = 2;
const IS_MEMBER = 3;
const IS_CONTAINER = 4;
/** What each byte outside of strings begins. */
const PARTS = new Uint8Array(256);
PARTS[QUOTE] = IS_STRING;
PARTS[COMMA] = IS_COMMA;
PARTS[COLON] = IS_MEMBER;
PARTS[OPEN_ARRAY] = IS_CONTAINER;
PARTS[OPEN_OBJECT] = IS_CONTAINER;

/**
 * Returns whether a JSON text has more parts than it may have: parsed, an array or object of two bytes takes up to 80.
 * Does not check the grammar, so that it takes a small part of the time of parsing.
 */
export function hasMoreParts(text: Buffer, most: MostParts): boolean {
  let { containers, members, commas } = most;
  const { length } = text;
  for (let at = 0; at < length; at += 1) {
    const part = PARTS[text[at]!];
    if (part === NONE) continue;
    if (part === IS_STRING) {
      at = closingQuote(text, at);
      if (at === -1) return false;
    } else if (part === IS_COMMA) commas -= 1;
    else if (part === IS_MEMBER) members -= 1;
    else containers -= 1;
    if (containers < 0 || members < 0 || commas < 0) return true;
  }
  return false;
}
