import type { Endpoint } from '../catalogue/catalogue-entries';
import { LeastRecent } from './least-recent';
import type { Percentile } from './route-request';
import { RollingHistogram, type RollingTime } from './rolling-histogram';
import { traitsOf } from '../catalogue/endpoint-traits';

/** The part of the statistics that plans use. Null: nothing was measured in the time window. */
export interface StatisticsView {
  /** Returns the seconds to the first token that the given percentage of the calls did not exceed. */
  latencySeconds(endpoint: Endpoint, percentile: Percentile): number | null;
  /** Returns the tokens per second that the given percentage of the calls reached. */
  tokensPerSecond(endpoint: Endpoint, percentile: Percentile): number | null;
}

/** Measurements of one successful call. */
export interface CallMeasure {
  readonly firstTokenMs?: number;
  readonly completionTokens?: number;
  /** From the first token to the last, or the whole call if the answer came in one piece. */
  readonly generationMs?: number;
}

/** The current minute and the five before it. */
const FIVE_MINUTES: RollingTime = { sliceMs: 60_000, slices: 6 };
/** Throughput is counted in hundredths of a token per second, latency in milliseconds. */
const HUNDREDTHS = 100;
const MOST_ENDPOINTS = 2_048;
const SHARE: Readonly<Record<Percentile, number>> = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 };

/**
 * Latency and throughput of endpoints in a rolling window of five minutes, in this process; used for routing. Two small
 * histograms per endpoint. Limited in size; the endpoint without measurements for the longest time is dropped first.
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
    // A higher throughput is better: 90 % of the calls reached the value that only 10 % stayed below.
    const share = 1 - SHARE[percentile];
    const hundredths = this.#throughputs.peek(traitsOf(endpoint).key)?.quantile(share, this.clock()) ?? null;
    return hundredths === null ? null : hundredths / HUNDREDTHS;
  }

  #in(histograms: LeastRecent<RollingHistogram>, key: string): RollingHistogram {
    return histograms.use(key, () => new RollingHistogram(this.clock(), this.time));
  }
}
