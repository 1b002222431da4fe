import { ValidateBy, type ValidationOptions } from 'class-validator';
import { parseLink } from '../links/link-head';

const MAX_LENGTH = 2_048;

/** Scheme, authority and rest as they were written, before any normalisation (RFC 3986 §3). */
const PARTS = /^(https?):\/\/([^/?@]+)(?:[/?].*)?$/i;
/**
 * Characters that one reader drops or converts and another does not, and the fragment, after which no code may follow.
 */
const FOREIGN = /[\s\\#\p{Cc}\p{Cs}]/u;
const PORT = /:(\d+)$/;

/** The hosts of programs on the user's own machine, to be written exactly so. */
const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1']);

/**
 * Returns the host name of a callback URL, which is the name of its app; null for text that is not a callback URL:
 * https with any host, or http with `localhost` or `127.0.0.1`, on any port.
 *
 * A loopback host is checked as it is written: a URL parser also turns `127.1`, `0x7f.1` and full-width digits into
 * `127.0.0.1`, and other programs may not.
 */
export function callbackHost(text: string): string | null {
  if (text.length > MAX_LENGTH || FOREIGN.test(text)) return null;
  const [, scheme, authority] = PARTS.exec(text) ?? [];
  if (scheme === undefined || authority === undefined || !hasGoodPort(authority)) return null;
  return scheme.toLowerCase() === 'https' ? publicHost(text) : loopbackHost(authority);
}

/** A host name as name servers know it. A parser accepts more, such as `;`, which has a meaning in headers. */
const HOST_NAME = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/;

function publicHost(text: string): string | null {
  const host = parseLink(text)?.hostname.replace(/\.$/, '') ?? '';
  return HOST_NAME.test(host) ? host : null;
}

function loopbackHost(authority: string): string | null {
  const host = authority.replace(PORT, '').toLowerCase();
  return LOOPBACK_HOSTS.has(host) ? host : null;
}

function hasGoodPort(authority: string): boolean {
  // The colons of an IPv6 address are within brackets.
  const afterHost = authority.slice(authority.lastIndexOf(']') + 1);
  if (!afterHost.includes(':')) return true;
  const port = PORT.exec(afterHost)?.[1];
  return port !== undefined && port.length <= 5 && Number(port) >= 1 && Number(port) <= 65_535;
}

export function IsCallbackUrl(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isCallbackUrl',
      validator: {
        validate: (value: unknown) => typeof value === 'string' && callbackHost(value) !== null,
        defaultMessage: () =>
          '$property must be an https URL, or an http URL with a loopback host, without user and fragment',
      },
    },
    options,
  );
}
