import type {
  CredentialDto,
  CredentialError,
  CredentialRecord,
  CredentialSettings,
  CredentialSettingsDto,
} from '@libs/contracts';

/** A credential in the shape of interface §2.5. */
export function credentialView(
  credential: CredentialRecord,
  lastUsedAt: Date | null,
  warnings: readonly string[],
): CredentialDto {
  return {
    id: credential.id,
    name: credential.name,
    label: credential.label,
    provider: credential.provider,
    workspace_id: credential.workspaceId,
    created_at: credential.createdAt,
    disabled: credential.disabled,
    is_byok_only: credential.isByokOnly,
    is_fallback: credential.isFallback,
    is_required: credential.isRequired,
    allowed_api_key_hashes: credential.allowedApiKeyHashes,
    allowed_models: credential.allowedModels,
    allowed_user_ids: credential.allowedUserIds,
    declared_region: credential.declaredRegion,
    declared_zdr: credential.declaredZdr,
    sort_order: credential.sortOrder,
    last_used_at: lastUsedAt?.toISOString() ?? null,
    last_error: errorView(credential.lastError ?? null),
    warnings,
  };
}

function errorView(error: CredentialError | null): CredentialDto['last_error'] {
  return error && { kind: 'refused', status: error.status, at: error.at, skipped_until: error.skippedUntil };
}

/** Member by member: what else a body may hold does not go on. */
export function settingsOf(body: CredentialSettingsDto): CredentialSettings {
  return {
    name: body.name,
    allowedApiKeyHashes: body.allowed_api_key_hashes,
    allowedModels: body.allowed_models,
    allowedUserIds: body.allowed_user_ids,
    declaredRegion: body.declared_region,
    declaredZdr: body.declared_zdr,
    disabled: body.disabled,
    isByokOnly: body.is_byok_only,
    isFallback: body.is_fallback,
    isRequired: body.is_required,
  };
}
