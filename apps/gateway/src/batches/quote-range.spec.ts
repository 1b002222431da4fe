import { LEAST_PAST, rangeOfNext } from './quote-range';

/** Numbers from 0 to 1 that look drawn and are the same in every run. */
function* drawn(seed: number): Generator<number> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state / 2 ** 32;
  }
}

function coverage(past: number, spread: (uniform: number) => number): number {
  const numbers = drawn(7);
  const draw = (): number => spread(numbers.next().value as number);
  const rounds = 4_000;
  let inside = 0;
  for (let round = 0; round < rounds; round += 1) {
    const range = rangeOfNext(Array.from({ length: past }, draw))!;
    const next = draw();
    if (next >= range.low && next <= range.high) inside += 1;
  }
  return inside / rounds;
}

describe(rangeOfNext, () => {
  it('says nothing of the next value after fewer than nine', () => {
    expect(rangeOfNext(Array.from({ length: LEAST_PAST - 1 }, () => 1))).toBeNull();
    expect(rangeOfNext(Array.from({ length: LEAST_PAST }, () => 1))).toEqual({ low: 1, high: 1 });
  });

  it('leaves out a tenth at either end', () => {
    const past = Array.from({ length: 99 }, (_, index) => index + 1);
    expect(rangeOfNext(past.toReversed())).toEqual({ low: 10, high: 90 });
  });

  it.each([
    ['even', (uniform: number) => uniform],
    ['long-tailed', (uniform: number) => 1 / (1 - uniform) ** 2],
    ['of two kinds', (uniform: number) => (uniform < 0.5 ? uniform : 1_000 + uniform)],
  ])('holds four of five values that are %s, however many came before', (_, spread) => {
    for (const past of [9, 19, 99]) {
      const covered = coverage(past, spread);
      expect(covered).toBeGreaterThan(0.77);
      expect(covered).toBeLessThan(0.83);
    }
    // Between multiples of ten the share is higher, never lower.
    for (const past of [12, 17]) expect(coverage(past, spread)).toBeGreaterThan(0.77);
  });
});
