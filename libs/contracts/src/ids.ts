import { createHash, randomFillSync } from 'node:crypto';

/**
 * Ids of the interface: `<kind>-<unix seconds>-<20 alphanumeric characters>`, over 118 bits of chance.
 * The seconds name the day, and so the partition, of the row behind an id.
 */
export type IdKind = 'gen' | 'gen-batch' | 'batch' | 'req';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const LENGTH = 20;
const UNIFORM_BELOW = 248;

const pool = Buffer.allocUnsafe(8_192);
let poolUsed = pool.length;

export function mintId(kind: IdKind, nowMs: number = Date.now()): string {
  let suffix = '';
  while (suffix.length < LENGTH) {
    if (poolUsed === pool.length) {
      randomFillSync(pool);
      poolUsed = 0;
    }
    const byte = pool[poolUsed]!;
    poolUsed += 1;
    if (byte < UNIFORM_BELOW) suffix += ALPHABET.charAt(byte % 62);
  }
  return `${kind}-${Math.floor(nowMs / 1000)}-${suffix}`;
}

/** An id that is the same for the same seed: what makes a repeated piece of work write the same key. */
export function deriveId(kind: IdKind, atMs: number, seed: string): string {
  const digest = createHash('sha256').update(seed).digest();
  let suffix = '';
  for (let i = 0; i < LENGTH; i += 1) suffix += ALPHABET.charAt(digest[i]! % 62);
  return `${kind}-${Math.floor(atMs / 1000)}-${suffix}`;
}

/** The UTC day (`YYYY-MM-DD`) that an id names, or null for text that is no such id. */
export function dayOfId(id: string): string | null {
  const seconds = /^[a-z-]{3,12}-(\d{1,11})-[0-9A-Za-z]{20}$/.exec(id)?.[1];
  return seconds === undefined ? null : new Date(Number(seconds) * 1000).toISOString().slice(0, 10);
}
