import type { Secret } from '@libs/contracts';
import type { Endpoint, Model } from '../catalogue/catalogue';
import { isOwnKeyHost } from './own-key-hosts';

/** The key and the endpoint to use for a call with a caller's own key. */
export interface KeyAccess {
  readonly apiKey: Secret;
  readonly endpoint: Endpoint;
}

/** The model and endpoint that a caller's own key is used for. */
export interface KeyedEndpoint {
  readonly model: Pick<Model, 'slug'>;
  readonly endpoint: Endpoint;
}

/** Returns the place (host, region or project) that a key document names; null if the key does not fit the endpoint. */
export type FindOwnPlace = (document: unknown, key: Secret, at: KeyedEndpoint) => KeyAccess | null;

/** The changes that a caller's own key makes to an endpoint. */
interface OwnPlace {
  readonly baseUrl: string;
  /** `global` where nothing says. */
  readonly region: string;
  readonly upstreamModel?: string;
}

/**
 * Returns the endpoint at a place that a caller's own key names; null for a host that keys may not name. Calls to it go
 * through the guard of outgoing connections and do not carry the operator's headers.
 */
export function atOwnPlace(endpoint: Endpoint, place: OwnPlace): Endpoint | null {
  const { baseUrl, region, upstreamModel = endpoint.upstreamModel } = place;
  if (!isOwnKeyHost(endpoint.provider, new URL(baseUrl).host)) return null;
  const provider = { ...endpoint.provider, baseUrl, headers: {}, isOwnPlace: true };
  return { ...endpoint, provider, region, upstreamModel };
}

/** Returns whether the provider's slug binds the endpoint to its region, as `google-vertex/us-central1` does. */
export function isBoundToRegion({ provider, region }: Endpoint): boolean {
  return provider.slug.endsWith(`/${region}`);
}
