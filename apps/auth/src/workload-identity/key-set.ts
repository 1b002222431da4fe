import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { SignatureAlgorithm } from './subject-token';

/** A public key of an issuer that may verify signatures. */
export interface VerificationKey {
  readonly keyId: string | null;
  readonly algorithm: SignatureAlgorithm;
  readonly key: KeyObject;
}

const MAX_KEYS = 50;
const MIN_RSA_BITS = 2_048;
/** The time for a verification grows with the size of both. */
const MAX_RSA_BITS = 4_096;
const MAX_RSA_EXPONENT = 2n ** 32n;
/** Longest key name, because names are cached with their keys. Those of known issuers have 43 or 64 characters. */
const MAX_KEY_ID_LENGTH = 256;

/**
 * Returns the keys of a JWK set (RFC 7517 §5) that can verify our algorithms; null if the set is not usable. Skips keys
 * for another use, of another type, too weak or too large, with a very long name, and keys published with their private
 * part, which is no longer secret.
 */
export function readKeySet(document: unknown): readonly VerificationKey[] | null {
  const members = (document ?? {}) as { readonly keys?: unknown };
  if (!Array.isArray(members.keys) || members.keys.length > MAX_KEYS) return null;
  const keys = members.keys.flatMap((jwk) => readKey(jwk) ?? []);
  return keys.length === 0 ? null : keys;
}

/**
 * Returns the key that a token names, or the only key of its algorithm if the token names none; null if there is no
 * such key or more than one.
 */
export function chooseKey(
  keys: readonly VerificationKey[],
  token: { readonly keyId: string | null; readonly algorithm: SignatureAlgorithm },
): KeyObject | null {
  const fitting = keys.filter(
    ({ keyId, algorithm }) => algorithm === token.algorithm && (token.keyId === null || token.keyId === keyId),
  );
  return fitting.length === 1 ? fitting[0]!.key : null;
}

interface GivenJwk extends JsonWebKey {
  readonly kid?: unknown;
  readonly alg?: unknown;
  readonly use?: unknown;
  readonly key_ops?: unknown;
}

function readKey(value: unknown): VerificationKey | null {
  if (typeof value !== 'object' || value === null) return null;
  const jwk = value as GivenJwk;
  const algorithm = algorithmOf(jwk);
  const keyId = typeof jwk.kid === 'string' ? jwk.kid : null;
  if (keyId !== null && keyId.length > MAX_KEY_ID_LENGTH) return null;
  if (algorithm === null || !isForVerification(jwk, algorithm)) return null;
  const key = importKey(jwk);
  if (key === null || !isUsable(key)) return null;
  return { keyId, algorithm, key };
}

function algorithmOf({ kty, crv }: GivenJwk): SignatureAlgorithm | null {
  if (kty === 'RSA') return 'RS256';
  return kty === 'EC' && crv === 'P-256' ? 'ES256' : null;
}

function isForVerification({ alg, use, key_ops: operations, d }: GivenJwk, algorithm: SignatureAlgorithm): boolean {
  if (d !== undefined || (alg !== undefined && alg !== algorithm)) return false;
  if (use !== undefined && use !== 'sig') return false;
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'));
}

function importKey({ kty, crv, x, y, n, e }: GivenJwk): KeyObject | null {
  try {
    return createPublicKey({ key: { kty, crv, x, y, n, e } as JsonWebKey, format: 'jwk' });
  } catch {
    // The numbers are not a point of the curve or not a modulus: skipped like a key of an unknown kind.
    return null;
  }
}

/** An RSA key of a size that is safe, and that verifies in a short time. */
function isUsable({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  if (asymmetricKeyType !== 'rsa') return true;
  const { modulusLength = 0, publicExponent = MAX_RSA_EXPONENT } = asymmetricKeyDetails ?? {};
  return modulusLength >= MIN_RSA_BITS && modulusLength <= MAX_RSA_BITS && publicExponent < MAX_RSA_EXPONENT;
}
