import { isAbsent, isPlainObject } from '../validation/well-formed';

/** Checks a `cache_control`, of a whole request or of a part of it. */
export function findCacheControlProblem(control: unknown): string | null {
  if (!isPlainObject(control) || control.type !== 'ephemeral') return '.type must be ephemeral';
  const { ttl } = control;
  return isAbsent(ttl) || ttl === '5m' || ttl === '1h' ? null : '.ttl must be 5m or 1h';
}
