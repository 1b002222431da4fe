import { Injectable, Logger } from '@nestjs/common';
import type { RewrapCredentialsRequest, RewrapCredentialsResponse } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import { EnvelopeCipher } from './envelope-cipher';
import { KeyWrapper } from '../key-services/key-wrapper';
import { SealedCredentialsRepository, type Rewrapping, type StoredSecret } from './sealed-credentials.repository';

/**
 * Rotates the key-encryption key, page by page, while credentials are read and written.
 *
 * A page is one statement that replaces the rows that have not changed since they were read. If the process dies
 * between pages, every row can still be decrypted with the key that it names, and the next run handles the rest.
 */
@Injectable()
export class RewrappingService {
  private readonly logger = new Logger(RewrappingService.name);

  constructor(
    private readonly repository: SealedCredentialsRepository,
    private readonly cipher: EnvelopeCipher,
    private readonly keys: KeyWrapper,
  ) {}

  async rewrapPage({ afterId = null, keyId, limit }: RewrapCredentialsRequest): Promise<RewrapCredentialsResponse> {
    const { currentKeyId } = this.keys;
    if (keyId && keyId !== currentKeyId) {
      throw new AppError(
        'conflict',
        'The credentials processes have different current keys; finish their roll-out first',
      );
    }
    const page = await this.repository.findWrappedOtherwise(currentKeyId, afterId, limit);
    const rewrappings: Rewrapping[] = [];
    const failedIds: string[] = [];
    for (const stored of page) {
      const rewrapping = await this.rewrap(stored);
      if (rewrapping === null) failedIds.push(stored.id);
      else rewrappings.push(rewrapping);
    }
    failpoint('data-keys-rewrapped');
    const rewrapped = await this.repository.rewrap(currentKeyId, rewrappings);
    const remaining = await this.repository.countWrappedOtherwise(currentKeyId);
    const lastId = page.length === limit ? (page.at(-1)?.id ?? null) : null;
    return { keyId: currentKeyId, rewrapped, failedIds, lastId, remaining };
  }

  private async rewrap(stored: StoredSecret): Promise<Rewrapping | null> {
    const { id, keyEncryptionKeyId, wrappedDataKey } = stored;
    try {
      const { wrapped } = await this.cipher.rewrap({ keyEncryptionKeyId, wrapped: wrappedDataKey }, stored);
      return { id, before: wrappedDataKey, after: wrapped };
    } catch (thrown) {
      this.logger.error(`Credential ${id} was not rewrapped: ${AppError.from(thrown).internal ?? 'unknown problem'}`);
      return null;
    }
  }
}
