import { readAzureEndpoint } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { isOwnKeyHost, isSlugOf, ownKeyHostsOf, type Provider } from '@libs/inference';

const AZURE = 'azure';

/**
 * Checks that each `endpoint_url` in an Azure key is at a host to which such keys may be sent. This is the only place
 * with the catalogue, in which the operator adds hosts. The form of the document is validated where the key is stored,
 * and the host again before each call.
 * @throws AppError invalid_request; its message contains nothing of the key
 */
export function requireKnownHosts(key: string, providers: readonly Provider[]): void {
  const hosts = endpointUrlsIn(key).flatMap((url) => {
    const read = readAzureEndpoint(url);
    // Text that is not a valid URL is refused later, with the rest of the form.
    return typeof read === 'string' ? [] : [read.host];
  });
  if (hosts.length === 0) return;
  const named = providers.filter((provider) => isSlugOf(provider, AZURE));
  const takers = named.length > 0 ? named : [{ protocol: AZURE }];
  if (hosts.every((host) => takers.some((provider) => isOwnKeyHost(provider, host)))) return;
  const known = [...new Set(takers.flatMap((provider) => ownKeyHostsOf(provider)))].join(', ');
  throw new AppError('invalid_request', `key cannot be used: the host of each endpoint_url must be one of ${known}`, {
    metadata: { param: 'key' },
  });
}

function endpointUrlsIn(key: string): readonly string[] {
  if (!key.startsWith('[')) return [];
  const entries = parsed(key);
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: unknown) => {
    const url = typeof entry === 'object' && entry !== null && 'endpoint_url' in entry ? entry.endpoint_url : null;
    return typeof url === 'string' ? [url] : [];
  });
}

function parsed(key: string): unknown {
  try {
    return JSON.parse(key);
  } catch {
    // The parser's own message would repeat its input. The form is refused where the key is stored.
    return null;
  }
}

/** Returns warnings about what keeps a credential for a provider from being used, whatever its settings. */
export function warningsOf(slug: string, providers: readonly Provider[]): readonly string[] {
  if (providers.some((provider) => isSlugOf(provider, slug))) return [];
  return [`No call uses this key: the catalogue of this service has no provider ${slug}`];
}
