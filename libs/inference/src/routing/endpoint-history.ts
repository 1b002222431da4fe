import type { Endpoint } from '../catalogue/catalogue-entries';
import { traitsOf } from '../catalogue/endpoint-traits';
import { LeastRecent } from './least-recent';
import { ProviderStatistics, type CallMeasure } from './provider-statistics';
import type { RollingTime } from './rolling-histogram';
import type { Percentile } from './route-request';
import { UptimeCounts, type Uptime } from './uptime-counts';

export type Percentiles = Readonly<Record<Percentile, number>>;

/** Measurements of an endpoint; null if there are none. */
export interface EndpointRecord extends Uptime {
  /** Seconds to the first token. */
  readonly latency: Percentiles | null;
  /** Tokens per second. */
  readonly throughput: Percentiles | null;
}

const HALF_AN_HOUR: RollingTime = { sliceMs: 300_000, slices: 7 };
const MOST_ENDPOINTS = 2_048;

/**
 * How this process's calls to endpoints ended within half an hour and a day, for users who choose among endpoints.
 * Routing uses shorter times (`ProviderHealth`, `ProviderStatistics`).
 */
export class EndpointHistory {
  readonly #measured: ProviderStatistics;
  readonly #uptimes = new LeastRecent<UptimeCounts>(MOST_ENDPOINTS);

  constructor(private readonly clock: () => number) {
    this.#measured = new ProviderStatistics(clock, HALF_AN_HOUR);
  }

  measured(endpoint: Endpoint, measure: CallMeasure): void {
    this.#measured.record(endpoint, measure);
  }

  /** Records the end of a call with the shared key. Calls with a caller's own key say little about the endpoint. */
  ended(endpoint: Endpoint, isFailure: boolean): void {
    const { key } = traitsOf(endpoint);
    const nowMs = this.clock();
    this.#uptimes.use(key, () => new UptimeCounts(nowMs)).add(isFailure, nowMs);
  }

  recordOf(endpoint: Endpoint): EndpointRecord {
    const uptime = this.#uptimes.peek(traitsOf(endpoint).key)?.uptime(this.clock());
    return {
      last5m: uptime?.last5m ?? null,
      last30m: uptime?.last30m ?? null,
      last1d: uptime?.last1d ?? null,
      latency: percentilesOf((percentile) => this.#measured.latencySeconds(endpoint, percentile)),
      throughput: percentilesOf((percentile) => this.#measured.tokensPerSecond(endpoint, percentile)),
    };
  }
}

function percentilesOf(valueOf: (percentile: Percentile) => number | null): Percentiles | null {
  const [p50, p75, p90, p99] = [valueOf('p50'), valueOf('p75'), valueOf('p90'), valueOf('p99')];
  if (p50 === null || p75 === null || p90 === null || p99 === null) return null;
  return { p50: rounded(p50), p75: rounded(p75), p90: rounded(p90), p99: rounded(p99) };
}

/** Rounds to four digits: measurements are only exact to five percent. */
function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
