import {
  upstreamApiFor,
  type Api,
  type Catalogue,
  type CatalogueSource,
  type Endpoint,
  type ProviderAdapter,
  type SharedCredentials,
  type UpstreamApi,
} from '@libs/inference';

/** What this installation can route to: the catalogue in force, the protocols it speaks and the keys it has. */
export class InferenceRouting {
  constructor(
    private readonly source: CatalogueSource,
    private readonly adapters: ReadonlyMap<string, ProviderAdapter>,
    private readonly credentials: SharedCredentials,
  ) {}

  catalogue(): Catalogue {
    return this.source.current();
  }

  /** What the provider of a slug calls itself; null for one that the catalogue does not name any more. */
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
    const { provider } = endpoint;
    const adapter = this.adapters.get(provider.protocol);
    if (adapter === undefined || api === 'transcription' || api === 'video') return false;
    return upstreamApiFor(api, endpoint, adapter) !== null && this.credentials.availableProviders()(provider);
  }
}
