import type { Endpoint } from '../catalogue/catalogue-entries';
import { LeastRecent } from './least-recent';
import type { Percentile } from './route-request';
import { RollingHistogram, type RollingTime } from './rolling-histogram';
import { traitsOf } from '../catalogue/endpoint-traits';

/** What a plan asks. Null: nothing was measured in the time. */
export interface StatisticsView {
  /** Seconds to the first token that so many percent of the calls stayed below. */
  latencySeconds(endpoint: Endpoint, percentile: Percentile): number | null;
  /** Tokens per second that so many percent of the calls reached. */
  tokensPerSecond(endpoint: Endpoint, percentile: Percentile): number | null;
}

/** One call that succeeded. */
export interface CallMeasure {
  readonly firstTokenMs?: number;
  readonly completionTokens?: number;
  /** From the first token to the last, or the whole call where the answer came in one piece. */
  readonly generationMs?: number;
}

/** The running minute and the five before it. */
const FIVE_MINUTES: RollingTime = { sliceMs: 60_000, slices: 6 };
/** Throughputs are counted in hundredths of a token per second, latencies in milliseconds. */
const HUNDREDTHS = 100;
const MOST_ENDPOINTS = 2_048;
const SHARE: Readonly<Record<Percentile, number>> = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 };

/**
 * Latency and throughput of endpoints over a rolling time, in this process: five minutes for routing. Two
 * small histograms per endpoint; bounded, and the endpoint longest without news goes first.
 */
export class ProviderStatistics implements StatisticsView {
  readonly #latencies = new LeastRecent<RollingHistogram>(MOST_ENDPOINTS);
  readonly #throughputs = new LeastRecent<RollingHistogram>(MOST_ENDPOINTS);

  constructor(
    readonly clock: () => number,
    private readonly time: RollingTime = FIVE_MINUTES,
  ) {}

  record(endpoint: Endpoint, { firstTokenMs, completionTokens = 0, generationMs = 0 }: CallMeasure): void {
    const { key } = traitsOf(endpoint);
    if (firstTokenMs !== undefined) this.#in(this.#latencies, key).add(firstTokenMs, this.clock());
    if (completionTokens > 0 && generationMs > 0) {
      const tokensPerSecond = (completionTokens * 1_000) / generationMs;
      this.#in(this.#throughputs, key).add(tokensPerSecond * HUNDREDTHS, this.clock());
    }
  }

  latencySeconds(endpoint: Endpoint, percentile: Percentile): number | null {
    const milliseconds =
      this.#latencies.peek(traitsOf(endpoint).key)?.quantile(SHARE[percentile], this.clock()) ?? null;
    return milliseconds === null ? null : milliseconds / 1_000;
  }

  tokensPerSecond(endpoint: Endpoint, percentile: Percentile): number | null {
    // More is better: what 90 % of the calls reached is what only 10 % stayed below.
    const share = 1 - SHARE[percentile];
    const hundredths = this.#throughputs.peek(traitsOf(endpoint).key)?.quantile(share, this.clock()) ?? null;
    return hundredths === null ? null : hundredths / HUNDREDTHS;
  }

  #in(histograms: LeastRecent<RollingHistogram>, key: string): RollingHistogram {
    return histograms.use(key, () => new RollingHistogram(this.clock(), this.time));
  }
}
