import type { Principal } from '@libs/contracts';
import type { AuthenticatedRequest } from './authenticated-request';
import { sourceOf } from './source-address';
import type { Claimant } from './request-claim';

/**
 * Returns to whom the request is charged in the pools: the workspace of its key, or its source address if it has no
 * key.
 */
export function claimantOf(request: AuthenticatedRequest): Claimant {
  const { principal } = request;
  if (principal === undefined) return { isPublic: true, holders: [sourceOf(request.ip), 'public'] };
  return { isPublic: false, holders: holdersOf(principal) };
}

/** Returns the names that a caller's places and memory count for: its workspace, then its organization. */
export function holdersOf({ workspaceId, organizationId }: Principal): readonly string[] {
  return [workspaceId ?? organizationId, organizationId];
}
