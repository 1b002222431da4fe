import { randomBytes } from 'node:crypto';

const run = randomBytes(6).toString('hex');
let issued = 0;

/** Returns an id that is unique across processes: the prefix, a random part, a counter. */
export function nextId(prefix: string): string {
  issued += 1;
  return `${prefix}${run}${issued.toString(36).padStart(8, '0')}`;
}

/** Returns the current Unix seconds, the form of every `created` field. */
export function unixSeconds(atMs: number = Date.now()): number {
  return Math.floor(atMs / 1000);
}
