import { IsOptional, IsString, IsUUID, Matches, MaxLength } from 'class-validator';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';

/** How long an access token can be used at most, in seconds. */
export const ACCESS_TOKEN_SECONDS = 900;
/** `typ` of an access token (RFC 9068 §2.1): tokens of any other type are not accepted as one. */
export const ACCESS_TOKEN_TYPE = 'at+jwt';
export const ACCESS_TOKEN_SCOPE = 'inference';

/** The claims of an access token (RFC 9068 §2.2). `sub` is the subject token's. */
export interface AccessTokenClaims {
  /** The public URL of the installation, which is also the audience: it is its own resource server. */
  iss: string;
  aud: string;
  sub: string;
  exp: number;
  iat: number;
  jti: string;
  client_id: string;
  scope: typeof ACCESS_TOKEN_SCOPE;
  federation_policy_id: string;
  federation_issuer_id: string;
  /** SHA-256 of the key that the token acts as: an identifier, never a credential. */
  api_key_hash: string;
}

/** An ES256 public key as `GET /oauth/jwks` publishes it (RFC 7517). */
export interface SigningJwk {
  kty: 'EC';
  crv: 'P-256';
  alg: 'ES256';
  use: 'sig';
  kid: string;
  x: string;
  y: string;
}

/** An X25519 public key (RFC 8037) that encrypts the secrets in a request to the auth app. */
export interface SealingJwk {
  kty: 'OKP';
  crv: 'X25519';
  kid: string;
  x: string;
}

export class GetTokenKeysRequest {}

export class TokenKeys {
  /** All that sign or have signed; empty when the installation signs no tokens. */
  signingKeys: SigningJwk[];
  /** Null without signing keys. */
  sealingKey: SealingJwk | null;
}

export const GetTokenKeys = call({
  queue: queues.auth,
  name: 'auth.get-token-keys',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 2_000,
  request: GetTokenKeysRequest,
  response: TokenKeys,
});

/** The JSON content of `ExchangeTokenRequest.sealed`. */
export interface SealedExchange {
  readonly subjectToken: string;
  /** 32 bytes of an X25519 public key in base64url, to which the answer is sealed. */
  readonly replyKey: string;
}

const COMPACT_JWE = /^[\w-]+(?:\.[\w-]*){4}$/;

export class ExchangeTokenRequest {
  @IsUUID()
  policyId: string;

  /** Organization of the bearer key in the request; null without one. */
  @IsOptional()
  @IsUUID()
  organizationId: string | null;

  /** A `SealedExchange` sealed to the sealing key. */
  @MaxLength(65_536)
  @Matches(COMPACT_JWE)
  sealed: string;

  /** The public URL under which the token is requested; the token is valid for it. */
  @IsString()
  @MaxLength(2_048)
  issuer: string;
}

export interface TokenGrant {
  /** The access token sealed to the reply key. */
  sealedToken: string;
  expiresInSeconds: number;
}

export class ExchangeTokenResponse {
  /** Null for every reason to refuse the grant, so that a policy cannot be probed from outside. */
  grant: TokenGrant | null;
}

/**
 * Exchanges a subject token for an access token (RFC 8693). Neither is readable on the broker.
 *
 * Errors: `precondition_failed` if it was sealed to a key that no longer exists, `provider_unavailable` if the issuer's
 * keys cannot be fetched, or the installation has no signing key.
 */
export const ExchangeToken = call({
  queue: queues.authExchanges,
  name: 'auth-exchanges.exchange-token',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 10_000,
  request: ExchangeTokenRequest,
  response: ExchangeTokenResponse,
});

export const tokenContracts = [GetTokenKeys, ExchangeToken];
