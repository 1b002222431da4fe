import { Secret } from '@libs/contracts';
import { isObject, objectsOf, stringOf, type JsonObject } from '../dialects/loose-values';
import type { Endpoint, Provider } from './catalogue';

/** What is sent to call an endpoint with a caller's own key, and where. */
export interface KeyAccess {
  readonly apiKey: Secret;
  readonly endpoint: Endpoint;
}

/** Their adapters read key documents themselves. */
const READS_DOCUMENTS = new Set(['bedrock', 'google-vertex']);

/**
 * How a caller's own key is used at an endpoint (the forms of interface §4.9). A plain text is the key. Of a
 * document it is the `api_key` in it: one with a region goes to the provider's host of that region, one of a
 * list of Azure's resources to the resource that the endpoint belongs to. Null where the key is for no such
 * endpoint: a key is never sent to a host that it was not made for.
 */
export function accessWith(key: Secret, endpoint: Endpoint): KeyAccess | null {
  const text = key.reveal();
  if (!/^[{[]/.test(text) || READS_DOCUMENTS.has(endpoint.provider.protocol)) return { apiKey: key, endpoint };
  const document = parsed(text);
  return Array.isArray(document) ? ofResource(objectsOf(document), endpoint) : ofRegion(document, endpoint);
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

const RESOURCE_DOMAINS: Readonly<Record<string, string>> = {
  openai: 'openai.azure.com',
  ai_foundry: 'services.ai.azure.com',
};

function ofResource(entries: readonly JsonObject[], endpoint: Endpoint): KeyAccess | null {
  const host = new URL(endpoint.provider.baseUrl).hostname;
  const entry = entries.find((one) => hostOf(one, endpoint) === host);
  const apiKey = stringOf(entry?.['api_key']);
  return apiKey ? { apiKey: new Secret(apiKey), endpoint } : null;
}

function hostOf(entry: JsonObject, { upstreamModel }: Endpoint): string | undefined {
  const url = stringOf(entry['endpoint_url']);
  if (url !== undefined) return entry['model_id'] === upstreamModel ? URL.parse(url)?.hostname : undefined;
  const domain = RESOURCE_DOMAINS[stringOf(entry['resource_type']) ?? ''];
  return domain && `${stringOf(entry['resource_name'])?.toLowerCase()}.${domain}`;
}
