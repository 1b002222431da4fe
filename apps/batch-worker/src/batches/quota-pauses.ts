import { monotonicMs } from '@libs/inference';
/** Number of pauses above which ended ones are removed. */
const LEAST_SWEPT = 256;

/** Quotas whose provider sent `Retry-After`, and until when this process makes no call on them. */
export class QuotaPauses {
  private readonly until = new Map<string, number>();
  private sweptFrom = LEAST_SWEPT;

  constructor(private readonly nowMs: () => number = monotonicMs) {}

  pause(quota: string, durationMs: number): void {
    this.until.set(quota, Math.max(this.until.get(quota) ?? 0, this.nowMs() + durationMs));
    if (this.until.size < this.sweptFrom) return;
    this.sweptFrom = Math.max(LEAST_SWEPT, 2 * this.active().length);
  }

  remainingMs(quota: string): number {
    const until = this.until.get(quota);
    if (until === undefined) return 0;
    const remaining = until - this.nowMs();
    if (remaining > 0) return remaining;
    this.until.delete(quota);
    return 0;
  }

  /** Returns the quotas that are paused now. */
  active(): string[] {
    return [...this.until.keys()].filter((quota) => this.remainingMs(quota) > 0);
  }

  /** Calls `then` when no pause is left. Timers may be slightly ahead of the clock that measures the pause. */
  whenOver(quota: string, then: () => void): void {
    const remainingMs = this.remainingMs(quota);
    if (remainingMs === 0) then();
    else setTimeout(() => this.whenOver(quota, then), remainingMs);
  }
}
