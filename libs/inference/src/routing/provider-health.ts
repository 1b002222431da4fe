import type { Endpoint } from './catalogue';

const WINDOW_MS = 30_000;
/** Below this share of failures an endpoint is unlucky, not out. */
const OUTAGE_SHARE = 0.2;
const MOST_ENDPOINTS = 4_096;

/** Calls of the running window and of the one before it. */
interface Track {
  windowStartMs: number;
  calls: number;
  failures: number;
  previousCalls: number;
  previousFailures: number;
  /** The upstream itself asked to be left alone until then. */
  restUntilMs: number;
}

/** What a plan asks. */
export interface HealthView {
  /** Whether the endpoint had a significant outage within about the last 30 s. */
  hadOutage(endpoint: Endpoint): boolean;
}

/**
 * Remembers, in this process, which endpoints failed lately (spec A.2, step 5): a fifth or more of the calls
 * of the last two windows, or a `Retry-After` that has not passed. Bounded; the endpoint that was longest
 * without news is forgotten first.
 */
export class ProviderHealth implements HealthView {
  readonly #tracks = new Map<string, Track>();

  constructor(readonly clock: () => number) {}

  succeeded(endpoint: Endpoint): void {
    // An endpoint that never failed needs no track: nothing is remembered of it.
    const track = this.#tracks.get(keyOf(endpoint));
    if (track !== undefined) this.#roll(track).calls += 1;
  }

  /** The endpoint failed in a way that another might not. `restSeconds` as in `Retry-After`. */
  failed(endpoint: Endpoint, restSeconds = 0): void {
    const key = keyOf(endpoint);
    const track = this.#roll(this.#tracks.get(key) ?? this.#newTrack());
    track.calls += 1;
    track.failures += 1;
    track.restUntilMs = Math.max(track.restUntilMs, this.clock() + restSeconds * 1_000);
    this.#tracks.delete(key);
    this.#tracks.set(key, track);
    if (this.#tracks.size > MOST_ENDPOINTS) this.#tracks.delete(this.#tracks.keys().next().value!);
  }

  hadOutage(endpoint: Endpoint): boolean {
    const track = this.#tracks.get(keyOf(endpoint));
    if (track === undefined) return false;
    this.#roll(track);
    if (track.restUntilMs > this.clock()) return true;
    const failures = track.failures + track.previousFailures;
    return failures > 0 && failures >= OUTAGE_SHARE * (track.calls + track.previousCalls);
  }

  #newTrack(): Track {
    const windowStartMs = this.clock();
    return { windowStartMs, calls: 0, failures: 0, previousCalls: 0, previousFailures: 0, restUntilMs: 0 };
  }

  /** Starts a new window when the running one is over. */
  #roll(track: Track): Track {
    const half = WINDOW_MS / 2;
    const ageMs = this.clock() - track.windowStartMs;
    if (ageMs < half) return track;
    const isNext = ageMs < WINDOW_MS;
    track.previousCalls = isNext ? track.calls : 0;
    track.previousFailures = isNext ? track.failures : 0;
    track.calls = 0;
    track.failures = 0;
    track.windowStartMs = isNext ? track.windowStartMs + half : this.clock();
    return track;
  }
}

function keyOf({ provider, upstreamModel, region }: Endpoint): string {
  return `${provider.slug} ${region} ${upstreamModel}`;
}
