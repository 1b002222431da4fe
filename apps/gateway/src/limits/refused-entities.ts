import type { RateVerdict } from './rate-limiter';

interface Refusal {
  readonly verdict: RateVerdict;
  readonly atMs: number;
  readonly untilMs: number;
}

const MOST_REFUSALS = 10_000;
/**
 * A remembered refusal expires after this time, because another process may give back its share or Redis may have been
 * emptied.
 */
const MOST_REMEMBERED_MS = 1_000;

/**
 * Remembers entities that were refused recently and would be refused again. So this process alone refuses a caller that
 * keeps sending beyond its limit, at no cost to Redis or to other callers.
 */
export class RefusedEntities {
  private readonly refusals = new Map<string, Refusal>();

  constructor(private readonly nowMs: () => number) {}

  /** Returns the refusal as of now, or null if the entity should be asked about. */
  find(key: string): RateVerdict | null {
    if (this.refusals.size === 0) return null;
    const refusal = this.refusals.get(key);
    if (refusal === undefined) return null;
    const nowMs = this.nowMs();
    if (nowMs >= refusal.untilMs) {
      this.refusals.delete(key);
      return null;
    }
    const { verdict, atMs } = refusal;
    const passedMs = nowMs - atMs;
    const retryAfterMs = verdict.retryAfterMs - passedMs;
    return { ...verdict, retryAfterMs, resetAfterMs: Math.max(0, verdict.resetAfterMs - passedMs) };
  }

  remember(key: string, verdict: RateVerdict): void {
    const atMs = this.nowMs();
    const untilMs = atMs + Math.min(verdict.retryAfterMs, MOST_REMEMBERED_MS);
    this.refusals.delete(key);
    this.refusals.set(key, { verdict, atMs, untilMs });
    if (this.refusals.size > MOST_REFUSALS) this.refusals.delete(this.refusals.keys().next().value!);
  }

  forget(key: string): void {
    this.refusals.delete(key);
  }
}
