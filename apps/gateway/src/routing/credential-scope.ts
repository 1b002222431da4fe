import type { Principal } from '@libs/contracts';
import type { CredentialScope } from '@libs/inference';

/** Whose provider keys may be used for a caller. The user of a call is the one for whom its key was made. */
export function credentialScopeOf({ organizationId, workspaceId, keyHash, creatorUserId }: Principal): CredentialScope {
  return {
    organizationId,
    workspaceId: workspaceId ?? undefined,
    apiKeyHash: keyHash,
    userId: creatorUserId ?? undefined,
  };
}
