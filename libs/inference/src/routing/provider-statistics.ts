import type { Endpoint } from '../catalogue/catalogue-entries';
import { LeastRecent } from './least-recent';
import type { Percentile } from './route-request';
import { traitsOf } from '../catalogue/endpoint-traits';

/** What a plan asks. Null: nothing was measured in the last five minutes. */
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

const SLICE_MS = 60_000;
/** The running minute and the five before it. */
const SLICES = 6;
/** Buckets grow by an eighth of a doubling, so a percentile is off by 4.5 % at most. */
const BUCKETS_PER_DOUBLING = 8;
const BUCKETS = 20 * BUCKETS_PER_DOUBLING;
/** Throughputs are counted in hundredths of a token per second, latencies in milliseconds. */
const HUNDREDTHS = 100;
const MOST_ENDPOINTS = 2_048;
const MOST_PER_BUCKET = 65_535;
/** 1 - 0.99 is a little more than 0.01. */
const ROUNDING = 1e-6;
const SHARE: Readonly<Record<Percentile, number>> = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 };

/**
 * Latency and throughput of endpoints over a rolling five minutes, in this process. Two
 * small histograms per endpoint, by minute; bounded, and the endpoint longest without news goes first.
 */
export class ProviderStatistics implements StatisticsView {
  readonly #latencies = new LeastRecent<RollingHistogram>(MOST_ENDPOINTS);
  readonly #throughputs = new LeastRecent<RollingHistogram>(MOST_ENDPOINTS);

  constructor(readonly clock: () => number) {}

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
    return histograms.use(key, () => new RollingHistogram(this.clock()));
  }
}

/** Counts of values from 1 to about a million, by minute. Smaller and larger ones count as the outermost. */
class RollingHistogram {
  readonly #slices = Array.from({ length: SLICES }, () => new Uint16Array(BUCKETS));
  readonly #sums = new Uint32Array(BUCKETS);
  #count = 0;
  #minute: number;

  constructor(nowMs: number) {
    this.#minute = Math.floor(nowMs / SLICE_MS);
  }

  add(value: number, nowMs: number): void {
    this.#advance(nowMs);
    const slice = this.#slices[this.#minute % SLICES]!;
    const bucket = bucketOf(value);
    if (slice[bucket]! >= MOST_PER_BUCKET) return;
    slice[bucket]! += 1;
    this.#sums[bucket]! += 1;
    this.#count += 1;
  }

  quantile(share: number, nowMs: number): number | null {
    this.#advance(nowMs);
    if (this.#count === 0) return null;
    const wanted = Math.max(1, Math.ceil(share * this.#count - ROUNDING));
    let seen = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      seen += this.#sums[bucket]!;
      if (seen >= wanted) return middleOf(bucket);
    }
    return middleOf(BUCKETS - 1);
  }

  /** Empties the slices of minutes that have gone by since. */
  #advance(nowMs: number): void {
    const minute = Math.floor(nowMs / SLICE_MS);
    if (minute <= this.#minute) return;
    const first = Math.max(this.#minute + 1, minute - SLICES + 1);
    for (let each = first; each <= minute; each += 1) this.#forget(this.#slices[each % SLICES]!);
    this.#minute = minute;
  }

  #forget(slice: Uint16Array): void {
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      this.#sums[bucket]! -= slice[bucket]!;
      this.#count -= slice[bucket]!;
    }
    slice.fill(0);
  }
}

function bucketOf(value: number): number {
  if (!(value > 1)) return 0;
  return Math.min(BUCKETS - 1, Math.floor(Math.log2(value) * BUCKETS_PER_DOUBLING));
}

function middleOf(bucket: number): number {
  return 2 ** ((bucket + 0.5) / BUCKETS_PER_DOUBLING);
}
