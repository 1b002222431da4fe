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

/** What prices calls on callers' own keys. */
export interface Byok {
  readonly credentials: Pick<CredentialSource, 'ownCredentials'>;
  readonly fee: Share;
}

/** What this installation can route to: the catalogue in force, the protocols it speaks and the keys it has. */
export class InferenceRouting {
  /** Jobs report nothing of a provider's calls; for them every provider counts as healthy. */
  private readonly jobHealth = new ProviderHealth(monotonicMs);

  constructor(
    private readonly source: CatalogueSource,
    private readonly adapters: ReadonlyMap<string, ProviderAdapter>,
    private readonly credentials: SharedCredentials,
    private readonly byok: Byok | null = null,
  ) {}

  /** The provider keys that a caller has brought along; undefined where they would have to be waited for. */
  ownKeysOf(caller: Principal): readonly OwnCredential[] | undefined {
    return this.byok === null ? undefined : (ownKeysAtHand(caller, this.byok.credentials) ?? undefined);
  }

  /**
   * What a call or one of its turns is expected to cost its caller at most.
   *
   * @param ownKeys the keys that its routes are planned with; without them everything costs its list price
   */
  holdFor(caller: Principal, expected: ExpectedUsage, ownKeys?: readonly OwnCredential[]): PicoUsd {
    return estimateHold(this.catalogue(), expected, this.chargedShareFor(caller, ownKeys));
  }

  /** The share of their list price that calls cost which only these keys may serve; null: list prices everywhere. */
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
   * The endpoints that could make a video, best first.
   *
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

  /** The API in which an endpoint is asked for a caller of `api`; null where it cannot be. */
  upstreamApi(endpoint: Endpoint, api: Api): UpstreamApi | null {
    return upstreamApiFor(api, endpoint, this.adapters.get(endpoint.provider.protocol));
  }

  /** Whether a call of this API could be made to the endpoint at all, natively or through a translation. */
  canServe(endpoint: Endpoint, api: Api): boolean {
    return this.canSpeak(endpoint, api) && this.credentials.availableProviders()(endpoint.provider);
  }

  /** The endpoint once for each key with which a caller who has brought these along could be served. */
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

  /** Whether a batch at the endpoint is refused for another `custom_id`; where we run it no provider sees them. */
  takesPlainIdsOnly({ provider }: Endpoint): boolean {
    return provider.batch === 'native' && this.adapters.get(provider.protocol)?.batchRules?.takesPlainIdsOnly === true;
  }

  private canSpeak(endpoint: Endpoint, api: Api): boolean {
    const adapter = this.adapters.get(endpoint.provider.protocol);
    if (adapter === undefined || api === 'video') return false;
    return upstreamApiFor(api, endpoint, adapter) !== null;
  }
}
