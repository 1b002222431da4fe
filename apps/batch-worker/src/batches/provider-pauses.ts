/** Providers that asked for quiet (Retry-After): until when nobody of this process calls them. */
export class ProviderPauses {
  private readonly until = new Map<string, number>();

  constructor(private readonly nowMs: () => number = Date.now) {}

  pause(provider: string, durationMs: number): void {
    this.until.set(provider, Math.max(this.until.get(provider) ?? 0, this.nowMs() + durationMs));
  }

  remainingMs(provider: string): number {
    const until = this.until.get(provider);
    if (until === undefined) return 0;
    const remaining = until - this.nowMs();
    if (remaining > 0) return remaining;
    this.until.delete(provider);
    return 0;
  }

  /** At once, or when the pause is over; timers may be a little ahead of the clock by which it is measured. */
  whenOver(provider: string, then: () => void): void {
    const remainingMs = this.remainingMs(provider);
    if (remainingMs === 0) then();
    else setTimeout(() => this.whenOver(provider, then), remainingMs);
  }
}
