import { executionAsyncResource } from 'node:async_hooks';

const kept: object[] = [];

/**
 * Keeps one object of those in which Node puts each `process.nextTick`.
 *
 * V8 forgets the form of objects once a collection finds none of them. Node makes these with computed names, and code
 * that makes such objects never becomes fast again when the form has changed: each tick then takes 0.4 instead of 0.1
 * µs, for as long as the process lives, and an HTTP request makes about a dozen. As `collectGarbage` runs before the
 * first request, this must run before it.
 */
export function keepFormOfTicks(): void {
  process.nextTick(() => void kept.push(executionAsyncResource()));
}

/** Returns the objects that are kept. */
export function keptTicks(): readonly object[] {
  return kept;
}
