import type { Principal } from '@libs/contracts';
import {
  keyedCandidates,
  planRoute,
  prefersNativeBatch,
  ProviderHealth,
  upstreamApiFor,
  recordedName,
  type Api,
  type CallableApi,
  type Candidate,
  type Catalogue,
  type CatalogueSource,
  type CredentialScope,
  type CredentialSource,
  type Endpoint,
  type OwnCredential,
  type PicoUsd,
  type ProviderAdapter,
  type ProviderFilter,
  type RoutePlan,
  type RouteRequest,
  type Share,
  type SharedCredentials,
  type UpstreamApi,
  monotonicMs,
  utcDay,
} from '@libs/inference';
import { chargedShareFor, ownKeysAtHand, type ChargedShare } from './charged-share';
import { estimateHold, type ExpectedUsage } from './hold-estimate';

/** Prices of calls with callers' own keys. */
export interface Byok {
  readonly credentials: Pick<CredentialSource, 'ownCredentials'>;
  readonly fee: Share;
}

/** What this installation can route to: the current catalogue, the supported protocols and the available keys. */
export class InferenceRouting {
  /** Jobs report nothing about a provider's calls, so every provider counts as healthy for them. */
  private readonly jobHealth = new ProviderHealth(monotonicMs);

  constructor(
    private readonly source: CatalogueSource,
    private readonly adapters: ReadonlyMap<string, ProviderAdapter>,
    private readonly credentials: SharedCredentials,
    private readonly byok: Byok | null = null,
  ) {}

  /** Returns the caller's own provider keys; undefined if they are not loaded. */
  ownKeysOf(caller: Principal): readonly OwnCredential[] | undefined {
    return this.byok === null ? undefined : (ownKeysAtHand(caller, this.byok.credentials) ?? undefined);
  }

  /**
   * Returns the most that a call or one of its turns is expected to cost its caller.
   * @param ownKeys the keys with which its routes are planned; without them, what a key of the operator may serve costs its
   * list price
   */
  holdFor(caller: Principal, expected: ExpectedUsage, ownKeys?: readonly OwnCredential[]): PicoUsd {
    const share = this.chargedShareFor(caller, ownKeys);
    return estimateHold(this.catalogue(), expected, share, this.providersWithKey(ownKeys));
  }

  /** Returns which providers the operator has a key for, if the caller has none of its own; null otherwise. */
  providersWithKey(ownKeys?: readonly OwnCredential[]): ProviderFilter | null {
    const hasOwnKeys = this.byok !== null && ownKeys?.length !== 0;
    return hasOwnKeys ? null : this.credentials.availableProviders();
  }

  /** Returns the share of the list price for calls that only these keys may serve; null: list prices everywhere. */
  chargedShareFor(caller: Principal, ownKeys?: readonly OwnCredential[]): ChargedShare | null {
    if (this.byok === null) return null;
    return chargedShareFor(caller, ownKeys ?? null, this.credentials.availableProviders(), this.byok.fee);
  }

  /** See `recordedName`. */
  recordedName(name: string): string {
    return recordedName(name, this.catalogue());
  }

  catalogue(): Catalogue {
    return this.source.current();
  }

  /**
   * Returns the endpoints that could make a video, the best first.
   * @throws AppError as `planRoute` does
   */
  planVideo(request: Omit<RouteRequest, 'api'>, credentials: readonly OwnCredential[]): RoutePlan {
    const makesVideos = ({ apis, provider }: Endpoint): boolean =>
      apis.includes('video') && this.adapters.get(provider.protocol)?.video !== undefined;
    return planRoute(
      { ...request, api: 'video' },
      {
        catalogue: this.catalogue(),
        health: this.jobHealth,
        credentials,
        canServe: makesVideos,
        isAvailable: this.credentials.availableProviders(),
        dice: Math.random,
        today: utcDay(Date.now()),
      },
    );
  }

  /** Returns the name of the provider with a slug; null for one that is no longer in the catalogue. */
  providerName(slug: string): string | null {
    return (
      this.catalogue()
        .providers()
        .find((provider) => provider.slug === slug)?.name ?? null
    );
  }

  /** Returns the API in which an endpoint is asked for a caller of `api`; null if it cannot be asked. */
  upstreamApi(endpoint: Endpoint, api: Api): UpstreamApi | null {
    return upstreamApiFor(api, endpoint, this.adapters.get(endpoint.provider.protocol));
  }

  /** Whether a call of this API could be made to the endpoint at all, natively or through a translation. */
  canServe(endpoint: Endpoint, api: Api): boolean {
    return this.canSpeak(endpoint, api) && this.credentials.availableProviders()(endpoint.provider);
  }

  /** Returns the endpoint once for each key with which a caller with these own keys could be served. */
  keysFor(
    candidate: Candidate,
    api: Api,
    credentials: readonly OwnCredential[],
    scope: CredentialScope,
  ): readonly Candidate[] {
    const { endpoint } = candidate;
    if (!this.canSpeak(endpoint, api)) return [];
    return keyedCandidates(candidate, credentials, scope, this.credentials.availableProviders()(endpoint.provider));
  }

  /** Whether the provider runs batches of this API itself, rather than our workers. */
  runsBatchesItself(endpoint: Endpoint, api: CallableApi): boolean {
    return prefersNativeBatch(api, endpoint, this.adapters.get(endpoint.provider.protocol));
  }

  /**
   * Returns whether a batch at the endpoint refuses other forms of `custom_id`. In our own lane no provider sees these
   * ids.
   */
  takesPlainIdsOnly({ provider }: Endpoint): boolean {
    return provider.batch === 'native' && this.adapters.get(provider.protocol)?.batchRules?.takesPlainIdsOnly === true;
  }

  private canSpeak(endpoint: Endpoint, api: Api): boolean {
    const adapter = this.adapters.get(endpoint.provider.protocol);
    if (adapter === undefined || api === 'video') return false;
    return upstreamApiFor(api, endpoint, adapter) !== null;
  }
}
