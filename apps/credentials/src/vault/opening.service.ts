import { Injectable } from '@nestjs/common';
import {
  openingPurpose,
  type FindOwnCredentialsRequest,
  type FindOwnCredentialsResponse,
  type OpenCredentialRequest,
  type OpenedCredential,
  type PartyName,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { counter, seal } from '@libs/platform';
import { EnvelopeCipher } from './envelope-cipher';
import { fittingRecords } from './fitting-records';
import { OpenJobsRepository } from './open-jobs.repository';
import { SealedCredentialsRepository, type StoredKey, type UsableKey } from './sealed-credentials.repository';
import type { SealedKey } from './envelope-cipher';

const PAGE = 100;

const openings = counter({
  name: 'sluice_credentials_opened_total',
  help: 'Questions for the key of a credential, by their answer',
  labelNames: ['outcome'],
});

/** Returns credentials to the apps that route and call with them. */
@Injectable()
export class OpeningService {
  constructor(
    private readonly repository: SealedCredentialsRepository,
    private readonly cipher: EnvelopeCipher,
    private readonly jobs: OpenJobsRepository,
  ) {}

  async findOwn({
    organizationId,
    workspaceId,
    offset,
  }: FindOwnCredentialsRequest): Promise<FindOwnCredentialsResponse> {
    const { credentials, totalCount } = await this.repository.findOwn(organizationId, workspaceId, offset, PAGE);
    return { credentials: fittingRecords(credentials), totalCount };
  }

  /** Decrypts the key and immediately seals it for the requesting process. */
  async open(request: OpenCredentialRequest, asker: PartyName): Promise<OpenedCredential> {
    const { organizationId, workspaceId, id, recipient } = request;
    const [stored, hasWork] = await Promise.all([
      this.repository.findUsable(organizationId, workspaceId, id),
      this.hasWork(asker, request),
    ]);
    if (stored === null || !hasWork || !isFor(stored, request.apiKeyHash)) {
      openings.inc({ outcome: 'refused' });
      throw new AppError('not_found', 'No such credential');
    }
    try {
      const key = await this.cipher.open(sealedKeyOf(stored), stored);
      const sealedKey = await seal(key, { publicKey: recipient }, openingPurpose(stored.id));
      openings.inc({ outcome: 'opened' });
      return { sealedKey, keyVersion: stored.keyVersion, ...(stored.wasRefused && { wasRefused: true }) };
    } catch (thrown) {
      openings.inc({ outcome: 'failed' });
      throw thrown;
    }
  }

  /**
   * Returns whether the requester has work that needs the key. The gateway is trusted without a check: it needs
   * whatever its callers ask for, and commits the row of a call in a group, often after it requested the key.
   */
  private async hasWork(asker: PartyName, { apiKeyHash = null, ...request }: OpenCredentialRequest): Promise<boolean> {
    if (asker === 'gateway') return true;
    if (asker === 'batch-worker') return this.jobs.hasBatch({ ...request, apiKeyHash });
    return asker === 'video-worker' && this.jobs.hasVideo({ ...request, apiKeyHash });
  }
}

function isFor({ allowedApiKeyHashes }: UsableKey, apiKeyHash: string | null | undefined): boolean {
  return allowedApiKeyHashes === null || allowedApiKeyHashes.includes(apiKeyHash ?? '');
}

function sealedKeyOf({ keyEncryptionKeyId, wrappedDataKey, sealedKey }: StoredKey): SealedKey {
  return { dataKey: { keyEncryptionKeyId, wrapped: wrappedDataKey }, sealedKey };
}
