import { AppError } from '@libs/errors';

const BEARER = /^Bearer ([^\s]+)$/i;
const CHALLENGE = { 'WWW-Authenticate': 'Bearer' } as const;

/** Returns the same error for every invalid credential, so that it does not show what is wrong with it. */
export function badCredential(): AppError {
  return new AppError('authentication', 'No auth credentials found: the key or token is not valid', {
    headers: CHALLENGE,
  });
}

/**
 * Returns the bearer token of a request (RFC 6750 §2.1) without checking its content.
 *
 * Reads the raw header list: Node keeps the first of two Authorization headers and silently drops the second, and a
 * proxy before us may have checked the other one.
 * @param rawHeaders names and values in turn, as Node's `IncomingMessage.rawHeaders`
 * @throws AppError `authentication` unless there is exactly one header with exactly one token
 */
export function readBearer(rawHeaders: readonly string[]): string {
  const value = onlyValueOf('authorization', rawHeaders);
  if (value === null) throw missingCredential(rawHeaders);
  const token = BEARER.exec(value)?.[1];
  if (token === undefined) throw badCredential();
  return token;
}

const KEY = /^[^\s]+$/;

/** An Authorization header without a credential, as clients send it for a token that is set to nothing. */
const NO_BEARER = /^\s*(?:Bearer\s*)?$/i;

/**
 * Returns the key of a request whose route also accepts `x-api-key`. Refuses a request with both headers, because a
 * proxy on the way may have checked the other credential. An empty header is none: Anthropic's clients send one for
 * `ANTHROPIC_API_KEY=""`.
 * @throws AppError `authentication` unless there is exactly one
 */
export function readBearerOrKey(rawHeaders: readonly string[]): string {
  const key = keyOf(rawHeaders);
  if (key === null) return readBearer(rawHeaders);
  if (!NO_BEARER.test(onlyValueOf('authorization', rawHeaders) ?? '')) throw twoCredentials();
  if (!KEY.test(key)) throw badCredential();
  return key;
}

/** Returns whether the request has a key in `x-api-key`. @throws AppError `authentication` if it has two such headers */
export function hasKeyHeader(rawHeaders: readonly string[]): boolean {
  return keyOf(rawHeaders) !== null;
}

/** Returns the key in `x-api-key`; null if the header is missing or empty. */
function keyOf(rawHeaders: readonly string[]): string | null {
  const key = onlyValueOf('x-api-key', rawHeaders);
  return key === null || key.trim() === '' ? null : key;
}

function onlyValueOf(wanted: string, rawHeaders: readonly string[]): string | null {
  let value: string | null = null;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (name.length !== wanted.length || name.toLowerCase() !== wanted) continue;
    if (value !== null) throw badCredential();
    value = rawHeaders[i + 1] ?? '';
  }
  return value;
}

function twoCredentials(): AppError {
  const message = 'Two credentials were sent: leave out the header Authorization or x-api-key';
  return new AppError('authentication', message, { headers: CHALLENGE });
}

function missingCredential(rawHeaders: readonly string[]): AppError {
  const hint = hasKeyHeader(rawHeaders) ? ': this route takes no x-api-key' : '';
  return new AppError('authentication', `Missing Authentication header${hint}`, { headers: CHALLENGE });
}
