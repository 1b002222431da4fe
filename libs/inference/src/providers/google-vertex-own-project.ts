import { isObject, stringOf } from '@libs/json';
import { GOOGLE_LOCATION, GOOGLE_PROJECT } from '@libs/contracts';
import type { Endpoint } from '../catalogue/catalogue';
import { atOwnPlace, isBoundToRegion, type FindOwnPlace } from './own-place';

const HOST = /^(?:[a-z0-9-]+-)?aiplatform\.(?:[a-z]+\.rep\.)?googleapis\.com$/;
const PROJECT_PATH = /\/projects\/[^/]+(?:\/locations\/([^/]+))?.*$/;

/**
 * Returns the endpoint in the service account's own project, in the location that its document names, or else in the
 * endpoint's location. The host changes with the location, unless the catalogue's host is not Google's.
 */
export const findVertexProject: FindOwnPlace = (document, key, { endpoint }) => {
  if (!isObject(document)) return null;
  const location = stringOf(document['region']);
  if (location !== undefined && !GOOGLE_LOCATION.test(location)) return null;
  const found = inProject(endpoint, location, stringOf(document['project_id']));
  return found && { apiKey: key, endpoint: found };
};

function inProject(endpoint: Endpoint, location: string | undefined, project = ''): Endpoint | null {
  const url = new URL(endpoint.provider.baseUrl);
  const operators = PROJECT_PATH.exec(url.pathname);
  if (!HOST.test(url.hostname)) {
    // The catalogue's host belongs to the operator, such as a proxy, and is kept.
    return location === undefined ? endpoint : { ...endpoint, region: location };
  }
  if (location === undefined && operators === null) return endpoint;
  if (!GOOGLE_PROJECT.test(project)) return null;
  return inLocation(endpoint, url, location ?? operators?.[1] ?? endpoint.region);
}

function inLocation(endpoint: Endpoint, url: URL, region: string): Endpoint | null {
  if (!GOOGLE_LOCATION.test(region)) return null;
  if (isBoundToRegion(endpoint) && region !== endpoint.region) return null;
  return atOwnPlace(endpoint, { baseUrl: baseUrlOf(url, region), region });
}

function baseUrlOf({ pathname }: URL, region: string): string {
  return `https://${hostOf(region)}${pathname.replace(PROJECT_PATH, '').replace(/\/$/, '')}`;
}

function hostOf(region: string): string {
  if (region === 'global') return 'aiplatform.googleapis.com';
  const isMultiRegion = region === 'us' || region === 'eu';
  return isMultiRegion ? `aiplatform.${region}.rep.googleapis.com` : `${region}-aiplatform.googleapis.com`;
}
