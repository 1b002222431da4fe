import { isObject, stringOf } from '@libs/json';
import { Secret } from '@libs/contracts';
import { findAzureResource } from '../providers/azure-own-resource';
import { findBedrockRegion } from '../providers/bedrock-own-region';
import { findVertexProject } from '../providers/google-vertex-own-project';
import type { FindOwnPlace, KeyAccess, KeyedEndpoint } from '../providers/own-place';
import type { Endpoint, Provider } from '../catalogue/catalogue';

export type { KeyAccess, KeyedEndpoint } from '../providers/own-place';

/** Functions that find the place which a key document names besides the key, by protocol. */
const PLACES: Readonly<Record<string, FindOwnPlace>> = {
  azure: findAzureResource,
  'azure-speech': findAzureResource,
  bedrock: findBedrockRegion,
  'google-vertex': findVertexProject,
};

/**
 * Returns how a caller's own key is used at an endpoint. Plain text is the key itself. The document of a cloud platform
 * also names the resource, region or project in which to use it. In any other document the field `api_key` is the key,
 * and a region selects the provider's host of that region. Null if the key does not fit the endpoint: a key is never
 * sent to a host for which it was not made.
 */
export function accessWith(key: Secret, at: KeyedEndpoint): KeyAccess | null {
  const { endpoint } = at;
  const text = key.reveal();
  if (!/^[{[]/.test(text)) return { apiKey: key, endpoint };
  const document = parsed(text);
  const find = PLACES[endpoint.provider.protocol];
  return find === undefined ? ofRegion(document, endpoint) : find(document, key, at);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The text is not JSON, so it is not a key document.
    return null;
  }
}

const REGIONAL_HOSTS = new Set(['api.openai.com', 'api.fireworks.ai']);
const HOST_PREFIXES: Readonly<Record<string, string>> = { europe: 'eu', us: 'us' };

function ofRegion(document: unknown, endpoint: Endpoint): KeyAccess | null {
  const apiKey = isObject(document) ? stringOf(document['api_key']) : undefined;
  if (!isObject(document) || !apiKey) return null;
  const prefix = HOST_PREFIXES[stringOf(document['region']) ?? ''];
  return { apiKey: new Secret(apiKey), endpoint: prefix === undefined ? endpoint : inRegion(endpoint, prefix) };
}

/** Created once per provider and region, because connections are pooled by provider object. */
const regionalProviders = new WeakMap<Provider, Map<string, Provider>>();

function inRegion(endpoint: Endpoint, prefix: string): Endpoint {
  const { provider } = endpoint;
  const url = new URL(provider.baseUrl);
  // The operator's own host, such as a proxy, has no regions.
  if (!REGIONAL_HOSTS.has(url.hostname)) return endpoint;
  const known = regionalProviders.get(provider) ?? new Map<string, Provider>();
  let regional = known.get(prefix);
  if (regional === undefined) {
    url.hostname = `${prefix}.${url.hostname}`;
    regional = { ...provider, baseUrl: url.href };
    regionalProviders.set(provider, known.set(prefix, regional));
  }
  return { ...endpoint, provider: regional };
}
