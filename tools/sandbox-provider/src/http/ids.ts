import { randomBytes } from 'node:crypto';

const run = randomBytes(6).toString('hex');
let issued = 0;

/** An id that no other call of this process or another gets: the prefix, a random run, a counter. */
export function nextId(prefix: string): string {
  issued += 1;
  return `${prefix}${run}${issued.toString(36).padStart(8, '0')}`;
}

/** Unix seconds, as every `created` member wants them. */
export function unixSeconds(atMs: number = Date.now()): number {
  return Math.floor(atMs / 1000);
}
