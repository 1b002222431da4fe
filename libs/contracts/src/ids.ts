import { randomFillSync } from 'node:crypto';

/**
 * Ids of the interface: `<kind>-<unix seconds>-<20 alphanumeric characters>`, over 118 bits of chance.
 * The seconds name the day, and so the partition, of the row behind an id.
 */
export type IdKind = 'gen' | 'gen-batch' | 'gen-vid' | 'batch' | 'req';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ALPHABET_BYTES = Buffer.from(ALPHABET);
const LENGTH = 20;
const UNIFORM_BELOW = 248;

const pool = Buffer.allocUnsafe(8_192);
let poolUsed = pool.length;
/** Of the id that is being made: a string that grows by characters is twenty strings. */
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
 * Returns the id of the `index`-th piece of a whole, always the same, so that repeated work writes the same key. It
 * has the time of the whole and the first 14 of its 20 characters; the last six count the piece (base 62, up to 56
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
  /** How the id of the whole begins: all of it but its last characters. */
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

/** Returns the UTC day (`YYYY-MM-DD`) that an id names, or null for text that is no such id. */
export function dayOfId(id: string): string | null {
  const seconds = /^[a-z-]{3,12}-(\d{1,11})-[0-9A-Za-z]{20}$/.exec(id)?.[1];
  return seconds === undefined ? null : new Date(Number(seconds) * 1000).toISOString().slice(0, 10);
}
