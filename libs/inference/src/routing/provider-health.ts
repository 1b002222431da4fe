import type { AppError } from '@libs/errors';
import type { Endpoint, Model } from '../catalogue/catalogue-entries';
import type { OwnCredential } from './credential-source';
import { EndpointHistory } from './endpoint-history';
import { LeastRecent } from './least-recent';
import { OutcomeRing } from './outcome-ring';
import { ProviderStatistics } from './provider-statistics';
import type { RollingTime } from './rolling-histogram';
import { accountOf, quotaOf } from './quotas';
import { RetryBudget } from './retry-budget';
import { restingRefusal, type Rest } from './route-refusal';
import { traitsOf } from '../catalogue/endpoint-traits';

/** Slices of one second, for the longest period that is evaluated. */
const RECENT: RollingTime = { sliceMs: 1_000, slices: 32 };
const OUTAGE_SECONDS = 30;
/** Below this share of failed calls an endpoint is not considered to have an outage. */
const OUTAGE_SHARE = 0.2;
const BREAKER_SECONDS = 10;
const BREAKER_CALLS = 20;
const BREAKER_SHARE = 0.5;
const PROBE_EVERY_MS = 5_000;
/** Longest pause of an endpoint: it is tried again after an hour, even if its upstream asks for a longer pause. */
const LONGEST_REST_SECONDS = 3_600;
const MOST_ENDPOINTS = 4_096;

/** An endpoint together with the key that is used: the caller's own or the shared one. */
export interface Called {
  readonly endpoint: Endpoint;
  readonly credential?: OwnCredential | null;
}

/** The part of `ProviderHealth` that plans use. */
export interface HealthView {
  /** Whether the endpoint had a significant outage within the last 30 s. */
  hadOutage(endpoint: Endpoint, credential?: OwnCredential | null): boolean;
  /** Returns why the endpoint must pause; null if it may be called. */
  restOf(endpoint: Endpoint, credential?: OwnCredential | null): Rest | null;
}

interface Track {
  readonly outcomes: OutcomeRing;
  restUntilMs: number;
  /** When the next probe of an open breaker is due; null while it is closed. */
  probeAtMs: number | null;
  isProbing: boolean;
}

/**
 * Remembers, in this process, how calls to endpoints ended, separately for each credential. Limited in size; the
 * endpoint without calls for the longest time is dropped first.
 * - Outage: a fifth or more of the calls of the last 30 s failed. Other endpoints are tried first.
 * - Circuit breaker: opens when half or more of at least 20 calls within 10 s failed. Then one call in 5 s is let
 *   through as a probe, and the first successful probe closes it.
 * - `Retry-After`: after a 429 the quota pauses, which is the upstream model with the same credential, or all models of
 *   the catalogue's `quota_group`; after any other error only the endpoint pauses.
 * - A caller's own key that its provider refused pauses for as long as the credentials app says.
 * - Also holds the retry budget and the measurements of each endpoint, for routing and for listings.
 *
 * A plan leaves out what pauses. `admits` is asked again right before a call, because only one of several simultaneous
 * plans may use the probe.
 */
export class ProviderHealth implements HealthView {
  readonly statistics: ProviderStatistics;
  readonly history: EndpointHistory;
  readonly #retries = new RetryBudget();
  readonly #tracks = new LeastRecent<Track>(MOST_ENDPOINTS);
  readonly #quotaRestUntilMs = new LeastRecent<number>(MOST_ENDPOINTS);
  #lastQuotaRestEndsMs = 0;

  constructor(readonly clock: () => number) {
    this.statistics = new ProviderStatistics(clock);
    this.history = new EndpointHistory(clock);
  }

