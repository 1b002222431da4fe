import { AppError, type ErrorCode } from '@libs/errors';

/** The values of `error` in a refused exchange (RFC 6749 §5.2, RFC 8693 §2.2.2). */
export type OauthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unsupported_grant_type'
  | 'invalid_scope'
  | 'server_error'
  | 'temporarily_unavailable';

interface OauthMeaning {
  readonly error: OauthErrorCode;
  readonly status: number;
}

/** Returns a refusal with an error code of OAuth; the status is 400. */
export function oauthRefusal(error: OauthErrorCode, description: string): AppError {
  return new AppError('invalid_request', description, { metadata: { oauthError: error } });
}

/** Returns the same error for every refused grant, which must not show what would have made it valid. */
export function invalidGrant(): AppError {
  return oauthRefusal('invalid_grant', 'The subject token or the policy does not allow this exchange');
}

const UNAVAILABLE: ReadonlySet<ErrorCode> = new Set([
  'provider_unavailable',
  'provider_overloaded',
  'unavailable',
  'timeout',
]);

/** Returns the OAuth error for one of our errors. */
export function oauthMeaningOf(error: AppError): OauthMeaning {
  if (UNAVAILABLE.has(error.code)) return { error: 'temporarily_unavailable', status: 503 };
  if (error.status >= 500) return { error: 'server_error', status: 500 };
  if (error.code === 'authentication') return { error: 'invalid_client', status: 401 };
  const named = error.metadata?.oauthError as OauthErrorCode | undefined;
  return { error: named ?? 'invalid_request', status: error.status };
}
