import { readClaims, type Claims } from './claims';

export const SIGNATURE_ALGORITHMS = ['ES256', 'RS256'] as const;
export type SignatureAlgorithm = (typeof SIGNATURE_ALGORITHMS)[number];

/** A subject token before its signature is looked at. */
export interface DecodedToken {
  readonly algorithm: SignatureAlgorithm;
  readonly keyId: string | null;
  readonly claims: Claims;
}

/** Header fields with which a token would choose its own key or how it is read (RFC 8725 §3.10). */
const FOREIGN_MEMBERS = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64', 'zip', 'cty', 'enc'] as const;
const MAX_KEY_ID_LENGTH = 512;
const SEGMENT = /^[A-Za-z0-9_-]+$/;

/** Splits a compact JWS (RFC 7515 §3.1) into its parts; null if it cannot be a subject token. */
export function decodeSubjectToken(token: string): DecodedToken | null {
  const segments = token.split('.');
  if (segments.length !== 3 || !segments.every((segment) => SEGMENT.test(segment))) return null;
  const header = readClaims(Buffer.from(segments[0]!, 'base64url'));
  const claims = readClaims(Buffer.from(segments[1]!, 'base64url'));
  if (header === null || claims === null) return null;
  if (FOREIGN_MEMBERS.some((name) => Object.hasOwn(header, name))) return null;
  const algorithm = SIGNATURE_ALGORITHMS.find((known) => known === header.alg);
  const keyId = header.kid ?? null;
  if (algorithm === undefined || !isKeyId(keyId)) return null;
  return { algorithm, keyId, claims };
}

function isKeyId(value: unknown): value is string | null {
  return value === null || (typeof value === 'string' && value.length <= MAX_KEY_ID_LENGTH);
}
