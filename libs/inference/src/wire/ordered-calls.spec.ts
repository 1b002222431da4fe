import { anEndpoint } from '../testing';
import { batchesOf, callInOrder } from './ordered-calls';
import type { UpstreamCall } from './upstream-call';

const call = (signal: AbortSignal = new AbortController().signal) => ({
  endpoint: anEndpoint(),
  apiKey: null,
  body: Buffer.alloc(0),
  signal,
  timeouts: { headersMs: 1_000, idleMs: 1_000, totalMs: 1_000 },
});

describe(callInOrder.name, () => {
  it('asks so many at once, and keeps the order of the items', async () => {
    let [running, most] = [0, 0];
    const results = await callInOrder([3, 1, 2, 0], call(), 2, async (item) => {
      most = Math.max(most, (running += 1));
      for (let i = 0; i < item; i += 1) await Promise.resolve();
      running -= 1;
      return item;
    });
    expect({ results, most }).toEqual({ results: [3, 1, 2, 0], most: 2 });
  });

  it('ends the others with the first failure', async () => {
    const signals: UpstreamCall['signal'][] = [];
    const run = callInOrder(['fails', 'hangs'], call(), 2, (item, { signal }) => {
      signals.push(signal);
      return item === 'fails' ? Promise.reject(new Error('no')) : new Promise(() => undefined);
    });
    await expect(run).rejects.toThrow('no');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it('hands on that the caller has left, and no more time than is left', async () => {
    const leaving = new AbortController();
    await callInOrder(['only'], call(leaving.signal), 2, async (_item, { signal, timeouts }) => {
      leaving.abort();
      expect(signal.aborted).toBe(true);
      expect(timeouts.totalMs).toBeLessThanOrEqual(1_000);
    });
  });
});

describe(batchesOf.name, () => {
  it('closes a batch that is full in number or in size', () => {
    expect(batchesOf(['a', 'b', 'c'], 2)).toEqual([['a', 'b'], ['c']]);
    const bySize = batchesOf(['aa', 'bb', 'ccccc', 'd'], 9, 4, (text) => text.length);
    expect(bySize).toEqual([['aa', 'bb'], ['ccccc'], ['d']]);
    expect(batchesOf([], 2)).toEqual([]);
  });
});
