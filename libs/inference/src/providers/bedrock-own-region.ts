import { isObject, stringOf } from '@libs/json';
import { AWS_REGION } from '@libs/contracts';
import type { Endpoint } from '../catalogue/catalogue';
import { regionOfHost } from './aws-signature';
import { atOwnPlace, isBoundToRegion, type FindOwnPlace } from './own-place';

const RUNTIME_HOST = /^(bedrock-runtime(?:-fips)?)\.[a-z0-9-]+\.amazonaws\.(?:com|com\.cn|eu)$/;
/** Inference profiles exist only in their own part of the world. */
const PROFILES: readonly (readonly [RegExp, RegExp])[] = [
  [/^us\./, /^(?:us-(?!gov)|ca-)/],
  [/^us-gov\./, /^us-gov-/],
  [/^eu\./, /^(?:eu|il)-/],
  [/^(?:apac|jp|au)\./, /^ap-/],
];

/**
 * Returns the endpoint at the host of the key's region. AWS access keys belong to one region: calls go to its host and
 * are signed for it. The catalogue's host is kept if it is already that region's, or is not an AWS host.
 */
export const findBedrockRegion: FindOwnPlace = (document, key, { endpoint }) => {
  if (!isObject(document)) return null;
  const region = stringOf(document['region']);
  if (region === undefined) return { apiKey: key, endpoint };
  if (!AWS_REGION.test(region)) return null;
  const found = inRegion(endpoint, region);
  return found && { apiKey: key, endpoint: found };
};

function inRegion(endpoint: Endpoint, region: string): Endpoint | null {
  const { hostname } = new URL(endpoint.provider.baseUrl);
  const catalogueRegion = regionOfHost(hostname);
  if (catalogueRegion === null || catalogueRegion === region) return endpoint;
  if (isBoundToRegion(endpoint) || !hasModel(endpoint, region)) return null;
  const [, service] = RUNTIME_HOST.exec(hostname) ?? [];
  if (service === undefined) return null;
  return atOwnPlace(endpoint, { baseUrl: `https://${service}.${region}.${domainOf(region)}`, region });
}

function hasModel({ upstreamModel }: Endpoint, region: string): boolean {
  return PROFILES.every(([profile, regions]) => !profile.test(upstreamModel) || regions.test(region));
}

function domainOf(region: string): string {
  if (region.startsWith('cn-')) return 'amazonaws.com.cn';
  return region.startsWith('eusc-') ? 'amazonaws.eu' : 'amazonaws.com';
}
