import { hash } from 'node:crypto';
import { errors, jwtVerify, type JWTHeaderParameters, type KeyObject } from 'jose';
import { ACCESS_TOKEN_TYPE, API_KEY_HASH } from '@libs/contracts';
import type { TokenKeyDirectory } from './token-keys';

const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const MAX_KNOWN = 10_000;

/** Returns whether a text has the form of a token, so that its signature is worth checking (RFC 7515 §3.1). */
export function isTokenShaped(text: string): boolean {
  return COMPACT_JWS.test(text);
}

/** Looks a credential up, or refuses to. */
export type Judge = <T>(look: () => Promise<T | null>) => Promise<T | null>;

interface KnownToken {
  readonly keyHash: string;
  readonly expiresAtMs: number;
}

/**
 * The API keys that access tokens (RFC 9068) act as. Whether such a key may be used is checked elsewhere on every
 * request, so disabling the key disables its tokens.
 *
 * A verified token is cached by its hash until it expires, because verifying a signature costs more than everything
 * else that a request needs.
 */
export class AccessTokens {
  /** Tokens in the order of their verification, the oldest first. */
  private readonly known = new Map<string, KnownToken>();

  /** @param issuer the public URL of this installation; tokens must have it as issuer and audience */
  constructor(
    private readonly keys: TokenKeyDirectory,
    private readonly issuer: string,
    private readonly wallNowMs: () => number = Date.now,
  ) {}

  /**
   * Returns the hash of the key that a token acts as; null if it is not a valid token of this installation.
   * @param judge calls its argument, unless the caller has used up its signature checks
   */
  async keyHashOf(token: string, judge: Judge = (look) => look()): Promise<string | null> {
    const tokenHash = hash('sha256', token, 'base64url');
    const known = this.known.get(tokenHash) ?? (await judge(() => this.verify(token)));
    if (known === null) return null;
    if (known.expiresAtMs <= this.wallNowMs()) {
      this.known.delete(tokenHash);
      return null;
    }
    this.remember(tokenHash, known);
    return known.keyHash;
  }

  private async verify(token: string): Promise<KnownToken | null> {
    try {
      const { payload } = await jwtVerify(token, (header) => this.keyOf(header), {
        algorithms: ['ES256'],
        typ: ACCESS_TOKEN_TYPE,
        issuer: this.issuer,
        audience: this.issuer,
        requiredClaims: ['exp', 'sub', 'api_key_hash'],
        currentDate: new Date(this.wallNowMs()),
      });
      const { api_key_hash: keyHash, exp } = payload;
      if (typeof keyHash !== 'string' || !API_KEY_HASH.test(keyHash) || exp === undefined) return null;
      return { keyHash, expiresAtMs: exp * 1_000 };
    } catch (error) {
      // Every defect of the token has the same result. A failure to load the signing keys is not a defect of the token.
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  }

  private async keyOf({ kid }: JWTHeaderParameters): Promise<KeyObject> {
    const key = typeof kid === 'string' ? await this.keys.verifier(kid) : null;
    if (key === null) throw new errors.JWKSNoMatchingKey();
    return key;
  }

  private remember(tokenHash: string, token: KnownToken): void {
    if (this.known.has(tokenHash)) return;
    this.known.set(tokenHash, token);
    if (this.known.size > MAX_KNOWN) this.known.delete(this.known.keys().next().value!);
  }
}
