import { AppError } from '@libs/errors';
import type { Egress } from '@libs/platform';
import { readKeySet, type VerificationKey } from './key-set';

export interface KeySource {
  /** Exactly the `iss` of the issuer's tokens. */
  readonly issuerUrl: string;
  /** The organization to whose share this fetch is charged. */
  readonly organizationId: string;
  /** Null: the URL is taken from the issuer's OpenID configuration. */
  readonly jwksUrl: string | null;
}

const MAX_BYTES = 256 * 1024;
/**
 * Most JSON values: a key set has at most fifty keys of ten fields. Many values take far longer to parse than a few
 * long ones.
 */
const MOST_VALUES = 5_000;
/** Each of these characters begins a value, a field or an element. */
const MARKS: readonly number[] = [...'{[,:'].map((mark) => mark.codePointAt(0)!);
const TIMEOUT_MS = 5_000;
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i;

/**
 * Fetches the keys of an issuer from its own host (OpenID Connect Discovery §4, RFC 7517). Both documents together have
 * five seconds. Redirects are not followed.
 * @throws AppError if the keys cannot be fetched
 */
export async function fetchKeys(egress: Pick<Egress, 'fetch'>, source: KeySource): Promise<readonly VerificationKey[]> {
  const endMs = performance.now() + TIMEOUT_MS;
  const get = (url: string, subject: string): Promise<unknown> =>
    fetchJson(egress, url, {
      subject,
      holder: source.organizationId,
      timeoutMs: Math.max(1, endMs - performance.now()),
    });
  const jwksUrl = source.jwksUrl ?? jwksUrlOf(await get(configurationUrl(source), 'The OpenID configuration'), source);
  const keys = readKeySet(await get(jwksUrl, 'The key set'));
  if (keys === null) throw unusable('the key set holds no key that can be used');
  return keys;
}

function configurationUrl({ issuerUrl }: KeySource): string {
  return `${issuerUrl.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

function jwksUrlOf(document: unknown, { issuerUrl }: KeySource): string {
  const { issuer, jwks_uri: url } = (document ?? {}) as { readonly issuer?: unknown; readonly jwks_uri?: unknown };
  if (issuer !== issuerUrl) throw unusable('the OpenID configuration is that of another issuer');
  if (typeof url !== 'string') throw unusable('the OpenID configuration names no key set');
  return url;
}

async function fetchJson(
  egress: Pick<Egress, 'fetch'>,
  url: string,
  bounds: { readonly subject: string; readonly holder: string; readonly timeoutMs: number },
): Promise<unknown> {
  const headers = { accept: 'application/json' };
  const { subject } = bounds;
  const answer = await egress.fetch(url, { headers, ...bounds, maxBytes: MAX_BYTES });
  if (answer.status !== 200) throw unusable(`${subject} was answered with status ${answer.status}`);
  if (!JSON_TYPE.test(answer.headers['content-type'] ?? '')) throw unusable(`${subject} is not JSON by its type`);
  if (hasTooManyValues(answer.body)) throw unusable(`${subject} has too many values`);
  try {
    return JSON.parse(answer.body.toString()) as unknown;
  } catch (cause) {
    throw unusable(`${subject} is not JSON`, cause);
  }
}

function hasTooManyValues(json: Uint8Array): boolean {
  let marks = 0;
  for (const byte of json) if (MARKS.includes(byte)) marks += 1;
  return marks > MOST_VALUES;
}

function unusable(internal: string, cause?: unknown): AppError {
  return new AppError('provider_unavailable', 'The keys of the issuer cannot be had', { internal, cause });
}
