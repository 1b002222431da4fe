import { MalformedJson, parseJson, isObject, stringOf } from '@libs/json';
import type { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { Endpoint, Provider } from '../catalogue/catalogue';
import { regionOfHost, signatureHeaders, type AwsCredentials } from './aws-signature';
import type { UpstreamCall } from '../wire/upstream-call';

const SERVICE = 'bedrock';

/**
 * Returns the headers that authorize a call: name, value, …. The key is an API key of Bedrock, or a JSON object
 * `{accessKeyId, secretAccessKey, sessionToken?, region?}` with which the call is signed. `path` is appended unchanged
 * to the base URL.
 * @throws AppError provider_unavailable if the key has neither form, or if no region to sign for is known
 */
export function authorizationOf({ apiKey, endpoint, body }: UpstreamCall, path: string, nowMs: number): string[] {
  if (apiKey === null) return [];
  const key = readKey(apiKey, endpoint.provider);
  if (typeof key === 'string') return ['authorization', `Bearer ${key}`];
  const base = endpoint.provider.baseUrl.replace(/\/$/, '');
  const url = new URL(base + path);
  return signatureHeaders({ url, body, service: SERVICE, region: regionOf(key, url, endpoint), nowMs }, key);
}

function readKey(apiKey: Secret, provider: Provider): string | AwsCredentials {
  const text = apiKey.reveal().trim();
  if (!text.startsWith('{')) return text;
  const members = parsed(text);
  const accessKeyId = stringOf(members?.['accessKeyId']);
  const secretAccessKey = stringOf(members?.['secretAccessKey']);
  if (!accessKeyId || !secretAccessKey) throw unusable(provider, 'the key lacks accessKeyId or secretAccessKey');
  const sessionToken = stringOf(members?.['sessionToken']);
  const region = stringOf(members?.['region']);
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }), ...(region && { region }) };
}

function parsed(text: string) {
  try {
    const value = parseJson(Buffer.from(text));
    return isObject(value) ? value : null;
  } catch (thrown) {
    if (thrown instanceof MalformedJson) return null;
    throw thrown;
  }
}

function regionOf({ region }: AwsCredentials, { host }: URL, endpoint: Endpoint): string {
  const known = region ?? regionOfHost(host);
  if (known === null) throw unusable(endpoint.provider, 'neither the key nor the host names a region');
  return known;
}

function unusable(provider: Provider, reason: string): AppError {
  return new AppError('provider_unavailable', 'The provider is not available', {
    metadata: { provider_name: provider.name },
    internal: `${provider.slug}: ${reason}`,
  });
}
