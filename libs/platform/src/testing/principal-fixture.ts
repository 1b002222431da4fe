import type { Principal } from '@libs/contracts';

/** An API key without a limit that belongs to workspace `workspace` of organization `organization`. */
export function aPrincipal(overrides: Partial<Principal> = {}): Principal {
  return {
    keyHash: 'hash',
    keyId: 'id',
    kind: 'api',
    organizationId: 'organization',
    workspaceId: 'workspace',
    name: 'key',
    limitUsd: null,
    limitReset: null,
    includeByokInLimit: false,
    expiresAt: null,
    ...overrides,
  };
}