  /**
   * Returns whether this call may be made now, after the `earlier` ones of the same request. If true, it consumes the
   * breaker's probe or a retry from the budget.
   */
  admits({ endpoint, credential = null }: Called, earlier: readonly Called[] = []): boolean {
    if (this.restOf(endpoint, credential) !== null) return false;
    const upstream = upstreamOf(endpoint, credential);
    const isRetry = earlier.some((one) => upstreamOf(one.endpoint, one.credential ?? null) === upstream);
    if (isRetry && !this.#retries.takeRetry(upstream)) return false;
    if (!isRetry) this.#retries.firstAttempt(upstream);
    const track = this.#tracks.peek(trackKey(endpoint, credential));
    if (track !== undefined && track.probeAtMs !== null) {
      track.probeAtMs = this.clock() + PROBE_EVERY_MS;
      track.isProbing = true;
    }
    return true;
  }

  /** Returns the error for a request whose candidates were all refused. */
  restingError(candidates: readonly (Called & { readonly model: Model })[]): AppError {
    const rests = candidates.flatMap(({ endpoint, credential }) => this.restOf(endpoint, credential) ?? []);
    const models = [...new Set(candidates.map(({ model }) => model.slug))];
    const providers = candidates.map(({ endpoint }) => endpoint.provider.name);
    return restingRefusal(models, providers, rests);
  }

  succeeded(endpoint: Endpoint, credential: OwnCredential | null = null): void {
    const track = this.#trackOf(endpoint, credential);
    if (track.isProbing) {
      track.isProbing = false;
      track.probeAtMs = null;
      track.outcomes.clear();
    }
    track.outcomes.add(false, this.clock());
  }

  /**
   * Records a call whose end says nothing of the endpoint's health: it failed in this process, was refused for what it
   * asked, or its caller disconnected. If it was the probe, the next call is one at once; otherwise callers of such
   * calls could keep an endpoint from all others.
   */
  saidNothing(endpoint: Endpoint, credential: OwnCredential | null = null): void {
    const track = this.#tracks.peek(trackKey(endpoint, credential));
    if (track?.isProbing !== true) return;
    track.isProbing = false;
    track.probeAtMs = this.clock();
  }

  /**
   * Records a failure that another endpoint might not have. `restSeconds` is the `Retry-After`; `isQuota` is true if
   * the upstream limits the rate of requests.
   */
  failed(
    endpoint: Endpoint,
    restSeconds = 0,
    { credential = null, isQuota = false }: { credential?: OwnCredential | null; isQuota?: boolean } = {},
  ): void {
    const nowMs = this.clock();
    const track = this.#trackOf(endpoint, credential);
    // The provider works and states when its quota is available again, so this is no failure for the breaker.
    if (isQuota && restSeconds > 0) {
      track.isProbing = false;
    } else {
      track.outcomes.add(true, nowMs);
      this.#updateBreaker(track, nowMs);
    }
    if (restSeconds <= 0) return;
    const untilMs = nowMs + Math.min(restSeconds, LONGEST_REST_SECONDS) * 1_000;
    if (isQuota) {
      const quota = quotaOf(upstreamOf(endpoint, credential), endpoint);
      this.#quotaRestUntilMs.set(quota, Math.max(this.#quotaRestUntilMs.peek(quota) ?? 0, untilMs));
      this.#lastQuotaRestEndsMs = Math.max(this.#lastQuotaRestEndsMs, untilMs);
    } else track.restUntilMs = Math.max(track.restUntilMs, untilMs);
  }

  hadOutage(endpoint: Endpoint, credential: OwnCredential | null = null): boolean {
    if (this.restOf(endpoint, credential) !== null) return true;
    const track = this.#tracks.peek(trackKey(endpoint, credential));
    const nowMs = this.clock();
    // Fast path: most endpoints have no failures, and every plan checks all of them.
    if (track?.outcomes.hasFailure(OUTAGE_SECONDS, nowMs) !== true) return false;
    const { calls, failures } = track.outcomes.count(OUTAGE_SECONDS, nowMs);
    return failures >= OUTAGE_SHARE * calls;
  }

  restOf(endpoint: Endpoint, credential: OwnCredential | null = null): Rest | null {
    const { refusedForMs } = credential ?? {};
    if (refusedForMs) return { forMs: refusedForMs, because: 'refused' };
    const nowMs = this.clock();
    const quotaMs = this.#quotaRestMs(endpoint, credential, nowMs);
    if (quotaMs > 0) return { forMs: quotaMs, because: 'quota' };
    const track = this.#tracks.peek(trackKey(endpoint, credential));
    if (track === undefined) return null;
    if (track.restUntilMs > nowMs) return { forMs: track.restUntilMs - nowMs, because: 'overload' };
    const { probeAtMs } = track;
    return probeAtMs !== null && probeAtMs > nowMs ? { forMs: probeAtMs - nowMs, because: 'breaker' } : null;
  }

  #quotaRestMs(endpoint: Endpoint, credential: OwnCredential | null, nowMs: number): number {
    // Fast path: usually no quota pauses, and every plan asks for each of its candidates.
    if (nowMs >= this.#lastQuotaRestEndsMs) return 0;
    return (this.#quotaRestUntilMs.peek(quotaOf(upstreamOf(endpoint, credential), endpoint)) ?? 0) - nowMs;
  }

  #updateBreaker(track: Track, nowMs: number): void {
    track.isProbing = false;
    if (track.probeAtMs !== null) return;
    const { calls, failures } = track.outcomes.count(BREAKER_SECONDS, nowMs);
    if (calls >= BREAKER_CALLS && failures >= BREAKER_SHARE * calls) track.probeAtMs = nowMs + PROBE_EVERY_MS;
  }

  #trackOf(endpoint: Endpoint, credential: OwnCredential | null): Track {
    return this.#tracks.use(trackKey(endpoint, credential), () => ({
      outcomes: new OutcomeRing(this.clock(), RECENT),
      restUntilMs: 0,
      probeAtMs: null,
      isProbing: false,
    }));
  }
}

function trackKey(endpoint: Endpoint, credential: OwnCredential | null): string {
  const { key } = traitsOf(endpoint);
  return credential === null ? key : `${key} ${credential.id}`;
}

/** The account at the provider. */
function upstreamOf({ provider }: Endpoint, credential: OwnCredential | null): string {
  return accountOf(provider.slug, credential?.id ?? null);
}
