import { AppError } from '@libs/errors';
import type { ClaimedSegment } from '@libs/persistence';
import { HeldSegment } from './held-segment';

const TOO_SLOW = new AppError('timeout', 'too slow');

function held(attempts: number, lines = 3): HeldSegment {
  const claim = { attempts } as ClaimedSegment;
  return new HeldSegment(
    claim,
    Array.from({ length: lines }, (_, seq) => ({ seq, customId: `c${seq}`, body: Buffer.alloc(10) })),
    'acme model',
  );
}

describe(HeldSegment.name, () => {
  afterEach(() => jest.useRealTimers());

  it('hands out every line once and is done when all are stored', () => {
    const segment = held(1);
    const seqs = [segment.next(), segment.next(), segment.next()].map((line) => line?.seq);
    expect(seqs).toEqual([0, 1, 2]);
    expect(segment.next()).toBeNull();
    for (let i = 0; i < 3; i += 1) {
      expect(segment.done).toBe(false);
      segment.stored();
    }
    expect(segment.done).toBe(true);
  });

  it.each([
    ['after the others', 1, [1, 2, 0], [2, 3]],
    ['before the others where lines run one at a time', 3, [0, 1, 2], [0, 1]],
  ])('hands a line that was put back out again, %s', (_where, attempts, order, counts) => {
    const segment = held(attempts);
    const first = segment.next()!;
    jest.useFakeTimers();
    segment.rest(first, 1_000, () => undefined);
    expect([segment.runnable, segment.waiting]).toEqual(counts);
    jest.advanceTimersByTime(1_000);
    const seqs = order.map(() => {
      const line = segment.next();
      segment.drop();
      return line?.seq;
    });
    expect(seqs).toEqual(order);
  });

  it('gives out the lines that failed and wait, and keeps those that were never called', () => {
    const segment = held(1, 4);
    jest.useFakeTimers();
    const [ready, resting] = [segment.next()!, segment.next()!];
    for (const [line, delayMs] of [
      [ready, 1_000],
      [resting, 2_000],
    ] as const) {
      line.lastError = new AppError('timeout', 'too slow');
      segment.rest(line, delayMs, () => undefined);
    }
    jest.advanceTimersByTime(1_000);
    expect(segment.takeFailed()).toEqual([resting, ready]);
    expect([segment.waiting, jest.getTimerCount(), segment.isIdle]).toEqual([2, 0, false]);
    segment.stored();
    segment.stored();
    expect(segment.isIdle).toBe(true);
    expect([segment.next(), segment.next(), segment.next()].map((line) => line?.seq)).toEqual([2, 3, undefined]);
  });

  it('goes one line at a time once its workers keep dying', () => {
    const segment = held(3);
    expect(segment.next()?.seq).toBe(0);
    expect(segment.next()).toBeNull();
    segment.stored();
    expect(segment.next()?.seq).toBe(1);
  });

  it('gives the first unfinished line up when even that did not help', () => {
    expect(held(5).takeSuspect()).toBeNull();
    const segment = held(6);
    expect(segment.takeSuspect()?.seq).toBe(0);
    expect(segment.next()).toBeNull();
  });

  it('hands out nothing after its lease was lost', () => {
    const segment = held(1);
    segment.lost = true;
    expect(segment.next()).toBeNull();
  });

  it('hands out nothing once it is stopped, and is idle when what was under way has ended', () => {
    const segment = held(1, 5);
    const [answered, waiting, calledOff] = [segment.next()!, segment.next()!, segment.next()!];
    jest.useFakeTimers();
    segment.rest(waiting, 1_000, () => undefined);
    segment.stop();
    expect(segment.next()).toBeNull();
    expect(segment.isIdle).toBe(false);
    segment.stored();
    segment.drop();
    expect([answered.seq, calledOff.seq]).toEqual([0, 2]);
    expect(segment.isIdle).toBe(true);
    jest.advanceTimersByTime(1_000);
    expect(segment.isIdle).toBe(true);
    expect(segment.next()).toBeNull();
    expect(segment.done).toBe(false);
  });

  it('goes on with its lines where they were when it was given back: what failed comes last, and rests on', () => {
    jest.useFakeTimers();
    const segment = held(1, 4);
    const [rested, resting] = [segment.next()!, segment.next()!];
    for (const line of [rested, resting]) Object.assign(line, { tries: 3, counted: 2, lastError: TOO_SLOW });
    segment.rest(rested, 1_000, () => undefined);
    segment.rest(resting, 9_000, () => undefined);
    jest.advanceTimersByTime(4_000);
    const tried = segment.giveBack();
    expect([...tried.keys()]).toEqual([0, 1]);
    jest.advanceTimersByTime(1_000);
    const again = held(1, 4);
    const woken = jest.fn();
    again.resume(tried, woken);
    expect([again.next(), again.next(), again.next(), again.next()].map((line) => line?.seq)).toEqual([
      2,
      3,
      0,
      undefined,
    ]);
    jest.advanceTimersByTime(4_000);
    expect(woken).toHaveBeenCalledTimes(1);
    expect(again.next()).toMatchObject({ seq: 1, tries: 3, counted: 2, lastError: TOO_SLOW, segment: again });
  });

  it('keeps the order of lines that run one at a time, whatever they met before', () => {
    const segment = held(3);
    segment.ready[0]!.tries = 2;
    const again = held(3);
    again.resume(segment.giveBack(), () => undefined);
    expect([again.next(), again.next()]).toMatchObject([{ seq: 0, tries: 2 }, null]);
  });

  it('keeps nothing in memory, and wakes nobody, once it is given back', () => {
    jest.useFakeTimers();
    const segment = held(1);
    const woken = jest.fn();
    segment.rest(segment.next()!, 1_000, woken);
    segment.giveBack();
    expect([segment.waiting, jest.getTimerCount()]).toEqual([0, 0]);
    jest.advanceTimersByTime(1_000);
    expect(woken).not.toHaveBeenCalled();
    expect(segment.next()).toBeNull();
  });
});
