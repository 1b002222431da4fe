import {
  admit,
  HEALTHY,
  noteVerdict,
  type Admission,
  type BreakerState,
  type ReceiverVerdict,
} from './receiver-breaker';

/** Most failing receivers remembered; one that is forgotten gets a few more attempts. */
const MOST_RECEIVERS = 2_000;

/**
 * One circuit breaker per callback URL, in this process: a receiver that keeps failing is not called for every due
 * event. Only receivers that have failed are remembered; the one without an attempt for the longest time is dropped
 * first. URLs may contain secrets, so they are never shown.
 */
export class ReceiverBreakers {
  readonly #states = new Map<string, BreakerState>();

  constructor(
    private readonly monotonicNowMs: () => number = () => performance.now(),
    private readonly dice: () => number = Math.random,
  ) {}

  /** Returns whether an attempt may be made. If so, its end must be reported with {@link note}. */
  admit(url: string): Admission {
    const { state, admission } = admit(this.#stateOf(url), this.monotonicNowMs());
    this.#keep(url, state);
    return admission;
  }

  /** @returns true when this opened the breaker */
  note(url: string, isProbe: boolean, verdict: ReceiverVerdict): boolean {
    const before = this.#stateOf(url);
    const state = noteVerdict(before, { verdict, isProbe, nowMs: this.monotonicNowMs(), dice: this.dice() });
    this.#keep(url, state);
    return before.kind === 'closed' && state.kind === 'open';
  }

  /** Number of receivers whose breakers are open or half-open. */
  get openCount(): number {
    let count = 0;
    for (const { kind } of this.#states.values()) if (kind !== 'closed') count += 1;
    return count;
  }

  #stateOf(url: string): BreakerState {
    return this.#states.get(url) ?? HEALTHY;
  }

  #keep(url: string, state: BreakerState): void {
    this.#states.delete(url);
    if (state.kind === 'closed' && state.failures === 0) return;
    this.#states.set(url, state);
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= MOST_RECEIVERS) return;
      this.#states.delete(oldest);
    }
  }
}
