import { AppError } from '@libs/errors';

/** The caller's error, by the constraint that refuses the row. */
const REFUSALS: Readonly<Record<string, () => AppError>> = {
  workspaces_slug_once: () => refused('slug', 'slug is used by another workspace'),
  workspaces_organization: () => new AppError('not_found', 'No such organization'),
  api_keys_organization: () => new AppError('not_found', 'No such organization'),
  authorization_codes_pkey: () => new AppError('conflict', 'This code is being created; try again'),
  identity_issuers_organization: () => new AppError('not_found', 'No such organization'),
  federation_policies_issuer: () => refused('issuer_id', 'issuer_id names no issuer of the organization'),
  federation_policies_bind_somebody: () => refused('subject', 'subject or condition is required'),
  api_keys_pkey: () => new AppError('conflict', 'This key was created before'),
  api_keys_management_spends_nothing: () =>
    refused('limit', 'A management key has no limit: limit and limit_reset must be null'),
};

/**
 * Returns the AppError for a violated constraint, or the error unchanged. PostgreSQL names the constraint, which
 * gives the field; its own message, which holds values, stays in the cause.
 */
export function refusalOf(error: unknown): unknown {
  const constraint = (error as { driverError?: { constraint?: unknown } } | null)?.driverError?.constraint;
  if (typeof constraint !== 'string' || !Object.hasOwn(REFUSALS, constraint)) return error;
  return REFUSALS[constraint]?.();
}

function refused(param: string, message: string): AppError {
  return new AppError('invalid_request', message, { metadata: { param } });
}
