import { isAbsent, isPlainObject } from '../validation/well-formed';

/** Checks a `cache_control`, of a whole request or of a part of it. */
export function findCacheControlProblem(control: unknown): string | null {
  if (!isPlainObject(control) || control.type !== 'ephemeral') return '.type must be ephemeral';
  const { ttl } = control;
  return isAbsent(ttl) || ttl === '5m' || ttl === '1h' ? null : '.ttl must be 5m or 1h';
}

/** Checks the marks for the prompt cache that a part of the content may have. */
export function findCacheMarkProblem(part: Readonly<Record<string, unknown>>): string | null {
  const { prompt_cache_breakpoint: mark, cache_control: control } = part;
  if (!isAbsent(mark) && !(isPlainObject(mark) && mark['mode'] === 'explicit')) {
    return '.prompt_cache_breakpoint.mode must be explicit';
  }
  const problem = isAbsent(control) ? null : findCacheControlProblem(control);
  return problem === null ? null : `.cache_control${problem}`;
}
