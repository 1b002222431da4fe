import { callAbandoned, Cancellation } from '../model/cancellation';
import type { UpstreamCall } from './upstream-call';

/**
 * Several upstream calls for one request, a few at a time, their results in the order of the items. All of them
 * share the request's time, and the first failure ends the rest.
 */
export async function callInOrder<Item, Result>(
  items: readonly Item[],
  call: UpstreamCall,
  mostAtOnce: number,
  ask: (item: Item, call: UpstreamCall) => Promise<Result>,
): Promise<Result[]> {
  const endMs = performance.now() + call.timeouts.totalMs;
  const signal = Cancellation.following(call.signal);
  const results: Result[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < items.length) {
      // The provider has worked on a part of it.
      if (signal.leaveTerms !== null && signal.aborted && results.length > 0) throw callAbandoned();
      const index = next;
      next += 1;
      const totalMs = Math.max(1, endMs - performance.now());
      results[index] = await ask(items[index]!, { ...call, signal, timeouts: { ...call.timeouts, totalMs } });
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(mostAtOnce, items.length) }, work));
    return results;
  } finally {
    signal.abort();
  }
}

/** The items in lists of at most so many items and, where one item alone is not larger, so many bytes. */
export function batchesOf<Item>(
  items: readonly Item[],
  mostItems: number,
  mostBytes = Number.POSITIVE_INFINITY,
  bytesOf: (item: Item) => number = () => 0,
): Item[][] {
  const batches: Item[][] = [];
  let bytes = 0;
  for (const item of items) {
    const size = bytesOf(item);
    const last = batches.at(-1);
    if (last === undefined || last.length === mostItems || bytes + size > mostBytes) {
      batches.push([item]);
      bytes = size;
    } else {
      last.push(item);
      bytes += size;
    }
  }
  return batches;
}
