import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  givenFields,
  KeyChanges,
  KeyRecord,
  NewKeySettings,
  recordOf,
  type CreateKeyRequest,
  type KeyDeleted,
  type KeyReference,
  type ListKeysRequest,
  type ListKeysResponse,
  type OwnedPolicy,
  type Principal,
  type RotateKeyRequest,
  type UpdateKeyRequest,
  type VerifyKeyRequest,
  type VerifyKeyResponse,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { ApiKeyEntity } from '../accounts/api-key.entity';
import { shortDecimal } from '../short-decimal';
import { KeysRepository, type NewKey, type UsableKey } from './keys.repository';

@Injectable()
export class KeysService {
  constructor(private readonly repository: KeysRepository) {}

  async verify(keyHash: string, by?: VerifyKeyRequest['by']): Promise<VerifyKeyResponse> {
    const key = await this.repository.findUsableKey(keyHash, by);
    if (!key) return { principal: null };
    return {
      principal: {
        keyHash: key.hash,
        keyId: key.id,
        kind: key.kind,
        organizationId: key.organizationId,
        workspaceId: key.workspaceId,
        name: key.name,
        limitUsd: shortDecimal(key.limitUsd),
        limitReset: key.limitReset,
        includeByokInLimit: key.includeByokInLimit,
        expiresAt: key.expiresAt?.toISOString() ?? null,
        creatorUserId: key.creatorUserId,
        ...policiesOf(key),
        ...termsOf(key),
        ...(key.defaultCallbackUrl !== null && { defaultCallbackUrl: key.defaultCallbackUrl }),
      },
    };
  }

  async create(request: CreateKeyRequest): Promise<KeyRecord> {
    const key = toNewKey(request);
    if (key.expiresAt && key.expiresAt.getTime() <= Date.now()) {
      throw new AppError('invalid_request', 'expires_at must be in the future', { metadata: { param: 'expires_at' } });
    }
    if (key.kind === 'management' && key.workspaceId !== null) {
      throw new AppError('invalid_request', 'A management key belongs to no workspace');
    }
    if (key.kind === 'management' && key.policy) {
      throw new AppError('invalid_request', 'A management key runs no inference, so it has no policy');
    }
    return toRecord(await this.repository.insertKey(key));
  }

  async list(request: ListKeysRequest): Promise<ListKeysResponse> {
    const { keys, totalCount } = await this.repository.findKeys(request);
    return { keys: keys.map(toRecord), totalCount };
  }

  async get(reference: KeyReference): Promise<KeyRecord> {
    return toRecord(await this.repository.getKey(reference));
  }

  async update(request: UpdateKeyRequest): Promise<KeyRecord> {
    return toRecord(await this.repository.updateKey(request, givenFields(KeyChanges, request)));
  }

  async delete(reference: KeyReference): Promise<KeyDeleted> {
    await this.repository.deleteKey(reference);
    return { deleted: true };
  }

  async rotate(request: RotateKeyRequest): Promise<KeyRecord> {
    const { secretHash, label, overlapSeconds, rotationId = null } = request;
    return toRecord(await this.repository.rotateKey(request, { secretHash, label, rotationId }, overlapSeconds));
  }

  async endRotation(reference: KeyReference): Promise<KeyRecord> {
    return toRecord(await this.repository.endRotation(reference));
  }
}

/** Returns the workspace's settings and budgets; nothing for the many workspaces that have none. */
function termsOf({ settings, budgets, includeByokInBudgets }: UsableKey): Pick<Principal, 'settings' | 'budgets'> {
  return {
    ...(settings !== null && { settings }),
    ...(budgets !== null && {
      budgets: budgets.map(({ amountUsd, interval }) => ({
        amountUsd,
        reset: interval === 'lifetime' ? null : interval,
        includesByok: includeByokInBudgets === true,
      })),
    }),
  };
}

/** Returns the policies of the key and its workspace; nothing for the many keys that have none. */
function policiesOf({ policy, workspacePolicy }: UsableKey): Pick<Principal, 'policies'> {
  const policies: OwnedPolicy[] = [
    ...(workspacePolicy === null ? [] : [{ owner: 'workspace', policy: workspacePolicy } as const]),
    ...(policy === null ? [] : [{ owner: 'key', policy } as const]),
  ];
  return policies.length > 0 ? { policies } : {};
}

/** Copies the fields that requests declare: no other field reaches the table. */
function toNewKey(request: CreateKeyRequest): NewKey {
  const { organizationId, workspaceId = null, kind, hash, label } = request;
  const { expiresAt, ...settings } = givenFields(NewKeySettings, request);
  const key = { id: randomUUID(), organizationId, workspaceId, kind, hash, label, ...settings };
  return { ...key, expiresAt: expiresAt ? new Date(expiresAt) : null };
}

function toRecord(key: ApiKeyEntity): KeyRecord {
  return recordOf(KeyRecord, { ...key, limitUsd: shortDecimal(key.limitUsd), previousSecretUntil: overlapOf(key) });
}

/** Returns when the previous secret ends; null once it has ended, though the row keeps it until the next rotation. */
function overlapOf({ previousSecretUntil }: ApiKeyEntity): Date | null {
  return previousSecretUntil !== null && previousSecretUntil.getTime() > Date.now() ? previousSecretUntil : null;
}
