import type { Secret } from '@libs/contracts';
import type { Endpoint, Model } from '../catalogue/catalogue';
import { isOwnKeyHost } from './own-key-hosts';

/** What is sent to call an endpoint with a caller's own key, and where. */
export interface KeyAccess {
  readonly apiKey: Secret;
  readonly endpoint: Endpoint;
}

/** The model and endpoint that a caller's own key is used for. */
export interface KeyedEndpoint {
  readonly model: Pick<Model, 'slug'>;
  readonly endpoint: Endpoint;
}

/** Finds the place that a key document names; null where the key is for no such endpoint. */
export type FindOwnPlace = (document: unknown, key: Secret, at: KeyedEndpoint) => KeyAccess | null;

/** What a caller's own key changes of an endpoint. */
interface OwnPlace {
  readonly baseUrl: string;
  /** `global` where nothing says. */
  readonly region: string;
  readonly upstreamModel?: string;
}

/**
 * The endpoint at a place that a caller's own key names; null for a host that no key may name. Calls go through the
 * guard of outgoing connections, and the operator's headers stay away from them.
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
