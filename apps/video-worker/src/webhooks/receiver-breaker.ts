/**
 * What is known of a receiver that has failed. One without failures has no state.
 *
 * - `closed`: it failed `failures` times in a row, and is still sent whatever is due.
 * - `open`: it is left alone until `probeAtMs`; `openings` times now without a success in between.
 * - `half-open`: one attempt, the probe, is under way; its end must be reported before `probeEndsAtMs`.
 */
export type BreakerState =
  | { readonly kind: 'closed'; readonly failures: number }
  | { readonly kind: 'open'; readonly openings: number; readonly probeAtMs: number }
  | { readonly kind: 'half-open'; readonly openings: number; readonly probeEndsAtMs: number };

/** Whether an attempt may be made now; when not, it is worth asking again in `waitMs`. */
export type Admission =
  | { readonly kind: 'attempt'; readonly isProbe: boolean }
  | { readonly kind: 'wait'; readonly waitMs: number };

/** What an attempt says about its receiver: `unknown` if it was never reached. */
export type ReceiverVerdict = 'alive' | 'failing' | 'unknown';

export const HEALTHY: BreakerState = { kind: 'closed', failures: 0 };

/** As many as may run at one host: a burst that meets a dead receiver costs one round or two. */
export const FAILURES_TO_OPEN = 5;
const FIRST_PAUSE_MS = 30_000;
/** Longest wait of a receiver that works again, without jitter. */
export const LONGEST_PAUSE_MS = 15 * 60_000;
/** Randomizes probes, so that workers whose breakers opened together do not probe together. */
const JITTER = 0.2;
/** A probe whose end is not reported is dropped after this time, which is longer than a probe can take. */
const PROBE_LEASE_MS = 45_000;
/** Wait of an event that is due during a probe. */
const PROBE_WAIT_MS = 5_000;

/** Decides whether an attempt may be made. Returns the new state, in which this attempt may be the probe. */
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
 * Returns the state after an attempt. Any attempt that finds the receiver alive closes the breaker. While it is open or
 * half-open, only a failed probe opens it again; failures of attempts that began before are ignored.
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
  // A probe that was not made is given back: the next due event becomes the probe.
  if (verdict === 'unknown') return { kind: 'open', openings: state.openings, probeAtMs: nowMs };
  return opened(state.openings + 1, nowMs, dice);
}

function opened(openings: number, nowMs: number, dice: number): BreakerState {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (openings - 1), LONGEST_PAUSE_MS);
  return { kind: 'open', openings, probeAtMs: nowMs + Math.round(pauseMs * (1 + JITTER * dice)) };
}
