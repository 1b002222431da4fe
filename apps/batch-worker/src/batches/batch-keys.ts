import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { BatchOwner } from '@libs/persistence';
import type { KeyDirectory } from '@libs/platform';

/**
 * The current state of the keys with which batches were submitted: a key that is disabled, deleted or expired stops its
 * batches within a second, and a changed policy applies to the next line.
 *
 * While the auth app is unavailable, lines use the last known state for as long as the directory allows, and then wait.
 * The time is limited because possibly only this worker is cut off from the auth app.
 */
export class BatchKeys {
  constructor(private readonly directory: Pick<KeyDirectory, 'findRecord'>) {}

  /**
   * Returns the key's principal; without waiting if the directory knows it, which is true for all but one of thousands
   * of lines.
   * @param owner as in the row of the batch
   * @throws AppError authentication if the key may no longer be used, or not for this owner; unavailable while that is
   * unknown
   */
  principalOf(owner: BatchOwner): Principal | Promise<Principal> {
    const found = this.directory.findRecord(owner.apiKeyHash);
    return found instanceof Promise ? found.then((principal) => checked(principal, owner)) : checked(found, owner);
  }
}

/** Requires a principal of the batch's own tenant, so that no tenant pays for another. */
function checked(principal: Principal | null, { organizationId, workspaceId }: BatchOwner): Principal {
  if (principal === null) {
    throw new AppError('authentication', 'The API key of this batch is disabled, deleted or expired');
  }
  if (principal.organizationId === organizationId && principal.workspaceId === workspaceId) return principal;
  throw new AppError('authentication', 'The API key of this batch can no longer be used', {
    internal: `a batch of workspace ${workspaceId} names a key of another`,
  });
}
