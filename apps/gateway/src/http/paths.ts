export const API_PREFIX = '/api/v1';
/** Clients that add `/v1` themselves are often configured with only the address of a server. */
const SHORT_PREFIX = '/v1';
/** Well-known documents are also served under the API's base path. */
const WELL_KNOWN = `${API_PREFIX}/.well-known/`;
/** Batches were first published at this path, and old clients still use it. */
const EARLIER_BATCHES = '/api/beta/batches';

/** Returns the URL of the route that serves a request, without the alternative prefixes. */
export function currentUrl(url: string): string {
  const long = isUnder(SHORT_PREFIX, url) ? `/api${url}` : url;
  if (long.startsWith(WELL_KNOWN)) return long.slice(API_PREFIX.length);
  return isUnder(EARLIER_BATCHES, long) ? `${API_PREFIX}/batches${long.slice(EARLIER_BATCHES.length)}` : long;
}

const MESSAGES = /^(?:\/+[a-z_-]{1,24})?(?:\/+(?:api|v\d+))*\/+messages(?:[/?]|$)/i;

/** Returns whether a path belongs to the Messages API, even if no route matches: its clients read only its error format. */
export function isForMessages(url: string): boolean {
  return MESSAGES.test(url);
}

const PREFIX_PART = /^(?:api|v\d+|beta)$/i;

/** Returns a path without a prefix, doubled slashes and a slash at its end, in segments. */
export function bareSegments(path: string): readonly string[] {
  const segments = path.split('/').filter((segment) => segment !== '');
  const start = segments.findIndex((segment) => !PREFIX_PART.test(segment));
  return start === -1 ? [] : segments.slice(start);
}

const MOST_SEGMENTS = 8;
const PLAIN_SEGMENT = /^(?:[a-z_]{0,24}|v\d{1,2})$/i;

/** Returns a path as errors show it: parts that may be ids or secrets are left out. */
export function shownPath(path: string): string {
  const segments = path.split('/', MOST_SEGMENTS + 1);
  const shown = segments.slice(0, MOST_SEGMENTS).map((segment) => (PLAIN_SEGMENT.test(segment) ? segment : '*'));
  return shown.join('/') + (segments.length > MOST_SEGMENTS ? '/*' : '');
}

/** Returns whether a URL is this path or one below it. */
export function isUnder(prefix: string, url: string): boolean {
  return url.startsWith(prefix) && ['', '/', '?'].includes(url.charAt(prefix.length));
}
