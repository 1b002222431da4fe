import { IsIn, IsOptional, IsUUID, Matches } from 'class-validator';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { API_KEY_HASH, LIMIT_RESETS, type LimitReset } from '../keys/keys.messages';
import { USD_DECIMAL } from '../keys/usd-amount';
import { IsNameText, IsUtcInstant } from '../organizations/member-rules';
import { CHALLENGE_METHODS, type ChallengeMethod } from './pkce';

/** SHA-256 of a random secret in lower-case hex. */
export const SECRET_HASH = /^[0-9a-f]{64}$/;
const STORED_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/** A code to remember: its hash, and the key that it will be exchanged for. */
export class CreateAuthorizationCodeRequest {
  @Matches(SECRET_HASH)
  codeHash: string;

  @IsUUID()
  organizationId: string;

  /** Null: the default workspace. */
  @IsOptional()
  @IsUUID()
  workspaceId: string | null;

  /** The host name of the callback URL, which identifies the app; null if the code is shown to a person. */
  @IsOptional()
  @IsNameText(1, 255)
  appHost: string | null;

  /** In the form of `storedChallenge`; null: the code alone is enough to redeem it. */
  @IsOptional()
  @Matches(STORED_CHALLENGE)
  challenge: string | null;

  /** Null exactly without a challenge. */
  @IsOptional()
  @IsIn(CHALLENGE_METHODS)
  challengeMethod: ChallengeMethod | null;

  @IsNameText(1, 200)
  keyName: string;

  @IsOptional()
  @Matches(USD_DECIMAL)
  limitUsd: string | null;

  @IsOptional()
  @IsIn(LIMIT_RESETS)
  limitReset: LimitReset | null;

  /** Expiry of the key. */
  @IsOptional()
  @IsUtcInstant()
  keyExpiresAt: string | null;
}

export class AuthorizationCodeCreated {
  /** Null without an app. */
  appId: number | null;
  createdAt: string;
}

/** Errors: `invalid_request` for a foreign workspace or an expiry that has passed, `conflict` for a code that exists. */
export const CreateAuthorizationCode = call({
  queue: queues.auth,
  name: 'auth.create-authorization-code',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: CreateAuthorizationCodeRequest,
  response: AuthorizationCodeCreated,
});

/**
 * The requesting process has created the key and sends its hash: neither code nor verifier nor key is sent over the
 * broker.
 */
export class RedeemAuthorizationCodeRequest {
  @Matches(SECRET_HASH)
  codeHash: string;

  /** The S256 challenge of the given verifier, whatever the method; null without a verifier. */
  @IsOptional()
  @Matches(STORED_CHALLENGE)
  challenge: string | null;

  @IsOptional()
  @IsIn(CHALLENGE_METHODS)
  challengeMethod: ChallengeMethod | null;

  @Matches(API_KEY_HASH)
  keyHash: string;

  @IsNameText(1, 80)
  keyLabel: string;

  /** When the request reached the asking process; distinguishes a copy of the winning request from a replay. */
  @IsUtcInstant()
  receivedAt: string;

  /** For the audit trail: an id that no caller can choose; below, the caller's own id. */
  @IsNameText(1, 200)
  requestId: string;

  @IsOptional()
  @IsNameText(1, 200)
  clientRequestId: string | null;
}

export class AuthorizationCodeRedeemed {
  keyHash: string;
}

/**
 * Creates the key, once. Errors: `permission_denied`, the same for a code that is unknown, used, expired or blocked and
 * for a wrong verifier; `invalid_request` for a method other than that of the code.
 */
export const RedeemAuthorizationCode = call({
  queue: queues.auth,
  name: 'auth.redeem-authorization-code',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  changes: 'access',
  request: RedeemAuthorizationCodeRequest,
  response: AuthorizationCodeRedeemed,
});

export const authorizationCodeContracts = [CreateAuthorizationCode, RedeemAuthorizationCode];
