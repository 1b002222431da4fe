import { setTimeout as delay } from 'node:timers/promises';

export interface BackoffLimits {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Doubling waits with up to a quarter of jitter, so that processes that failed together return one by one. */
export function backoffMs(failures: number, { firstMs, longestMs }: BackoffLimits): number {
  const doubledMs = Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 16));
  return Math.round(doubledMs * (1 - Math.random() / 4));
}

/** Waits, or less when the signal aborts; an abort is an early end here, not an error. */
export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(durationMs, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Returns true if `work` settled within `durationMs`; the owner of the promise handles its result. */
export async function settledWithin(work: Promise<unknown>, durationMs: number): Promise<boolean> {
  const timer = new AbortController();
  const settled = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, pause(durationMs, timer.signal).then(() => false)]);
  } finally {
    timer.abort();
  }
}
