import type { Principal } from '@libs/contracts';
import type { CredentialScope } from '@libs/inference';

/** Returns the scope of a caller's provider keys. The user of a call is the one for whom its key was created. */
export function credentialScopeOf({ organizationId, workspaceId, keyHash, creatorUserId }: Principal): CredentialScope {
  return {
    organizationId,
    workspaceId: workspaceId ?? undefined,
    apiKeyHash: keyHash,
    userId: creatorUserId ?? undefined,
  };
}
