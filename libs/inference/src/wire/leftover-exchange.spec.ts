import { AppError } from '@libs/errors';
import { Cancellation, isAbandoned } from '../model/cancellation';
import { LEFTOVER_BOUNDS, LeftoverReads, type LeftoverBounds } from '../model/leftover-reads';
import { aProvider } from '../testing';
import { ReplyBudget } from './reply-budget';
import { StreamExchange } from './stream-exchange';
import { ReplyExchange } from './upstream-exchange';

const MEBIBYTE = 1024 * 1024;

/** Of the callers in a test; an exchange that goes on for them has a timer. */
let signals: Cancellation[] = [];

afterEach(() => {
  for (const signal of signals) signal.abort();
  signals = [];
});

/** An exchange that a provider has got, unless it says otherwise, and the signal of its caller. */
function sent({ bounds = {}, status = 200, isSent = true, budget = null }: Partial<Setup> = {}) {
  const reads = new LeftoverReads({ ...LEFTOVER_BOUNDS, ...bounds });
  const signal = new Cancellation(reads.termsFor('acme'));
  signals.push(signal);
  const calls: string[] = [];
  const controller = {
    aborted: false,
    paused: false,
    reason: null,
    abort: () => void calls.push('abort'),
    pause: () => (controller.paused = true),
    resume: () => (controller.paused = false),
  };
  const options = {
    provider: aProvider(),
    apiKey: null,
    signal,
    totalMs: 60_000,
    requestBytes: 7,
    largestBodyBytes: 128 * MEBIBYTE,
    budget,
    onRelease: () => void calls.push('release'),
  };
  const stream = new StreamExchange(options);
  const reply = new ReplyExchange({ ...options, onRelease: () => undefined });
  for (const exchange of [stream, reply]) {
    if (isSent) exchange.onRequestStart(controller as never);
    if (isSent && status !== 0) exchange.onResponseStart(controller as never, status, {});
  }
  reply.reply.catch(() => undefined);
  stream.opened.catch(() => undefined);
  return { reads, signal, calls, controller: controller as never, stream, reply };
}

interface Setup {
  readonly bounds: Partial<LeftoverBounds>;
  readonly status: number;
  readonly isSent: boolean;
  readonly budget: ReplyBudget | null;
}

const failureOf = (promise: Promise<unknown>): Promise<AppError | null> =>
  promise.then(
    () => null,
    (thrown: unknown) => thrown as AppError,
  );

describe('an exchange whose caller has disconnected', () => {
  it('goes on, and wakes the read that waits', async () => {
    const { stream, signal, controller, calls, reads } = sent();
    const waiting = stream.read();
    signal.leave();
    expect(stream.leave()).toBe(LEFTOVER_BOUNDS.mostTokens);
    expect((await waiting)?.length).toBe(0);
    stream.onResponseData(controller, Buffer.from('usage'));
    expect((await stream.read())?.toString()).toBe('usage');
    stream.onResponseEnd();
    expect(await stream.read()).toBeNull();
    expect([calls, reads.size]).toEqual([['release'], 1]);
  });

  it('wakes the read that waits for room, and then waits for none', async () => {
    const budget = new ReplyBudget(MEBIBYTE);
    budget.take({ holders: [], countedBytes: 0, isPaused: false, resume: () => undefined }, MEBIBYTE);
    const { stream, controller } = sent({ budget });
    stream.onResponseData(controller, Buffer.from('a'));
    let isWoken = false;
    const waiting = stream.read(MEBIBYTE).then((bytes) => {
      isWoken = true;
      return bytes;
    });
    await new Promise(setImmediate);
    expect(isWoken).toBe(false);
    stream.leave();
    expect((await waiting)?.toString()).toBe('a');
    stream.onResponseData(controller, Buffer.from('b'));
    expect((await stream.read(MEBIBYTE + 1))?.toString()).toBe('b');
  });

  it('goes on after a head of status 1xx, which is no answer yet', () => {
    const { stream, reads, calls } = sent({ status: 103 });
    expect(stream.leave()).toBe(LEFTOVER_BOUNDS.mostTokens);
    expect([calls, reads.size]).toEqual([[], 1]);
  });

  it('takes one place, however often it is told', () => {
    const { stream, signal, reads } = sent({ status: 0 });
    stream.leave();
    stream.leave();
    signal.leave();
    // The other place was taken by the whole answer.
    expect(reads.size).toBe(2);
    stream.cancel();
    expect(reads.size).toBe(1);
  });

  it('hands out all that came within the bytes, and then ends as abandoned', async () => {
    const { stream, signal, controller } = sent({ bounds: { mostBytes: 4 } });
    signal.leave();
    stream.onResponseData(controller, Buffer.from('four'));
    stream.onResponseData(controller, Buffer.from('five!'));
    expect((await stream.read())?.toString()).toBe('fourfive!');
    expect(isAbandoned((await failureOf(stream.read()))!)).toBe(true);
  });

  it.each([
    ['no place is free', { mostReads: 0 }],
    ['no time is given', { longestMs: 0 }],
  ])('ends at once, abandoned, where %s', async (_what, bounds) => {
    const { stream, reply, signal, controller } = sent({ bounds });
    stream.onResponseData(controller, Buffer.from('came before'));
    signal.leave();
    expect(stream.leave()).toBe(0);
    expect((await stream.read())?.toString()).toBe('came before');
    expect(isAbandoned((await failureOf(stream.read()))!)).toBe(true);
    expect(isAbandoned((await failureOf(reply.reply))!)).toBe(true);
  });

  it.each([
    ['it was not sent', { isSent: false }],
    ['the provider had refused it', { status: 429 }],
  ])('ends at once, for nothing, where %s', async (_what, setup) => {
    const { reply, signal, reads } = sent(setup);
    signal.leave();
    const error = (await failureOf(reply.reply))!;
    expect([error.code, isAbandoned(error), reads.size]).toEqual(['request_timeout', false, 0]);
  });

  it('ends at once, for nothing, when the call is aborted afterwards', async () => {
    const { reply, stream, signal, reads } = sent();
    signal.leave();
    expect(reads.size).toBe(2);
    signal.abort();
    const error = (await failureOf(reply.reply))!;
    expect([isAbandoned(error), reads.size]).toEqual([false, 0]);
    await expect(stream.read()).rejects.toMatchObject({ code: 'request_timeout' });
  });

  it('brings a whole answer that comes in time, and counts what it keeps', async () => {
    const { reply, signal, controller, reads } = sent({ status: 0 });
    signal.leave();
    reply.onResponseStart(controller, 200, {});
    reply.onResponseData(controller, Buffer.from('{"usage":1}'));
    reply.onResponseEnd();
    expect((await reply.reply).body.toString()).toBe('{"usage":1}');
    expect(reads.size).toBe(1);
  });

  it('gives up a whole answer when all of them keep too much', async () => {
    const { reply, signal, controller } = sent();
    signal.leave();
    reply.onResponseData(controller, Buffer.alloc(65 * MEBIBYTE));
    expect(isAbandoned((await failureOf(reply.reply))!)).toBe(true);
  });
});
