/** What the end of a call says about how much its quota can take. `other` says nothing. */
export type CallEnd = 'answered' | 'congested' | 'other';

export interface WindowTicket {
  readonly quota: string;
  readonly startedAtMs: number;
  /** Cuts before the call began. */
  readonly cuts: number;
}

/** Cut to half where a provider says that it is too much, a little where it only slows down. */
const REFUSED_FACTOR = 0.5;
const SLOWER_FACTOR = 0.9;
/** Recent calls take so many times as long as they used to. */
const SLOW_RATIO = 3;
const RECENT_WEIGHT = 0.2;
const USUAL_WEIGHT = 0.01;
/** Lines differ in length: a comparison needs some of them. */
const LEAST_SAMPLES = 20;
/** Quotas remembered; beyond it one goes that is not being called. */
const MOST_QUOTAS = 500;

interface Window {
  limit: number;
  inFlight: number;
  /** Calls that began before the last cut tell nothing new about it. */
  cuts: number;
  recentMs: number;
  usualMs: number;
  samples: number;
}

/**
 * How many calls are made at once on a quota, the operator's at a provider or that of a caller's own key: additive
 * increase, multiplicative decrease. Each window of answers raises the limit by one; a refusal for too much, or an
 * overload, halves it, and answers that became much slower cut it by a tenth, once per window. Never below 1, never
 * above what the process may do in all.
 */
export class QuotaWindows {
  private readonly windows = new Map<string, Window>();

  constructor(
    private readonly most: number,
    private readonly nowMs: () => number = Date.now,
  ) {}

  admits(quota: string): boolean {
    const window = this.windows.get(quota);
    return window === undefined || window.inFlight < Math.floor(window.limit);
  }

  limitOf(quota: string): number {
    return Math.floor(this.windows.get(quota)?.limit ?? this.most);
  }

  begin(quota: string): WindowTicket {
    const window = this.windowOf(quota);
    window.inFlight += 1;
    return { quota, startedAtMs: this.nowMs(), cuts: window.cuts };
  }

  end({ quota, startedAtMs, cuts }: WindowTicket, end: CallEnd): void {
    const window = this.windowOf(quota);
    window.inFlight = Math.max(0, window.inFlight - 1);
    if (end === 'congested') this.cut(window, cuts, REFUSED_FACTOR);
    else if (end === 'answered') this.answered(window, cuts, this.nowMs() - startedAtMs);
  }

  private answered(window: Window, cuts: number, tookMs: number): void {
    window.samples += 1;
    const isFirst = window.samples === 1;
    window.recentMs = isFirst ? tookMs : mix(window.recentMs, tookMs, RECENT_WEIGHT);
    window.usualMs = isFirst ? tookMs : mix(window.usualMs, tookMs, USUAL_WEIGHT);
    if (window.samples >= LEAST_SAMPLES && window.recentMs > window.usualMs * SLOW_RATIO) {
      this.cut(window, cuts, SLOWER_FACTOR);
    } else {
      window.limit = Math.min(this.most, window.limit + 1 / window.limit);
    }
  }

  private cut(window: Window, cuts: number, factor: number): void {
    if (cuts !== window.cuts) return;
    window.cuts += 1;
    window.limit = Math.max(1, window.limit * factor);
  }

  private windowOf(quota: string): Window {
    const known = this.windows.get(quota);
    if (known !== undefined) return known;
    if (this.windows.size >= MOST_QUOTAS) this.forgetOne();
    const window = { limit: this.most, inFlight: 0, cuts: 0, recentMs: 0, usualMs: 0, samples: 0 };
    this.windows.set(quota, window);
    return window;
  }

  private forgetOne(): void {
    for (const [quota, { inFlight }] of this.windows) {
      if (inFlight > 0) continue;
      this.windows.delete(quota);
      return;
    }
  }
}

function mix(old: number, fresh: number, weight: number): number {
  return old + (fresh - old) * weight;
}
