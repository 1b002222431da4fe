import { isObject, stringOf } from '@libs/json';
import { Secret } from '@libs/contracts';
import { findAzureResource } from '../providers/azure-own-resource';
import { findBedrockRegion } from '../providers/bedrock-own-region';
import { findVertexProject } from '../providers/google-vertex-own-project';
import type { FindOwnPlace, KeyAccess, KeyedEndpoint } from '../providers/own-place';
import type { Endpoint, Provider } from '../catalogue/catalogue';

export type { KeyAccess, KeyedEndpoint } from '../providers/own-place';

/** Finds the place that a key document names in addition to the key, by protocol. */
const PLACES: Readonly<Record<string, FindOwnPlace>> = {
  azure: findAzureResource,
  'azure-speech': findAzureResource,
  bedrock: findBedrockRegion,
  'google-vertex': findVertexProject,
};

/**
 * How a caller's own key is used at an endpoint. A plain text is the key. A document of
 * a cloud platform also names the place where it is used: a resource, a region, a project. Of any other document the
 * `api_key` is the key, and one with a region goes to the provider's host of that region. Null where the key is for no
 * such endpoint: a key is never sent to a host that it was not made for.
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
    // What is no JSON is a key of no form that there is.
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

/** Made once for a provider and a region: connections are kept by provider. */
const regionalProviders = new WeakMap<Provider, Map<string, Provider>>();

function inRegion(endpoint: Endpoint, prefix: string): Endpoint {
  const { provider } = endpoint;
  const url = new URL(provider.baseUrl);
  // An operator's own host, such as a proxy, has no regions.
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
