import { randomFillSync } from 'node:crypto';

/**
 * Ids of the API: `<kind>-<unix seconds>-<20 alphanumeric characters>`, with over 118 random bits. The seconds
 * determine the day, and so the partition, of the row of an id.
 */
export type IdKind = 'gen' | 'gen-batch' | 'gen-vid' | 'batch' | 'req';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ALPHABET_BYTES = Buffer.from(ALPHABET);
const LENGTH = 20;
const UNIFORM_BELOW = 248;

const pool = Buffer.allocUnsafe(8_192);
let poolUsed = pool.length;
/** Buffer for the id that is being made, because building a string by single characters would create twenty strings. */
const suffix = Buffer.alloc(LENGTH);

export function mintId(kind: IdKind, nowMs: number = Date.now()): string {
  let length = 0;
  while (length < LENGTH) {
    if (poolUsed === pool.length) {
      randomFillSync(pool);
      poolUsed = 0;
    }
    const byte = pool[poolUsed]!;
    poolUsed += 1;
    if (byte < UNIFORM_BELOW) suffix[length++] = ALPHABET_BYTES[byte % 62]!;
  }
  return `${kind}-${Math.floor(nowMs / 1000)}-${suffix.toString('latin1')}`;
}

const NUMBERED_SUFFIX = 6;

/**
 * Returns the id of the `index`-th part of an object, always the same, so that repeated work writes the same key. It
 * has the time and the first 14 of the 20 characters of the object's id; the last six count the part (base 62, up to 56
 * billion).
 */
export function numberedId(kind: IdKind, wholeId: string, index: number): string {
  const stem = wholeId.slice(wholeId.lastIndexOf('-', wholeId.lastIndexOf('-') - 1), -NUMBERED_SUFFIX);
  let rest = index;
  let suffix = '';
  while (suffix.length < NUMBERED_SUFFIX) {
    suffix = ALPHABET.charAt(rest % 62) + suffix;
    rest = Math.floor(rest / 62);
  }
  return `${kind}${stem}${suffix}`;
}

/** The parts from which `numberedId` made an id. */
export interface NumberedPiece {
  /** Returns the beginning of the object's id: all but its last characters. */
  readonly wholeStem: string;
  readonly index: number;
}

/** Splits an id made by `numberedId`; returns null for any other text. */
export function readNumberedId(kind: IdKind, wholeKind: IdKind, id: string): NumberedPiece | null {
  const found = NUMBERED.exec(id);
  if (found === null || found[1] !== kind) return null;
  const [, , stem = '', suffix = ''] = found;
  return { wholeStem: `${wholeKind}${stem}`, index: [...suffix].reduce(addDigit, 0) };
}

const NUMBERED = /^([a-z-]{3,12})(-\d{1,11}-[0-9A-Za-z]{14})([0-9A-Za-z]{6})$/;

function addDigit(sum: number, digit: string): number {
  return sum * 62 + ALPHABET.indexOf(digit);
}

/** Returns the UTC day (`YYYY-MM-DD`) in an id; null for text that is not such an id. */
export function dayOfId(id: string): string | null {
  const seconds = /^[a-z-]{3,12}-(\d{1,11})-[0-9A-Za-z]{20}$/.exec(id)?.[1];
  return seconds === undefined ? null : new Date(Number(seconds) * 1000).toISOString().slice(0, 10);
}
