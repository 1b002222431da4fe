import { LeftoverReads, LEFTOVER_BOUNDS } from './leftover-reads';

const MEBIBYTE = 1024 * 1024;

describe(LeftoverReads.name, () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('ends a read after the longest time, once', () => {
    const reads = new LeftoverReads({ ...LEFTOVER_BOUNDS, longestMs: 100 });
    const onEnd = jest.fn();
    reads.termsFor('acme').begin(0, onEnd);
    jest.advanceTimersByTime(99);
    expect([onEnd.mock.calls.length, reads.size]).toEqual([0, 1]);
    jest.advanceTimersByTime(10_000);
    expect([onEnd.mock.calls.length, reads.size]).toEqual([1, 0]);
  });

  it('refuses an owner with an eighth of the places, and then everybody when all are taken', () => {
    const reads = new LeftoverReads({ ...LEFTOVER_BOUNDS, mostReads: 16 });
    const begin = (owner: string) => reads.termsFor(owner).begin(0, () => undefined);
    expect([begin('acme'), begin('acme'), begin('acme')].map(Boolean)).toEqual([true, true, false]);
    const others = Array.from({ length: 20 }, (_, index) => begin(`other-${index}`));
    expect(others.filter(Boolean)).toHaveLength(14);
    expect(reads.size).toBe(16);
  });

  it('takes none where there are no places', () => {
    const reads = new LeftoverReads({ ...LEFTOVER_BOUNDS, mostReads: 0 });
    expect(reads.termsFor('acme').begin(0, () => undefined)).toBeNull();
  });

  it('frees a place once, however often it is given back', () => {
    const reads = new LeftoverReads({ ...LEFTOVER_BOUNDS, mostReads: 8 });
    const first = reads.termsFor('acme').begin(7, () => undefined);
    expect(reads.termsFor('acme').begin(0, () => undefined)).toBeNull();
    first?.close();
    first?.close();
    expect(reads.size).toBe(0);
    expect(reads.termsFor('acme').begin(32 * MEBIBYTE, () => undefined)).not.toBeNull();
  });

  it('counts the bytes of a stream, and the bytes that all reads keep', () => {
    const reads = new LeftoverReads({ ...LEFTOVER_BOUNDS, mostBytes: 10 });
    const one = reads.termsFor('one').begin(0, () => undefined)!;
    const other = reads.termsFor('other').begin(MEBIBYTE, () => undefined)!;
    expect([one.passes(10), one.passes(1), other.passes(10)]).toEqual([true, false, true]);
    const third = reads.termsFor('third').begin(31 * MEBIBYTE, () => undefined)!;
    expect([one.keeps(32 * MEBIBYTE), other.keeps(1)]).toEqual([true, false]);
    expect(reads.termsFor('fourth').begin(1, () => undefined)).toBeNull();
    expect(third.keeps(0)).toBe(false);
  });

  it('lets one owner keep half of the bytes', () => {
    const reads = new LeftoverReads();
    const begin = (bytes: number) => reads.termsFor('acme').begin(bytes, () => undefined);
    expect([begin(20 * MEBIBYTE), begin(13 * MEBIBYTE), begin(12 * MEBIBYTE)].map(Boolean)).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('reads a call patiently whose usage only its provider knows', () => {
    const reads = new LeftoverReads({ ...LEFTOVER_BOUNDS, mostBytes: 10 });
    const onEnd = jest.fn();
    const read = reads.termsFor('acme').patient!().begin(0, onEnd)!;
    jest.advanceTimersByTime(3_600_000);
    expect([onEnd.mock.calls.length, read.mostTokens]).toEqual([0, Infinity]);
    expect([read.passes(640), read.passes(1)]).toEqual([true, false]);
  });

  it('says of a patient call that its owner leaves too many, and not that others do', () => {
    const reads = new LeftoverReads({ ...LEFTOVER_BOUNDS, mostReads: 8 });
    const leave = (owner: string) => {
      const terms = reads.termsFor(owner).patient!();
      return [terms.begin(0, () => undefined) !== null, terms.isUnread];
    };
    expect([leave('acme'), leave('acme')]).toEqual([
      [true, false],
      [false, true],
    ]);
    for (let nth = 0; nth < 7; nth += 1) leave(`other-${nth}`);
    expect(leave('last')).toEqual([false, false]);
  });

  it('says of a patient call that it was not read to its end because its owner keeps too much', () => {
    const reads = new LeftoverReads();
    const leave = (owner: string, keptBytes: number) => {
      const terms = reads.termsFor(owner).patient!();
      return { terms, read: terms.begin(keptBytes, () => undefined)! };
    };
    const [filler, last] = [leave('acme', 31 * MEBIBYTE), leave('acme', MEBIBYTE)];
    expect([last.terms.isUnread, last.read.keeps(1), last.terms.isUnread]).toEqual([false, false, true]);
    const [neighbour, late] = [leave('other', 31 * MEBIBYTE), leave('third', 0)];
    expect([late.read.keeps(MEBIBYTE), late.terms.isUnread]).toEqual([false, false]);
    expect([filler.terms.isUnread, neighbour.terms.isUnread]).toEqual([false, false]);
  });

  it('says the same of a patient call whose stream is longer than is read', () => {
    const terms = new LeftoverReads({ ...LEFTOVER_BOUNDS, mostBytes: 10 }).termsFor('acme').patient!();
    const read = terms.begin(0, () => undefined)!;
    expect([read.passes(640), terms.isUnread, read.passes(1), terms.isUnread]).toEqual([true, false, false, true]);
  });

  it('drains: reads end by themselves or with the signal', async () => {
    const reads = new LeftoverReads();
    const ended: string[] = [];
    const one = reads.termsFor('one').begin(0, () => ended.push('one'))!;
    reads.termsFor('other').begin(0, () => ended.push('other'));
    const deadline = new AbortController();
    const drained = reads.drain(deadline.signal);
    one.close();
    deadline.abort();
    await drained;
    expect([ended, reads.size]).toEqual([['other'], 0]);
    await reads.drain(new AbortController().signal);
  });
});
