import type { RateLimit } from './rate-limiter';

/** So many per minute, all of which may come at once after a quiet minute; null for 0, which is no limit. */
export function perMinute(name: string, count: number, withoutStore?: RateLimit['withoutStore']): RateLimit | null {
  return count === 0 ? null : { name, perMinute: count, burst: count, withoutStore };
}
