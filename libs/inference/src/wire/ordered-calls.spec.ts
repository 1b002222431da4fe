import { AppError, type ErrorCode } from '@libs/errors';
import { callCancelled } from '../model/cancellation';
import { anEndpoint } from '../testing';
import { answeredPartOf, hasAnsweredPart } from './answered-part';
import { batchesOf, callInOrder } from './ordered-calls';
import type { UpstreamCall } from './upstream-call';
import { upstreamFault } from './upstream-fault';

const LIMIT_MS = 5_000;

const call = (signal: AbortSignal = new AbortController().signal) => ({
  endpoint: anEndpoint(),
  apiKey: null,
  body: Buffer.alloc(0),
  signal,
  timeouts: { headersMs: 1_000, idleMs: 1_000, totalMs: LIMIT_MS },
});

/** Asks for some items, and joins the results as one text. */
const ask = <Item>(
  items: readonly Item[],
  mostAtOnce: number,
  one: (item: Item, call: UpstreamCall) => Promise<unknown>,
  signal?: AbortSignal,
) => {
  const join = (results: readonly unknown[]) => ({ status: 200, body: Buffer.from(results.join()) });
  return callInOrder({ items, mostAtOnce, inputsOf: () => 2, ask: one, join }, call(signal)).then(({ body }) =>
    body.toString(),
  );
};

const failureOf = async (asked: Promise<unknown>): Promise<AppError> =>
  asked.then(
    () => Promise.reject(new Error('It did not fail')),
    (thrown: unknown) => thrown as AppError,
  );

const fault = (code: ErrorCode, retryAfterSeconds?: number): AppError =>
  upstreamFault(anEndpoint().provider, code, 'No', { retryAfterSeconds });

const after = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

describe(callInOrder.name, () => {
  it('asks so many at once, and keeps the order of the items', async () => {
    let [running, most] = [0, 0];
    const results = await ask([3, 1, 2, 0], 2, async (item) => {
      most = Math.max(most, (running += 1));
      for (let i = 0; i < item; i += 1) await Promise.resolve();
      running -= 1;
      return item;
    });
    expect({ results, most }).toEqual({ results: '3,1,2,0', most: 2 });
  });

  it('ends the others with a failure', async () => {
    const signals: UpstreamCall['signal'][] = [];
    const run = ask(['fails', 'hangs', 'waits'], 2, async (item, { signal }) => {
      signals.push(signal);
      if (item === 'fails') throw fault('provider_unavailable');
      await new Promise<void>((resolve) => signal.addEventListener('abort', resolve));
      throw callCancelled();
    });
    expect(await failureOf(run)).toMatchObject({ code: 'provider_unavailable' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it('waits for calls under way when another is refused, begins no more, and notes all that came', async () => {
    const asked: string[] = [];
    const run = ask(['first', 'refused', 'slow', 'never'], 2, async (item) => {
      asked.push(item);
      if (item === 'refused') throw fault('invalid_request');
      await after(item === 'slow' ? 20 : 0);
      return item;
    });
    const error = await failureOf(run);
    expect([error.code, asked.includes('never')]).toEqual(['invalid_request', false]);
    expect(answeredPartOf(error)?.body.toString()).toBe('first');
    const late = ask(['slow', 'refused', 'never'], 2, async (item) => {
      if (item === 'refused') throw fault('invalid_request');
      await after(20);
      return item;
    });
    const part = answeredPartOf(await failureOf(late));
    expect(part).toMatchObject({ body: Buffer.from('slow'), calls: 1 });
    expect([0, 1, 2, 3, 4].filter((index) => part?.hasInput(index))).toEqual([0, 1]);
  });

  it('notes nothing where nothing was answered', async () => {
    const error = await failureOf(ask(['refused'], 2, () => Promise.reject(fault('invalid_request'))));
    expect(hasAnsweredPart(error)).toBe(false);
  });

  it('repeats a call that the provider failed, and none that was answered', async () => {
    const asked: number[] = [];
    const results = await ask([1, 2, 3], 1, async (item) => {
      asked.push(item);
      if (item === 2 && asked.length < 4) throw fault('rate_limit_exceeded');
      return item;
    });
    expect([results, asked]).toEqual(['1,2,3', [1, 2, 2, 2, 3]]);
  });

  it.each([
    ['is told to wait for longer than it can', 2, fault('rate_limit_exceeded', 60), 2],
    ['has nothing to lose', 1, fault('provider_unavailable'), 1],
    ['fails by itself', 2, new AppError('provider_unavailable', 'No'), 2],
    ['has failed three times', 2, fault('provider_unavailable'), 4],
  ])('fails where the call %s', async (_what, failing, error, calls) => {
    let asked = 0;
    const run = ask([1, 2], 1, (item) => {
      asked += 1;
      return item === failing ? Promise.reject(error) : Promise.resolve(item);
    });
    expect(await failureOf(run)).toBe(error);
    expect(asked).toBe(calls);
  });

  it('hands on that the caller has left, and no more time than is left', async () => {
    const leaving = new AbortController();
    const one = async (_item: string, { signal, timeouts }: UpstreamCall) => {
      leaving.abort();
      expect(signal.aborted).toBe(true);
      expect(timeouts.totalMs).toBeLessThanOrEqual(LIMIT_MS);
    };
    await ask(['only'], 2, one, leaving.signal);
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
