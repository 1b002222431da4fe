import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { BatchOwner } from '@libs/persistence';
import type { KeyDirectory } from '@libs/platform';

/**
 * The keys that batches were submitted with, as they stand now: whoever disables or deletes a key, or lets it
 * expire, stops its batches within a second, and a policy that was changed is in force for the next line.
 *
 * While the auth app cannot be asked, lines go on with what the directory knew for as long as it allows, and wait
 * after that. A worker may be cut off from an auth app that others still reach, so there has to be an end to it.
 */
export class BatchKeys {
  constructor(private readonly directory: Pick<KeyDirectory, 'findRecord'>) {}

  /**
   * At once while the directory knows it, as it does for all but one line of thousands.
   *
   * @param owner as the row of the batch names it
   * @throws AppError authentication when the key may not be used any more, or not for this owner; unavailable while
   *   that cannot be known
   */
  principalOf(owner: BatchOwner): Principal | Promise<Principal> {
    const found = this.directory.findRecord(owner.apiKeyHash);
    return found instanceof Promise ? found.then((principal) => checked(principal, owner)) : checked(found, owner);
  }
}

/** What runs for a tenant is paid by a key of that tenant, whatever else is in the row. */
function checked(principal: Principal | null, { organizationId, workspaceId }: BatchOwner): Principal {
  if (principal === null) throw new AppError('authentication', 'The API key of this batch can no longer be used');
  if (principal.organizationId === organizationId && principal.workspaceId === workspaceId) return principal;
  throw new AppError('authentication', 'The API key of this batch can no longer be used', {
    internal: `a batch of workspace ${workspaceId} names a key of another`,
  });
}
