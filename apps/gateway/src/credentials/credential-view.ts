import {
  CredentialSettings,
  toHttp,
  type CredentialDto,
  type CredentialError,
  type CredentialRecord,
} from '@libs/contracts';

/** Returns a credential in the form of the API. */
export function credentialView(
  credential: CredentialRecord,
  lastUsedAt: Date | null,
  warnings: readonly string[],
): CredentialDto {
  return {
    id: credential.id,
    ...toHttp(CredentialSettings, credential),
    label: credential.label,
    provider: credential.provider,
    workspace_id: credential.workspaceId,
    created_at: credential.createdAt,
    sort_order: credential.sortOrder,
    last_used_at: lastUsedAt?.toISOString() ?? null,
    last_error: errorView(credential.lastError ?? null),
    warnings,
  };
}

function errorView(error: CredentialError | null): CredentialDto['last_error'] {
  return error && { kind: 'refused', status: error.status, at: error.at, skipped_until: error.skippedUntil };
}
