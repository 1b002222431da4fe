import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { BatchOwner } from '@libs/persistence';
import type { KeyDirectory } from '@libs/platform';

const MAX_KNOWN = 10_000;

/**
 * The keys that batches were submitted with, as they stand now: whoever disables or deletes a key, or lets it
 * expire, stops its batches within a second, and a policy that was changed is in force for the next line.
 *
 * While the auth app does not answer, its last answer counts: nobody can change a key without it. Expiry needs no
 * answer.
 */
export class BatchKeys {
  /** In the order of their last answers, the oldest first. */
  private readonly known = new Map<string, Principal>();

  constructor(
    private readonly directory: Pick<KeyDirectory, 'find'>,
    private readonly wallNowMs: () => number = Date.now,
  ) {}

  /**
   * At once while the directory knows it, as it does for all but one line of thousands.
   *
   * @param owner as the row of the batch names it
   * @throws AppError authentication when the key may not be used any more, or not for this owner, and why the auth app
   *   could not be asked where it never answered for this key
   */
  principalOf(owner: BatchOwner): Principal | Promise<Principal> {
    const found = this.principalOfKey(owner.apiKeyHash);
    return found instanceof Promise ? found.then((principal) => checked(principal, owner)) : checked(found, owner);
  }

  private principalOfKey(keyHash: string): Principal | Promise<Principal> {
    let found: Principal | null | Promise<Principal | null>;
    try {
      found = this.directory.find(keyHash);
    } catch (error) {
      return this.lastAnswer(keyHash, error);
    }
    if (!(found instanceof Promise)) return this.remember(keyHash, found);
    return found.then(
      (principal) => this.remember(keyHash, principal),
      (error: unknown) => this.lastAnswer(keyHash, error),
    );
  }

  private lastAnswer(keyHash: string, error: unknown): Principal {
    const known = this.known.get(keyHash);
    if (known === undefined) throw error;
    const isExpired = known.expiresAt !== null && Date.parse(known.expiresAt) <= this.wallNowMs();
    return this.remember(keyHash, isExpired ? null : known);
  }

  private remember(keyHash: string, principal: Principal | null): Principal {
    if (principal !== null && this.known.get(keyHash) === principal) return principal;
    this.known.delete(keyHash);
    if (principal === null) throw new AppError('authentication', 'The API key of this batch can no longer be used');
    this.known.set(keyHash, principal);
    if (this.known.size > MAX_KNOWN) this.known.delete(this.known.keys().next().value!);
    return principal;
  }
}

/** What runs for a tenant is paid by a key of that tenant, whatever else is in the row. */
function checked(principal: Principal, { organizationId, workspaceId }: BatchOwner): Principal {
  if (principal.organizationId === organizationId && principal.workspaceId === workspaceId) return principal;
  throw new AppError('authentication', 'The API key of this batch can no longer be used', {
    internal: `a batch of workspace ${workspaceId} names a key of another`,
  });
}
