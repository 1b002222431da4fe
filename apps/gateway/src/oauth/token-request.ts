import { isUUID } from 'class-validator';
import { ACCESS_TOKEN_SCOPE } from '@libs/contracts';
import type { FormFields } from '../http/parse-form';
import { oauthRefusal } from './oauth-errors';

export const TOKEN_EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const ACCESS_TOKEN_URN = 'urn:ietf:params:oauth:token-type:access_token';
const JWT_URN = 'urn:ietf:params:oauth:token-type:jwt';

const MAX_SUBJECT_TOKEN_LENGTH = 16_384;
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export interface TokenRequest {
  readonly policyId: string;
  readonly subjectToken: string;
}

/**
 * Reads the form of a token exchange (RFC 8693 §2.1). A field without a value counts as absent (RFC 6749 §3.2).
 * `audience` and `resource` are accepted and ignored. An actor is refused, because the token would not show that one
 * party acts for another.
 * @throws AppError with the OAuth error that RFC 6749 §5.2 defines for it
 */
export function readTokenRequest(fields: FormFields): TokenRequest {
  const given = (name: string): string | null => fields.get(name) || null;
  judgeGrantType(given('grant_type'));
  for (const name of ['actor_token', 'actor_token_type']) {
    if (given(name) !== null) throw invalid(`${name} is not supported`);
  }
  if (given('subject_token_type') !== JWT_URN) throw invalid(`subject_token_type must be ${JWT_URN}`);
  const requested = given('requested_token_type') ?? ACCESS_TOKEN_URN;
  if (requested !== ACCESS_TOKEN_URN) throw invalid(`requested_token_type must be ${ACCESS_TOKEN_URN}`);
  const policyId = given('federation_policy_id');
  if (policyId === null || !isUUID(policyId)) throw invalid('federation_policy_id must be a UUID');
  const subjectToken = readSubjectToken(given('subject_token'));
  const scope = given('scope') ?? ACCESS_TOKEN_SCOPE;
  if (scope !== ACCESS_TOKEN_SCOPE) throw oauthRefusal('invalid_scope', `scope must be ${ACCESS_TOKEN_SCOPE}`);
  return { policyId, subjectToken };
}

function judgeGrantType(grantType: string | null): void {
  if (grantType === null) throw invalid('grant_type is required');
  if (grantType === TOKEN_EXCHANGE_GRANT) return;
  throw oauthRefusal('unsupported_grant_type', `grant_type must be ${TOKEN_EXCHANGE_GRANT}`);
}

function readSubjectToken(token: string | null): string {
  if (token === null) throw invalid('subject_token is required');
  if (token.length > MAX_SUBJECT_TOKEN_LENGTH) {
    throw invalid(`subject_token must be at most ${MAX_SUBJECT_TOKEN_LENGTH} characters long`);
  }
  if (!COMPACT_JWS.test(token)) throw invalid('subject_token must be a JWT');
  return token;
}

function invalid(description: string): Error {
  return oauthRefusal('invalid_request', description);
}
