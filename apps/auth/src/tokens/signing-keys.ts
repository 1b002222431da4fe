import { createHash, createPrivateKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { SigningJwk } from '@libs/contracts';

/** An ES256 key of `TOKEN_SIGNING_KEYS`. */
export interface SigningKey {
  readonly keyId: string;
  readonly privateKey: KeyObject;
  readonly publicJwk: SigningJwk;
  /** The private scalar, from which the sealing key is derived. */
  readonly scalar: Buffer;
}

const MAX_KEYS = 16;

/**
 * Parses a JSON list of private JWKs (RFC 7517, RFC 7518 §6.2); the first key signs. A key without `kid` is named by
 * its thumbprint (RFC 7638).
 * @throws Error that says what is wrong and never shows any of the text
 */
export function parseSigningKeys(text: string): readonly SigningKey[] {
  const list = parseList(text);
  if (list.length === 0 || list.length > MAX_KEYS) throw new Error(`the list must have 1 to ${MAX_KEYS} keys`);
  const keys = list.map(parseKey);
  if (new Set(keys.map(({ keyId }) => keyId)).size < keys.length) throw new Error('two keys have the same kid');
  return keys;
}

function parseList(text: string): readonly unknown[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    // The parser's own message would repeat the text.
    throw new Error('the text is not JSON');
  }
  if (!Array.isArray(list)) throw new Error('the text is not a JSON list');
  return list;
}

function parseKey(value: unknown): SigningKey {
  const jwk = (value ?? {}) as JsonWebKey & { readonly kid?: unknown };
  const privateKey = importPrivateKey(jwk);
  // Exported again, so that the published point is the one that signs, in canonical form.
  const { x = '', y = '', d = '' } = privateKey.export({ format: 'jwk' });
  const keyId = typeof jwk.kid === 'string' && jwk.kid !== '' ? jwk.kid : thumbprint(x, y);
  const publicJwk = { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: keyId, x, y } as const;
  return { keyId, privateKey, publicJwk, scalar: Buffer.from(d, 'base64url') };
}

function importPrivateKey({ kty, crv, x, y, d }: JsonWebKey): KeyObject {
  if (kty !== 'EC' || crv !== 'P-256' || typeof d !== 'string') throw new Error('a key is no private EC key of P-256');
  try {
    return createPrivateKey({ key: { kty, crv, x, y, d } as JsonWebKey, format: 'jwk' });
  } catch {
    throw new Error('a key has numbers that belong to no key');
  }
}

function thumbprint(x: string, y: string): string {
  return createHash('sha256')
    .update(JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }))
    .digest('base64url');
}
