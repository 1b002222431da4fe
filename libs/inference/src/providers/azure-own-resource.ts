import { objectsOf, stringOf, type JsonObject } from '@libs/json';
import { AZURE_DEPLOYMENT, AZURE_RESOURCE, readAzureEndpoint, Secret } from '@libs/contracts';
import type { Endpoint } from '../catalogue/catalogue';
import { atOwnPlace, type FindOwnPlace } from './own-place';

/** Domains of each Azure cloud, by resource type. */
const CLOUD = /\.azure\.(com|us|cn)$/;

/**
 * Chooses from a list of Azure resources: the deployment for the model if one is named, else the first resource that
 * has the API of the endpoint. Resources are in the same cloud as the catalogue's `base_url`. A resource is asked for
 * the deployment whose name is the catalogue's `upstream_model`.
 */
export const findAzureResource: FindOwnPlace = (document, _key, { model, endpoint }) => {
  if (!Array.isArray(document)) return null;
  const entries = objectsOf(document);
  const deployment = entries.find((entry) => entry['model_slug'] === model.slug);
  const resource = entries.find((entry) => domainOf(entry, endpoint) !== null);
  const entry = deployment ?? resource;
  const apiKey = stringOf(entry?.['api_key']);
  if (!entry || !apiKey) return null;
  const found = entry === deployment ? deploymentAt(entry, endpoint) : resourceAt(entry, endpoint);
  return found && { apiKey: new Secret(apiKey), endpoint: found };
};

function deploymentAt(entry: JsonObject, endpoint: Endpoint): Endpoint | null {
  const read = readAzureEndpoint(stringOf(entry['endpoint_url']) ?? '');
  const upstreamModel = stringOf(entry['model_id']) ?? '';
  if (typeof read === 'string' || !AZURE_DEPLOYMENT.test(upstreamModel)) return null;
  return atOwnPlace(endpoint, { baseUrl: baseUrlOf(read.host, endpoint), region: 'global', upstreamModel });
}

function resourceAt(entry: JsonObject, endpoint: Endpoint): Endpoint | null {
  const name = stringOf(entry['resource_name']) ?? '';
  const domain = domainOf(entry, endpoint);
  if (domain === null || !AZURE_RESOURCE.test(name)) return null;
  return atOwnPlace(endpoint, { baseUrl: baseUrlOf(`${name.toLowerCase()}.${domain}`, endpoint), region: 'global' });
}

/**
 * Returns the domain of the resource; null if the entry is not a resource, or the resource lacks the API of the
 * endpoint.
 */
function domainOf(entry: JsonObject, { provider }: Endpoint): string | null {
  const cloud = CLOUD.exec(new URL(provider.baseUrl).hostname)?.[1] ?? 'com';
  const type = stringOf(entry['resource_type']);
  if (provider.protocol === 'azure-speech') return type === 'ai_foundry' ? `cognitiveservices.azure.${cloud}` : null;
  if (type === 'openai') return `openai.azure.${cloud}`;
  return type === 'ai_foundry' ? `services.ai.azure.${cloud}` : null;
}

function baseUrlOf(host: string, { provider }: Endpoint): string {
  return `https://${host}${provider.protocol === 'azure-speech' ? '' : '/openai/v1'}`;
}
