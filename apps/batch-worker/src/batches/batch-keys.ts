import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
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
   * @throws AppError authentication when the key may not be used any more, and why the auth app could not be asked
   *   where it never answered for this key
   */
  async principalOf(keyHash: string): Promise<Principal> {
    const principal = await this.ask(keyHash);
    this.known.delete(keyHash);
    if (principal === null) throw new AppError('authentication', 'The API key of this batch can no longer be used');
    this.known.set(keyHash, principal);
    if (this.known.size > MAX_KNOWN) this.known.delete(this.known.keys().next().value!);
    return principal;
  }

  private async ask(keyHash: string): Promise<Principal | null> {
    try {
      return await this.directory.find(keyHash);
    } catch (error) {
      const known = this.known.get(keyHash);
      if (known === undefined) throw error;
      return known.expiresAt === null || Date.parse(known.expiresAt) > this.wallNowMs() ? known : null;
    }
  }
}
