import { QuotaWindows, type CallEnd } from './quota-windows';

describe(QuotaWindows.name, () => {
  let nowMs: number;
  let windows: QuotaWindows;

  beforeEach(() => {
    nowMs = 0;
    windows = new QuotaWindows(16, () => nowMs);
  });

  /** One window of calls, all ending alike. */
  function round(end: CallEnd, tookMs = 100): void {
    const tickets = [];
    while (windows.admits('acme')) tickets.push(windows.begin('acme'));
    nowMs += tookMs;
    for (const ticket of tickets) windows.end(ticket, end);
  }

  it('lets everything through until a provider has had too much', () => {
    round('answered');
    expect(windows.limitOf('acme')).toBe(16);
  });

  it('halves once for all the refusals of one window, and never goes below one', () => {
    round('congested');
    expect(windows.limitOf('acme')).toBe(8);
    for (let rounds = 0; rounds < 10; rounds += 1) round('congested');
    expect(windows.limitOf('acme')).toBe(1);
    expect(windows.admits('acme')).toBe(true);
  });

  it('comes back by about one a window, and never goes above what the process may do', () => {
    round('congested');
    round('answered');
    expect(windows.limitOf('acme')).toBeGreaterThanOrEqual(8);
    round('answered');
    expect(windows.limitOf('acme')).toBeLessThanOrEqual(10);
    for (let rounds = 0; rounds < 40; rounds += 1) round('answered');
    expect(windows.limitOf('acme')).toBe(16);
  });

  it('takes a provider back a little that has become much slower', () => {
    for (let rounds = 0; rounds < 10; rounds += 1) round('answered', 100);
    round('answered', 2_000);
    const slower = windows.limitOf('acme');
    expect(slower).toBeLessThan(16);
    expect(slower).toBeGreaterThanOrEqual(14);
  });

  it('keeps quotas apart, and counts calls that failed for reasons of their own as nothing', () => {
    round('congested');
    expect(windows.limitOf('other')).toBe(16);
    round('other');
    expect(windows.limitOf('acme')).toBe(8);
  });

  it('begins with an eighth of what it was after an outage, and doubles until it is that again', () => {
    windows.restart('acme');
    const limits = [windows.limitOf('acme')];
    for (let rounds = 0; rounds < 4; rounds += 1) {
      round('answered');
      limits.push(windows.limitOf('acme'));
    }
    expect(limits).toEqual([2, 4, 8, 16, 16]);
  });

  it('does not come back to what it was where a provider has had too much on the way', () => {
    windows.restart('acme');
    round('answered');
    round('congested');
    round('answered');
    expect(windows.limitOf('acme')).toBe(2);
  });

  it('settles near what a provider takes, however much is asked of it', () => {
    const capacity = 6;
    let refused = 0;
    let served = 0;
    for (let rounds = 0; rounds < 200; rounds += 1) {
      const tickets = [];
      while (windows.admits('acme')) tickets.push(windows.begin('acme'));
      nowMs += 100;
      tickets.forEach((ticket, index) => windows.end(ticket, index < capacity ? 'answered' : 'congested'));
      served += Math.min(tickets.length, capacity);
      refused += Math.max(0, tickets.length - capacity);
    }
    expect(refused / (served + refused)).toBeLessThan(0.15);
    expect(served / 200).toBeGreaterThan(capacity * 0.6);
  });
});
