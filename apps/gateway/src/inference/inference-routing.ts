import type { Api, Catalogue, CatalogueSource, Endpoint, ProviderAdapter, SharedCredentials } from '@libs/inference';

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

  /** Whether a call of this API could be made to the endpoint at all. */
  canServe({ provider, apis }: Endpoint, api: Api): boolean {
    const adapter = this.adapters.get(provider.protocol);
    if (adapter === undefined || !apis.includes(api)) return false;
    return canAsk(adapter, api) && this.credentials.availableProviders()(provider);
  }
}

function canAsk(adapter: ProviderAdapter, api: Api): boolean {
  switch (api) {
    case 'chat':
      return adapter.chat !== undefined;
    case 'embeddings':
      return adapter.embed !== undefined;
    case 'responses':
    case 'messages':
    case 'transcription':
    case 'video':
      return false;
  }
}
