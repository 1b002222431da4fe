import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { ACCESS_TOKEN_SCOPE, ACCESS_TOKEN_SECONDS, ACCESS_TOKEN_TYPE, type AccessTokenClaims } from '@libs/contracts';
import type { SigningKey } from './signing-keys';

/** The subject of an access token, and when it must expire at the latest. */
export interface AccessTokenFacts {
  readonly issuer: string;
  readonly subject: string;
  readonly policyId: string;
  readonly issuerId: string;
  readonly apiKeyHash: string;
  /** When the subject token ends, in seconds since the epoch, at least one second from now. */
  readonly subjectExpiresAtSeconds: number;
}

export interface AccessToken {
  readonly token: string;
  readonly expiresInSeconds: number;
}

/**
 * Signs an access token (RFC 9068) that expires after a quarter of an hour, or with its subject token if that is
 * earlier.
 */
export async function signAccessToken(key: SigningKey, facts: AccessTokenFacts, nowMs: number): Promise<AccessToken> {
  const nowSeconds = nowMs / 1_000;
  const expiresInSeconds = Math.min(ACCESS_TOKEN_SECONDS, Math.floor(facts.subjectExpiresAtSeconds - nowSeconds));
  const iat = Math.floor(nowSeconds);
  const claims: AccessTokenClaims = {
    iss: facts.issuer,
    aud: facts.issuer,
    sub: facts.subject,
    exp: iat + expiresInSeconds,
    iat,
    jti: randomUUID(),
    client_id: facts.policyId,
    scope: ACCESS_TOKEN_SCOPE,
    federation_policy_id: facts.policyId,
    federation_issuer_id: facts.issuerId,
    api_key_hash: facts.apiKeyHash,
  };
  const header = { alg: 'ES256', typ: ACCESS_TOKEN_TYPE, kid: key.keyId };
  const token = await new SignJWT({ ...claims }).setProtectedHeader(header).sign(key.privateKey);
  return { token, expiresInSeconds };
}
