import fc from 'fast-check';
import { anEndpoint } from '../testing';
import { ProviderStatistics } from './provider-statistics';

describe(ProviderStatistics.name, () => {
  const endpoint = anEndpoint();
  let nowMs: number;
  let statistics: ProviderStatistics;

  beforeEach(() => {
    nowMs = 60_000_000;
    statistics = new ProviderStatistics(() => nowMs);
  });

  it('knows nothing before it has measured', () => {
    expect(statistics.latencySeconds(endpoint, 'p50')).toBeNull();
    expect(statistics.tokensPerSecond(endpoint, 'p99')).toBeNull();
    statistics.record(endpoint, { completionTokens: 0, generationMs: 100 });
    statistics.record(endpoint, { completionTokens: 10, generationMs: 0 });
    expect(statistics.tokensPerSecond(endpoint, 'p50')).toBeNull();
  });

  it('finds percentiles of latency within five percent', () => {
    const value = fc.integer({ min: 2, max: 600_000 });
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 200 }), (latencies) => {
        const measured = new ProviderStatistics(() => nowMs);
        for (const firstTokenMs of latencies) measured.record(endpoint, { firstTokenMs });
        const sorted = latencies.toSorted((a, b) => a - b);
        for (const [percentile, share] of [
          ['p50', 0.5],
          ['p90', 0.9],
          ['p99', 0.99],
        ] as const) {
          const exact = sorted[Math.max(0, Math.ceil(share * sorted.length - 1e-6) - 1)]! / 1_000;
          expect(Math.abs(measured.latencySeconds(endpoint, percentile)! / exact - 1)).toBeLessThan(0.05);
        }
      }),
    );
  });

  it('takes the throughput that so many percent of the calls reach', () => {
    for (let i = 1; i <= 100; i += 1) statistics.record(endpoint, { completionTokens: i, generationMs: 1_000 });
    const near = (value: number | null, expected: number) => expect(value! / expected).toBeCloseTo(1, 1);
    near(statistics.tokensPerSecond(endpoint, 'p50'), 50);
    near(statistics.tokensPerSecond(endpoint, 'p90'), 10);
    near(statistics.tokensPerSecond(endpoint, 'p99'), 1);
  });

  it('forgets after five minutes, minute by minute', () => {
    statistics.record(endpoint, { firstTokenMs: 8_000 });
    nowMs += 120_000;
    statistics.record(endpoint, { firstTokenMs: 100 });
    nowMs += 179_999;
    expect(statistics.latencySeconds(endpoint, 'p99')).toBeGreaterThan(7);
    nowMs += 60_001;
    expect(statistics.latencySeconds(endpoint, 'p99')).toBeLessThan(0.11);
    nowMs += 10_000_000;
    expect(statistics.latencySeconds(endpoint, 'p99')).toBeNull();
  });

  it('tells endpoints apart, whichever way they were read', () => {
    statistics.record(endpoint, { firstTokenMs: 100 });
    expect(statistics.latencySeconds(anEndpoint(), 'p50')).not.toBeNull();
    expect(statistics.latencySeconds(anEndpoint({ region: 'eu' }), 'p50')).toBeNull();
  });

  it('keeps the outermost values in its outermost buckets', () => {
    for (const firstTokenMs of [0, -5, Number.NaN, 1e12]) statistics.record(endpoint, { firstTokenMs });
    expect(statistics.latencySeconds(endpoint, 'p50')).toBeLessThan(0.002);
    expect(statistics.latencySeconds(endpoint, 'p99')).toBeGreaterThan(1_000);
  });
});
