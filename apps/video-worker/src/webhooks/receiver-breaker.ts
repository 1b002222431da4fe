/**
 * What is known of a receiver that has failed. One without failures has no state.
 *
 * - `closed`: it failed `failures` times in a row, and is still sent whatever is due.
 * - `open`: it is left alone until `probeAtMs`; `openings` times now without a success in between.
 * - `half-open`: one attempt, the probe, is under way; who took it has until `probeEndsAtMs` to say how it ended.
 */
export type BreakerState =
  | { readonly kind: 'closed'; readonly failures: number }
  | { readonly kind: 'open'; readonly openings: number; readonly probeAtMs: number }
  | { readonly kind: 'half-open'; readonly openings: number; readonly probeEndsAtMs: number };

/** Whether an attempt may be made now; when not, it is worth asking again in `waitMs`. */
export type Admission =
  | { readonly kind: 'attempt'; readonly isProbe: boolean }
  | { readonly kind: 'wait'; readonly waitMs: number };

/** What an attempt says of its receiver: `unknown` when it never got to it. */
export type ReceiverVerdict = 'alive' | 'failing' | 'unknown';

export const HEALTHY: BreakerState = { kind: 'closed', failures: 0 };

/** As many as may be under way at one host: a burst that meets a dead receiver costs one round. */
export const FAILURES_TO_OPEN = 5;
const FIRST_PAUSE_MS = 30_000;
/** What a receiver that has come back may have to wait at most, the scatter left aside. */
export const LONGEST_PAUSE_MS = 15 * 60_000;
/** Workers whose breakers opened together do not probe together. */
const JITTER = 0.2;
/** Longer than a probe can take: a probe of which nobody told the end is forgotten. */
const PROBE_LEASE_MS = 45_000;
/** What is due during a probe asks again after so long. */
const PROBE_WAIT_MS = 5_000;

/** Asks for an attempt. The state that is returned holds from now on: a yes may have taken the probe. */
export function admit(state: BreakerState, nowMs: number): { state: BreakerState; admission: Admission } {
  if (state.kind === 'closed') return { state, admission: { kind: 'attempt', isProbe: false } };
  if (state.kind === 'open' && state.probeAtMs > nowMs) {
    return { state, admission: { kind: 'wait', waitMs: Math.ceil(state.probeAtMs - nowMs) } };
  }
  if (state.kind === 'half-open' && state.probeEndsAtMs > nowMs) {
    return { state, admission: { kind: 'wait', waitMs: PROBE_WAIT_MS } };
  }
  const probing = { kind: 'half-open', openings: state.openings, probeEndsAtMs: nowMs + PROBE_LEASE_MS } as const;
  return { state: probing, admission: { kind: 'attempt', isProbe: true } };
}

/**
 * An attempt has ended. Whatever reached the receiver and found it alive closes the breaker. A failure opens it
 * anew only if it was the probe's: attempts that began before it opened tell nothing that is not known.
 *
 * @param dice 0 to 1
 */
export function noteVerdict(
  state: BreakerState,
  { verdict, isProbe, nowMs, dice }: { verdict: ReceiverVerdict; isProbe: boolean; nowMs: number; dice: number },
): BreakerState {
  if (verdict === 'alive') return HEALTHY;
  if (state.kind === 'closed') {
    const failures = state.failures + (verdict === 'failing' ? 1 : 0);
    return failures < FAILURES_TO_OPEN ? { kind: 'closed', failures } : opened(1, nowMs, dice);
  }
  if (state.kind !== 'half-open' || !isProbe) return state;
  // A probe that was not made is given back: the next event that is due takes it.
  if (verdict === 'unknown') return { kind: 'open', openings: state.openings, probeAtMs: nowMs };
  return opened(state.openings + 1, nowMs, dice);
}

function opened(openings: number, nowMs: number, dice: number): BreakerState {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (openings - 1), LONGEST_PAUSE_MS);
  return { kind: 'open', openings, probeAtMs: nowMs + Math.round(pauseMs * (1 + JITTER * dice)) };
}
