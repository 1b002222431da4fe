import { monotonicMs } from '@libs/inference';
/** What the end of a call means for its breaker; `none`: nothing. */
export type BreakerNews = 'worked' | 'failed' | 'none';

/** The effect of a call: none, or the breaker opened, stays open after a failed probe, or closed. */
export type BreakerChange = 'opened' | 'stays open' | 'closed' | null;

/** Failures that open a breaker; each answer in between subtracts three. */
const OPENS_AT = 10;
const ANSWER_WEIGHT = 3;
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 30_000;
/** Pauses are longer by a random part up to this share, so that several workers do not probe at the same moment. */
const JITTER = 0.2;
/** Answers after which a breaker that was open is dropped, and with it the length of its last pause. */
const HEALTHY_ANSWERS = 20;
/** Breakers that are remembered. */
const MOST_REMEMBERED = 2_000;

interface Breaker {
  score: number;
  /** Null while the breaker is closed. */
  probeAtMs: number | null;
  isProbing: boolean;
  pauseMs: number;
  answersToForget: number;
}

/**
 * Circuit breakers by name. An open breaker lets one call through as a probe: after one second at first, and after
 * twice as long each time a probe fails, up to half a minute. A successful probe closes it. Names without failures take
 * no memory.
 */
export class CircuitBreakers {
  private readonly breakers = new Map<string, Breaker>();
  private readonly opensAt: number;
  private openNow = 0;

  /**
   * @param slots concurrent calls. With fewer than ten, only that many failures are needed; otherwise each call would
   * be repeated
   */
  constructor(
    slots: number,
    private readonly nowMs: () => number = monotonicMs,
    private readonly dice: () => number = Math.random,
  ) {
    this.opensAt = Math.min(OPENS_AT, slots);
  }

  /** Whether any is open. */
  get hasOpen(): boolean {
    return this.openNow > 0;
  }

  isOpen(name: string): boolean {
    if (this.breakers.size === 0) return false;
    return this.breakers.get(name)?.probeAtMs != null;
  }

  /** Whether a call may be made now; while the breaker is open, as its probe. */
  admits(name: string): boolean {
    if (this.breakers.size === 0) return true;
    const breaker = this.breakers.get(name);
    if (breaker === undefined || breaker.probeAtMs === null) return true;
    return !breaker.isProbing && this.nowMs() >= breaker.probeAtMs;
  }

  /** Returns the milliseconds until the next probe; 0 while the breaker is closed or a probe may be made. */
  remainingMs(name: string): number {
    return Math.max(0, (this.breakers.get(name)?.probeAtMs ?? 0) - this.nowMs());
  }

  /** Begins a call that was admitted. Returns whether it is the probe. */
  begin(name: string): boolean {
    const breaker = this.breakers.get(name);
    if (breaker === undefined || breaker.probeAtMs === null) return false;
    breaker.isProbing = true;
    return true;
  }

  /** @param askedMs how long the provider asked us to wait (`Retry-After`); null if it did not ask */
  end(name: string, isProbe: boolean, news: BreakerNews, askedMs: number | null = null): BreakerChange {
    const breaker = this.breakers.get(name);
    if (isProbe) return breaker === undefined ? null : this.probed(breaker, news, askedMs);
    // A call that was already running when the breaker opened does not count.
    if (news === 'none' || (breaker !== undefined && breaker.probeAtMs !== null)) return null;
    if (news === 'failed') return this.failed(breaker ?? this.remember(name));
    if (breaker !== undefined) this.worked(name, breaker);
    return null;
  }

  /** Opens the breaker for `askedMs`, the time that the provider asked us to wait. Ignores the score. */
  trip(name: string, askedMs: number): BreakerChange {
    const breaker = this.breakers.get(name) ?? this.remember(name);
    if (breaker.probeAtMs !== null) return null;
    this.pause(breaker, askedMs);
    return 'opened';
  }

  /** Names of those that are open. */
  *open(): Generator<string> {
    for (const [name, { probeAtMs }] of this.breakers) if (probeAtMs !== null) yield name;
  }

  private probed(breaker: Breaker, news: BreakerNews, askedMs: number | null): BreakerChange {
    breaker.isProbing = false;
    if (news === 'none') return null;
    if (news === 'failed') {
      if (askedMs === null) breaker.pauseMs = Math.min(LAST_PAUSE_MS, breaker.pauseMs * 2);
      this.pause(breaker, askedMs ?? this.ownPauseOf(breaker));
      return 'stays open';
    }
    breaker.probeAtMs = null;
    this.openNow -= 1;
    breaker.score = 0;
    breaker.answersToForget = HEALTHY_ANSWERS;
    return 'closed';
  }

  private failed(breaker: Breaker): BreakerChange {
    breaker.score += 1;
    if (breaker.score < this.opensAt) return null;
    this.pause(breaker, this.ownPauseOf(breaker));
    return 'opened';
  }

  private worked(name: string, breaker: Breaker): void {
    breaker.score = Math.max(0, breaker.score - ANSWER_WEIGHT);
    breaker.answersToForget -= 1;
    if (breaker.score === 0 && breaker.answersToForget <= 0) this.breakers.delete(name);
  }

  private ownPauseOf({ pauseMs }: Breaker): number {
    return pauseMs * (1 + JITTER * this.dice());
  }

  private pause(breaker: Breaker, forMs: number): void {
    if (breaker.probeAtMs === null) this.openNow += 1;
    breaker.probeAtMs = this.nowMs() + forMs;
  }

  private remember(name: string): Breaker {
    if (this.breakers.size >= MOST_REMEMBERED) this.forgetOne();
    const breaker = { score: 0, probeAtMs: null, isProbing: false, pauseMs: FIRST_PAUSE_MS, answersToForget: 0 };
    this.breakers.set(name, breaker);
    return breaker;
  }

  /** Drops a breaker that is closed, or else the oldest. */
  private forgetOne(): void {
    for (const [name, { probeAtMs }] of this.breakers) {
      if (probeAtMs === null) return void this.breakers.delete(name);
    }
    this.breakers.delete(this.breakers.keys().next().value!);
    this.openNow -= 1;
  }
}
