import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import {
  CredentialRecord,
  CredentialSettings,
  givenFields,
  recordOf,
  type CreateCredentialRequest,
  type CredentialDeleted,
  type CredentialError,
  type CredentialReference,
  type CredentialRegion,
  type ListCredentialsRequest,
  type ListCredentialsResponse,
  type UpdateCredentialRequest,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { CredentialEntity } from './credential.entity';
import { CredentialsRepository, type KeyAtRest, type KeyState } from './credentials.repository';
import { regionOfCredential, regionWithNewKey } from './declared-region';
import { EnvelopeCipher, type CredentialIdentity } from './envelope-cipher';
import { fittingRecords } from './fitting-records';
import { IntakeKeys } from './intake-keys';
import { readKeyMaterial, type KeyMaterial } from './key-material';
import { TenancyService } from './tenancy.service';

/** A received key: the facts that may be stored, and the sealed key itself. */
interface TakenKey extends KeyMaterial {
  readonly atRest: KeyAtRest;
}

/** Credentials as their owner manages them. */
@Injectable()
export class CredentialsService {
  private readonly logger = new Logger(CredentialsService.name);

  constructor(
    private readonly repository: CredentialsRepository,
    private readonly tenancy: TenancyService,
    private readonly intakeKeys: IntakeKeys,
    private readonly cipher: EnvelopeCipher,
  ) {}

  async create(request: CreateCredentialRequest): Promise<CredentialRecord> {
    const { provider, id = randomUUID() } = request;
    const organizationId = request.organizationId.toLowerCase();
    const earlier = request.id === undefined ? null : await this.repository.findCredential({ organizationId, id });
    if (earlier !== null) return toRecord(earlier);
    const { isFallback = false, ...settings } = givenFields(CredentialSettings, request);
    requireOneSection({ ...settings, isFallback });
    await this.requireOwnKeys(organizationId, request);
    const workspaceId = await this.tenancy.workspaceOf(organizationId, request.workspaceId ?? null);
    const identity = { id, organizationId, workspaceId, provider };
    const key = await this.take(request.sealedKey, identity);
    const declaredRegion = regionOfCredential(provider, key.region, request.declaredRegion ?? null);
    const credential = { ...settings, isFallback, ...identity, ...changesOfKey(key), declaredRegion };
    const created = await this.repository.insertCredential(credential);
    this.note('created', created);
    return toRecord(created);
  }

  async list(request: ListCredentialsRequest): Promise<ListCredentialsResponse> {
    const { organizationId, provider = null, offset, limit } = request;
    const workspaceId = request.workspaceId ?? (await this.tenancy.workspaceOf(organizationId, null));
    const page = await this.repository.findCredentials({ organizationId, workspaceId, provider, offset, limit });
    return { credentials: fittingRecords(page.credentials.map(toRecord)), totalCount: page.totalCount };
  }

  async get(reference: CredentialReference): Promise<CredentialRecord> {
    return toRecord(await this.repository.getCredential(reference));
  }

  async update(request: UpdateCredentialRequest): Promise<CredentialRecord> {
    const { organizationId, id, sealedKey, declaredRegion } = request;
    const identity = await this.repository.getCredential({ organizationId, id });
    await this.requireOwnKeys(identity.organizationId, request);
    const key = sealedKey === undefined ? null : await this.take(sealedKey, identity);
    const updated = await this.repository.updateCredential({ organizationId, id }, (current) => {
      const settings = givenFields(CredentialSettings, request);
      const changes = { ...settings, ...(key !== null && { ...changesOfKey(key), ...nextKey(current) }) };
      requireOneSection({ ...current, ...changes });
      return { ...changes, declaredRegion: regionAfter(current, key, declaredRegion) };
    });
    this.note(key === null ? 'changed' : 'changed, with its key', updated);
    return toRecord(updated);
  }

  async delete(reference: CredentialReference): Promise<CredentialDeleted> {
    await this.repository.deleteCredential(reference);
    this.logger.log(`Credential ${reference.id} of organization ${reference.organizationId} was deleted`);
    return { deleted: true };
  }

  private async take(sealedKey: string, identity: CredentialIdentity): Promise<TakenKey> {
    const key = await this.intakeKeys.open(sealedKey, identity.organizationId);
    const material = readKeyMaterial(identity.provider, key);
    const sealed = await this.cipher.seal(key, identity);
    const { keyEncryptionKeyId, wrapped: wrappedDataKey } = sealed.dataKey;
    return { ...material, atRest: { keyEncryptionKeyId, wrappedDataKey, sealedKey: sealed.sealedKey } };
  }

  private async requireOwnKeys(organizationId: string, { allowedApiKeyHashes }: CredentialSettings): Promise<void> {
    if (allowedApiKeyHashes) await this.tenancy.requireOwnKeys(organizationId, allowedApiKeyHashes);
  }

  private note(what: string, { id, organizationId, provider }: CredentialEntity): void {
    this.logger.log(`Credential ${id} of organization ${organizationId} for ${provider} was ${what}`);
  }
}

function requireOneSection({ isByokOnly, isFallback }: CredentialSettings): void {
  if (!isByokOnly || !isFallback) return;
  throw new AppError('invalid_request', 'is_fallback and is_byok_only exclude each other', {
    metadata: { param: 'is_byok_only' },
  });
}

function changesOfKey({ label, region, atRest }: TakenKey): Pick<CredentialEntity, 'label' | 'keyRegion'> & KeyAtRest {
  return { label, keyRegion: region, ...atRest };
}

/** A new key has no refusals yet. */
function nextKey({ keyVersion }: CredentialEntity): KeyState {
  return { keyVersion: keyVersion + 1, refusals: 0, lastErrorStatus: null, lastErrorAt: null, skippedUntil: null };
}

function lastErrorOf({ lastErrorStatus, lastErrorAt, skippedUntil }: CredentialEntity): CredentialError | null {
  if (lastErrorStatus === null || lastErrorAt === null || skippedUntil === null) return null;
  return { status: lastErrorStatus, at: lastErrorAt.toISOString(), skippedUntil: skippedUntil.toISOString() };
}

function regionAfter(
  { provider, keyRegion, declaredRegion }: CredentialEntity,
  key: TakenKey | null,
  wanted: CredentialRegion | null | undefined,
): CredentialRegion | null {
  if (wanted !== undefined) return regionOfCredential(provider, key === null ? keyRegion : key.region, wanted);
  return key === null ? declaredRegion : regionWithNewKey(provider, key.region, declaredRegion);
}

function toRecord(credential: CredentialEntity): CredentialRecord {
  return recordOf(CredentialRecord, { ...credential, lastError: lastErrorOf(credential) });
}
