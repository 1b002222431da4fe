import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';

/** Returns the id of the caller's workspace. @throws AppError permission_denied for a key without one */
export function requireWorkspace({ workspaceId }: Pick<Principal, 'workspaceId'>): string {
  if (workspaceId !== null) return workspaceId;
  throw new AppError('permission_denied', 'This key belongs to no workspace: use an API key of a workspace');
}
