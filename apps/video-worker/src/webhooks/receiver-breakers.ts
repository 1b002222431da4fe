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

/** A callback URL of an organization. */
export interface Receiver {
  readonly organizationId: string;
  readonly url: string;
}

/**
 * One circuit breaker per organization and callback URL, in this process: a receiver that keeps failing is not called
 * for every due event. What one organization sends to the URL of another has no effect on that one. Only receivers that
 * have failed are remembered; the one without an attempt for the longest time is dropped first. URLs may contain
 * secrets, so they are never shown.
 */
export class ReceiverBreakers {
  readonly #states = new Map<string, BreakerState>();

  constructor(
    private readonly monotonicNowMs: () => number = () => performance.now(),
    private readonly dice: () => number = Math.random,
  ) {}

  /** Returns whether an attempt may be made. If so, its end must be reported with {@link note}. */
  admit(receiver: Receiver): Admission {
    const key = keyOf(receiver);
    const { state, admission } = admit(this.#stateOf(key), this.monotonicNowMs());
    this.#keep(key, state);
    return admission;
  }

  /** @returns true when this opened the breaker */
  note(receiver: Receiver, isProbe: boolean, verdict: ReceiverVerdict): boolean {
    const key = keyOf(receiver);
    const before = this.#stateOf(key);
    const state = noteVerdict(before, { verdict, isProbe, nowMs: this.monotonicNowMs(), dice: this.dice() });
    this.#keep(key, state);
    return before.kind === 'closed' && state.kind === 'open';
  }

  /** Number of receivers whose breakers are open or half-open. */
  get openCount(): number {
    let count = 0;
    for (const { kind } of this.#states.values()) if (kind !== 'closed') count += 1;
    return count;
  }

  #stateOf(key: string): BreakerState {
    return this.#states.get(key) ?? HEALTHY;
  }

  #keep(key: string, state: BreakerState): void {
    this.#states.delete(key);
    if (state.kind === 'closed' && state.failures === 0) return;
    this.#states.set(key, state);
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= MOST_RECEIVERS) return;
      this.#states.delete(oldest);
    }
  }
}

function keyOf({ organizationId, url }: Receiver): string {
  return `${organizationId} ${url}`;
}
