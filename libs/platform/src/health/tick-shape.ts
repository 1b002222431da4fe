import { executionAsyncResource } from 'node:async_hooks';

const kept: object[] = [];

/**
 * Keeps alive one of the objects in which Node queues each `process.nextTick`.
 *
 * V8 drops the shape (hidden class) of objects when a garbage collection finds none of them. Node writes these objects
 * with computed names, and V8 never optimizes that code again once the shape has changed: each tick then takes 0.4
 * instead of 0.1 µs until the process ends, and an HTTP request needs about a dozen. Must be called before the first
 * collection.
 */
export function keepTickShape(): void {
  process.nextTick(() => void kept.push(executionAsyncResource()));
}

/** Returns the objects that are kept. */
export function keptTicks(): readonly object[] {
  return kept;
}
