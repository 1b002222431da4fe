import { cellRateOf, LocalCellRates } from './gcra';
import { rateLimitError } from './rate-limiter';

const rate = cellRateOf({ name: 'x', perMinute: 60, burst: 3 });

describe(LocalCellRates.name, () => {
  it('allows a burst, then one per interval', () => {
    let nowMs = 1_000;
    const rates = new LocalCellRates(() => nowMs);
    const take = (): boolean => rates.take('a', rate).allowed;
    expect([take(), take(), take(), take()]).toEqual([true, true, true, false]);
    nowMs += 999;
    expect(take()).toBe(false);
    nowMs += 1;
    expect([take(), take()]).toEqual([true, false]);
    nowMs += 60_000;
    expect([take(), take(), take(), take()]).toEqual([true, true, true, false]);
  });

  it('says what is left and when there will be more', () => {
    const rates = new LocalCellRates(() => 5_000);
    expect(rates.take('a', rate)).toMatchObject({
      allowed: true,
      limit: 3,
      remaining: 2,
      retryAfterMs: 0,
      resetAfterMs: 1_000,
    });
    rates.take('a', rate);
    expect(rates.take('a', rate)).toMatchObject({ remaining: 0, retryAfterMs: 1_000, resetAfterMs: 3_000 });
    expect(rates.take('a', rate)).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 1_000,
      resetAfterMs: 3_000,
    });
  });

  it('counts every entity by itself, and forgets the oldest beyond ten thousand', () => {
    const rates = new LocalCellRates(() => 0);
    for (let i = 0; i < 3; i += 1) rates.take('first', rate);
    expect(rates.take('second', rate).allowed).toBe(true);
    expect(rates.take('first', rate).allowed).toBe(false);
    for (let i = 0; i < 10_000; i += 1) rates.take(`other ${i}`, rate);
    expect(rates.take('first', rate).remaining).toBe(2);
  });

  it('takes a count back', () => {
    const rates = new LocalCellRates(() => 0);
    for (let i = 0; i < 3; i += 1) rates.take('a', rate);
    rates.adjust({ key: 'a', rate, count: -1 });
    expect(rates.take('a', rate).allowed).toBe(true);
    expect(rates.take('a', rate).allowed).toBe(false);
  });

  it('takes all or nothing, and names what is missing longest', () => {
    const rates = new LocalCellRates(() => 0);
    const tokens = cellRateOf({ name: 'tokens', perMinute: 600, burst: 100 });
    const both = (count: number) => [
      { key: 'requests', rate, count: 1 },
      { key: 'tokens', rate: tokens, count },
    ];
    expect(rates.takeAll(both(90))).toMatchObject({ allowed: true, limit: 3, remaining: 2 });
    expect(rates.takeAll(both(30))).toMatchObject({ allowed: false, limit: 100, remaining: 10, retryAfterMs: 2_000 });
    expect(rates.take('requests', rate).remaining).toBe(1);
    expect(rates.takeAll(both(10)).allowed).toBe(true);
    expect(rates.takeAll(both(1))).toMatchObject({ allowed: false, limit: 3, retryAfterMs: 1_000 });
  });
});

describe(rateLimitError.name, () => {
  it('tells the caller when to come back', () => {
    const verdict = { allowed: false, limit: 3, remaining: 0, retryAfterMs: 1_200, resetAfterMs: 3_000 };
    expect(rateLimitError(verdict, 1_000_000)).toMatchObject({
      code: 'rate_limit_exceeded',
      status: 429,
      retryAfterSeconds: 2,
      headers: { 'X-RateLimit-Limit': '3', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1003000' },
    });
    expect(rateLimitError({ ...verdict, retryAfterMs: 0 })).toMatchObject({ retryAfterSeconds: 1 });
  });
});
