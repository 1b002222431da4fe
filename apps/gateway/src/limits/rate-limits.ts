import type { RateLimit } from './rate-limiter';

/** Returns a limit of `count` per minute, which may all come at once after a quiet minute; null for 0 (no limit). */
export function perMinute(name: string, count: number, withoutStore?: RateLimit['withoutStore']): RateLimit | null {
  return count === 0 ? null : { name, perMinute: count, burst: count, withoutStore };
}
