import type { RateLimit, RateVerdict } from './rate-limiter';

/**
 * The generic cell rate algorithm, with one number as its whole state: the theoretical arrival time, when
 * the next one would come if they came evenly. One is allowed while that lies no further ahead than the burst.
 */
export interface CellRate {
  /** Between two, when they come evenly. */
  readonly intervalMs: number;
  readonly burst: number;
}

export function cellRateOf({ perMinute, burst }: RateLimit): CellRate {
  return { intervalMs: 60_000 / perMinute, burst };
}

/** @param aheadMs how far the theoretical arrival time lies ahead of now, after this one if it was allowed */
export function verdictOf({ intervalMs, burst }: CellRate, allowed: boolean, aheadMs: number): RateVerdict {
  const room = burst * intervalMs - aheadMs;
  return {
    allowed,
    limit: burst,
    remaining: Math.max(0, Math.floor(room / intervalMs + 1e-6)),
    retryAfterMs: Math.max(0, intervalMs - room),
    resetAfterMs: Math.max(0, aheadMs),
  };
}

const MOST_ENTITIES = 10_000;

/** The algorithm inside this process. Remembers a bounded number of entities, the latest ones. */
export class LocalCellRates {
  private readonly arrivals = new Map<string, number>();

  constructor(private readonly nowMs: () => number) {}

  take(key: string, rate: CellRate): RateVerdict {
    const nowMs = this.nowMs();
    const arrival = Math.max(this.arrivals.get(key) ?? 0, nowMs) + rate.intervalMs;
    const allowed = arrival - nowMs <= rate.burst * rate.intervalMs + 1e-6;
    if (allowed) this.remember(key, arrival);
    return verdictOf(rate, allowed, (allowed ? arrival : arrival - rate.intervalMs) - nowMs);
  }

  giveBack(key: string, rate: CellRate): void {
    const arrival = this.arrivals.get(key);
    if (arrival !== undefined) this.arrivals.set(key, arrival - rate.intervalMs);
  }

  private remember(key: string, arrival: number): void {
    this.arrivals.delete(key);
    this.arrivals.set(key, arrival);
    if (this.arrivals.size > MOST_ENTITIES) this.arrivals.delete(this.arrivals.keys().next().value!);
  }
}
