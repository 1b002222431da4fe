import { monotonicMs } from '@libs/inference';
/** How a call ended, in the categories that affect its quota's limit; `other` has no effect. */
export type CallEnd = 'answered' | 'congested' | 'other';

export interface WindowTicket {
  readonly quota: string;
  readonly startedAtMs: number;
  /** Cuts before the call began. */
  readonly cuts: number;
}

/** The limit is halved if a provider refuses calls as too many, and reduced slightly if it only slows down. */
const REFUSED_FACTOR = 0.5;
const SLOWER_FACTOR = 0.9;
/** Calls count as slow if they take this many times as long as usual. */
const SLOW_RATIO = 3;
const RECENT_WEIGHT = 0.2;
const USUAL_WEIGHT = 0.01;
/** Fewest samples for a comparison, because lines differ in length. */
const LEAST_SAMPLES = 20;
/** A quota is silent if calls are running and its provider has sent nothing for this long. */
const SILENT_AFTER_MS = 30_000;
/** After an outage a quota begins with this share of its former limit. */
const RESTART_SHARE = 1 / 8;
/** Most quotas that are remembered; above that, one without running calls is dropped. */
const MOST_QUOTAS = 500;

interface Window {
  limit: number;
  /** Below this limit, the limit doubles with each window of answers. */
  formerLimit: number;
  inFlight: number;
  /** When the provider last sent something, or a call began while none was running. */
  movedAtMs: number;
  /** When the provider last sent something. */
  heardAtMs: number;
  /** Number of cuts so far. Calls that began before the last cut cause no other. */
  cuts: number;
  recentMs: number;
  usualMs: number;
  samples: number;
}

/**
 * Limits the concurrent calls of each quota: additive increase, multiplicative decrease. Each window of answers raises
 * the limit by one. A refusal as too many calls or an overload halves it, and much slower answers cut it by a tenth,
 * once per window. Never below 1 or above the limit of the process. After an outage the limit starts small and doubles
 * with each window of answers until it reaches its former value.
 */
export class QuotaWindows {
  private readonly windows = new Map<string, Window>();

  constructor(
    private readonly most: number,
    private readonly nowMs: () => number = monotonicMs,
  ) {}

  admits(quota: string): boolean {
    const window = this.windows.get(quota);
    return window === undefined || window.inFlight < Math.floor(window.limit);
  }

  limitOf(quota: string): number {
    return Math.floor(this.windows.get(quota)?.limit ?? this.most);
  }

  /**
   * Returns whether the provider has sent nothing for a long time although calls are running: it accepts requests and
   * does not answer.
   */
  isSilent(quota: string): boolean {
    const window = this.windows.get(quota);
    return window !== undefined && this.silentCallsOf(window) > 0;
  }

  /** Returns whether more than one spare slot may be used: the provider has answered recently. */
  mayUseSpare(quota: string): boolean {
    const window = this.windows.get(quota);
    return window === undefined || window.inFlight === 0 || this.nowMs() - window.heardAtMs < SILENT_AFTER_MS;
  }

  /** Returns whether a silent quota has no free call left: only then further lines of it are useless. */
  isStuck(quota: string): boolean {
    return this.isSilent(quota) && !this.admits(quota);
  }

  /** Calls under way of all silent quotas. */
  silentCalls(): number {
    let sum = 0;
    for (const window of this.windows.values()) sum += this.silentCallsOf(window);
    return sum;
  }

  private silentCallsOf({ inFlight, movedAtMs }: Window): number {
    return this.nowMs() - movedAtMs >= SILENT_AFTER_MS ? inFlight : 0;
  }

  begin(quota: string): WindowTicket {
    const window = this.windowOf(quota);
    if (window.inFlight === 0) window.movedAtMs = this.nowMs();
    window.inFlight += 1;
    return { quota, startedAtMs: this.nowMs(), cuts: window.cuts };
  }

  /** Must be called when the quota answers again. Lowers the limit, so that not all waiting lines are sent at once. */
  restart(quota: string): void {
    const window = this.windowOf(quota);
    window.formerLimit = Math.max(window.formerLimit, window.limit);
    window.limit = Math.max(1, window.formerLimit * RESTART_SHARE);
    // Calls from before the outage no longer count.
    window.cuts += 1;
    window.samples = 0;
  }

  /** @param isHeard true if the provider answered in any way; a timeout or a cancelled call is not an answer */
  end({ quota, startedAtMs, cuts }: WindowTicket, end: CallEnd, isHeard = end === 'answered'): void {
    const window = this.windowOf(quota);
    window.inFlight = Math.max(0, window.inFlight - 1);
    if (isHeard) window.movedAtMs = window.heardAtMs = this.nowMs();
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
      const step = window.limit < window.formerLimit ? 1 : 1 / window.limit;
      window.limit = Math.min(this.most, window.limit + step);
    }
  }

  private cut(window: Window, cuts: number, factor: number): void {
    if (cuts !== window.cuts) return;
    window.cuts += 1;
    window.limit = Math.max(1, window.limit * factor);
    window.formerLimit = 0;
  }

  private windowOf(quota: string): Window {
    const known = this.windows.get(quota);
    if (known !== undefined) return known;
    if (this.windows.size >= MOST_QUOTAS) this.forgetOne();
    const window = {
      limit: this.most,
      formerLimit: 0,
      inFlight: 0,
      movedAtMs: 0,
      heardAtMs: -Infinity,
      cuts: 0,
      recentMs: 0,
      usualMs: 0,
      samples: 0,
    };
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
