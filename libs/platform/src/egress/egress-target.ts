import { namesPrivateAddress, parseLink } from '@libs/contracts';
import { AppError } from '@libs/errors';
import ipaddr from 'ipaddr.js';
import type { ResolvedAddress } from './resolved-address';

/** Where a URL leads, before its name is resolved. */
export interface EgressTarget {
  readonly url: URL;
  /** Without the dot that may end a host name, and without the brackets of an IPv6 address. */
  readonly hostname: string;
  /** The host if the URL gives it as an address, in any spelling. */
  readonly literal: ResolvedAddress | null;
  /** Why this URL is acceptable only in allowed ranges; null for a plain public URL. */
  readonly onlyAllowedBecause: string | null;
  readonly subject: string;
}

const LONGEST_URL = 8_192;
const HTTPS_PORT = '';
/** Names with a different meaning in each network (RFC 6761, 6762, 8375; `internal` is reserved by ICANN). */
const LOCAL_NAME = /(^|\.)(localhost|local|internal|home\.arpa)$/;

/**
 * Reads a URL by the WHATWG standard, which converts every spelling of an IPv4 address (decimal, octal, hexadecimal,
 * short) into the usual one, so that one form is both checked and connected to.
 * @throws AppError invalid_request that names the subject and what is wrong, never the URL
 */
export function readTarget(text: string, subject = 'The URL'): EgressTarget {
  const url = readUrl(text, subject);
  if (url.protocol !== 'https:') throw refusedUrl(subject, 'it must start with https://');
  if (url.username !== '' || url.password !== '') throw refusedUrl(subject, 'it must not hold a user or password');
  if (url.hash !== '' || text.includes('#')) throw refusedUrl(subject, 'it must not have a fragment');
  const hostname = url.hostname.replace(/^\[|\]$|\.$/g, '');
  if (hostname === '') throw refusedUrl(subject, 'it has no host');
  const literal = readLiteral(hostname);
  return { url, hostname, literal, onlyAllowedBecause: oddity(url, hostname, literal), subject };
}

/** Returns the error for a refused URL. */
export function refusedUrl(subject = 'The URL', why: string): AppError {
  return new AppError('invalid_request', `${subject} is refused: ${why}`);
}

function readUrl(text: string, subject: string): URL {
  if (text.length > LONGEST_URL) throw refusedUrl(subject, `it is longer than ${LONGEST_URL} characters`);
  // The standard drops or converts these characters, other readers do not: such a URL means different hosts to
  // different readers.
  if (/[\s\\\p{Cc}]/u.test(text)) throw refusedUrl(subject, 'it holds a blank, a backslash or a control character');
  const url = parseLink(text);
  if (url === null) throw refusedUrl(subject, 'it is no URL');
  return url;
}

function readLiteral(hostname: string): ResolvedAddress | null {
  if (!ipaddr.isValid(hostname)) return null;
  return { address: hostname, family: ipaddr.parse(hostname).kind() === 'ipv4' ? 4 : 6 };
}

function oddity(url: URL, hostname: string, literal: ResolvedAddress | null): string | null {
  if (literal !== null) return 'its host must be a name, not an address';
  if (!hostname.includes('.') || LOCAL_NAME.test(hostname)) return 'its host must be a public name';
  if (namesPrivateAddress(hostname)) return 'its host must not be named for an address that is not public';
  if (url.port !== HTTPS_PORT) return 'its port must be 443';
  return null;
}
