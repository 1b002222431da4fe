import { QuotaPauses } from './quota-pauses';

describe(QuotaPauses.name, () => {
  it('forgets pauses that are over, however many keys come and go', () => {
    let nowMs = 0;
    const pauses = new QuotaPauses(() => nowMs);
    const { until } = pauses as unknown as { until: ReadonlyMap<string, number> };
    for (let key = 0; key < 10_000; key += 1) {
      pauses.pause(`acme:${key}`, 100);
      nowMs += 1;
    }
    expect(until.size).toBeLessThanOrEqual(256);
    expect(pauses.active()).toHaveLength(99);
  });

  it('ends at the later of two ends', () => {
    let nowMs = 0;
    const pauses = new QuotaPauses(() => nowMs);
    pauses.pause('acme', 100);
    pauses.pause('acme', 50);
    nowMs = 60;
    expect(pauses.remainingMs('acme')).toBe(40);
  });
});
