import type { RateLimit, RateVerdict } from './rate-limiter';

/**
 * A rate in the generic cell rate algorithm. Its whole state is one number, the theoretical arrival time: when the next
 * cell would arrive if cells arrived evenly. A cell is allowed if that time is no further ahead than the burst.
 */
export interface CellRate {
  /** Time between two requests, if they come evenly. */
  readonly intervalMs: number;
  readonly burst: number;
}

/** Several cells of a rate, taken at once. */
export interface CellDemand {
  readonly key: string;
  readonly rate: CellRate;
  readonly count: number;
}

export function cellRateOf({ perMinute, burst }: RateLimit): CellRate {
  return { intervalMs: 60_000 / perMinute, burst };
}

/**
 * @param aheadMs how far the theoretical arrival time is ahead of now, including the request if it was allowed
 * @param count number of requested cells
 */
export function verdictOf({ intervalMs, burst }: CellRate, allowed: boolean, aheadMs: number, count = 1): RateVerdict {
  const room = burst * intervalMs - aheadMs;
  return {
    allowed,
    limit: burst,
    remaining: Math.max(0, Math.floor(room / intervalMs + 1e-6)),
    retryAfterMs: Math.max(0, count * intervalMs - room),
    resetAfterMs: Math.max(0, aheadMs),
  };
}

const MOST_ENTITIES = 10_000;

/** The algorithm within this process. Remembers a limited number of entities, the most recent ones. */
export class LocalCellRates {
  private readonly arrivals = new Map<string, number>();

  constructor(private readonly nowMs: () => number) {}

  take(key: string, rate: CellRate): RateVerdict {
    return this.takeAll([{ key, rate, count: 1 }]);
  }

  /** All or nothing, as `RateLimiter.takeAll`. */
  takeAll(demands: readonly CellDemand[]): RateVerdict {
    const nowMs = this.nowMs();
    const arrivalOf = (key: string): number => Math.max(this.arrivals.get(key) ?? 0, nowMs);
    let refusal: RateVerdict | null = null;
    for (const { key, rate, count } of demands) {
      const aheadMs = arrivalOf(key) - nowMs;
      if (aheadMs + count * rate.intervalMs <= rate.burst * rate.intervalMs + 1e-6) continue;
      const verdict = verdictOf(rate, false, aheadMs, count);
      if (refusal === null || verdict.retryAfterMs > refusal.retryAfterMs) refusal = verdict;
    }
    if (refusal !== null) return refusal;
    for (const { key, rate, count } of demands) this.remember(key, arrivalOf(key) + count * rate.intervalMs);
    const [{ key, rate }] = demands as [CellDemand];
    return verdictOf(rate, true, arrivalOf(key) - nowMs);
  }

  adjust({ key, rate, count }: CellDemand): void {
    const arrival = Math.max(this.arrivals.get(key) ?? 0, this.nowMs());
    this.remember(key, arrival + count * rate.intervalMs);
  }

  private remember(key: string, arrival: number): void {
    this.arrivals.delete(key);
    this.arrivals.set(key, arrival);
    if (this.arrivals.size > MOST_ENTITIES) this.arrivals.delete(this.arrivals.keys().next().value!);
  }
}
