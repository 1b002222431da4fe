import type { QueueSpec } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { OwnerClocks, type ClockReading } from './owner-clock';

const QUEUE: QueueSpec = { name: 'auth', kind: 'call', owner: 'auth', prefetch: 1 };
const NOW = Date.parse('2026-11-25T12:00:00Z');

describe(OwnerClocks.name, () => {
  let answers: (() => Promise<ClockReading>)[];
  let askedForMs: number[];
  let clocks: OwnerClocks;

  beforeEach(() => {
    jest.useFakeTimers();
    answers = [];
    askedForMs = [];
    clocks = new OwnerClocks(({ timeoutMs }) => {
      askedForMs.push(timeoutMs);
      return answers.shift()!();
    });
  });

  afterEach(() => jest.useRealTimers());

  const replies = (nowMs: number) => (): Promise<ClockReading> => Promise.resolve({ nowMs });
  const fails = (code: 'timeout' | 'unavailable') => (): Promise<ClockReading> =>
    Promise.reject(new AppError(code, 'No answer'));
  /** As for a call that begins now. */
  const endOf = (timeoutMs: number): Promise<number> => {
    const deadlineMs = performance.now() + timeoutMs;
    return clocks.endOf(QUEUE, () => deadlineMs - performance.now());
  };

  it('ends a change when its asker gives up, by the clock of its owner', async () => {
    answers = [replies(NOW)];
    expect(await endOf(5_000)).toBe(NOW + 5_000);
  });

  it('needs no second reading for a second try, and goes on from the first one', async () => {
    answers = [replies(NOW)];
    await endOf(5_000);
    jest.advanceTimersByTime(10_000);
    jest.setSystemTime(0);
    expect([await endOf(5_000), askedForMs.length]).toEqual([NOW + 15_000, 1]);
  });

  it('reads the clock again after half a minute: it may have been set', async () => {
    answers = [replies(NOW), replies(NOW + 90_000)];
    await endOf(5_000);
    jest.advanceTimersByTime(30_000);
    expect(await endOf(5_000)).toBe(NOW + 95_000);
  });

  it('asks another process of the owner when one says nothing for a second', async () => {
    const silent = (): Promise<ClockReading> => {
      jest.advanceTimersByTime(1_000);
      return fails('timeout')();
    };
    answers = [silent, replies(NOW)];
    expect(await endOf(5_000)).toBe(NOW + 4_000);
    expect(askedForMs).toEqual([1_000, 1_000]);
  });

  it('gives up with its asker, and at once where the owner cannot be asked', async () => {
    answers = [fails('timeout'), fails('unavailable')];
    await expect(endOf(900)).rejects.toMatchObject({ code: 'timeout' });
    await expect(endOf(5_000)).rejects.toMatchObject({ code: 'unavailable' });
    expect(askedForMs).toEqual([900, 1_000]);
  });
});
