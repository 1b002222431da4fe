import type { Principal, WorkspaceReference } from '@libs/contracts';
import { AppError } from '@libs/errors';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Text that is not a UUID names no workspace: it gets the answer for an unknown id. */
export function ownWorkspace(caller: Principal, id: string): WorkspaceReference {
  if (!UUID.test(id)) throw new AppError('not_found', 'No such workspace');
  return { organizationId: caller.organizationId, id };
}
