import { Injectable } from '@nestjs/common';
import type {
  BudgetInterval,
  CreateKeyRequest,
  KeyChanges,
  KeyReference,
  ListKeysRequest,
  RoutingPolicy,
  VerifyKeyRequest,
  WorkspaceSettings,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { Database, outcomeOfRow } from '@libs/persistence';
import { In, IsNull, type EntityManager, type FindOptionsWhere } from 'typeorm';
import { refusalOf } from '../constraint-errors';
import { WorkspaceEntity } from '../accounts/workspace.entity';
import { ApiKeyEntity } from '../accounts/api-key.entity';

/** The workspace is null for a management key, and for the default workspace of an API key. */
export type NewKey = Omit<CreateKeyRequest, 'workspaceId' | 'expiresAt'> &
  Pick<ApiKeyEntity, 'id' | 'workspaceId' | 'expiresAt'>;

export type UsableKey = Pick<
  ApiKeyEntity,
  | 'hash'
  | 'id'
  | 'kind'
  | 'organizationId'
  | 'workspaceId'
  | 'name'
  | 'limitUsd'
  | 'limitReset'
  | 'includeByokInLimit'
  | 'expiresAt'
  | 'creatorUserId'
  | 'policy'
> & {
  readonly workspacePolicy: RoutingPolicy | null;
  readonly defaultCallbackUrl: string | null;
  /** Settings of the workspace; null if none are made. */
  readonly settings: WorkspaceSettings | null;
  /** Budgets of the workspace; null if it has none. */
  readonly budgets: readonly { readonly amountUsd: string; readonly interval: BudgetInterval }[] | null;
  readonly includeByokInBudgets: boolean | null;
};

/** Every method but `findUsableKey` asks for the organization: a foreign key is as unknown as no key. */
@Injectable()
export class KeysRepository {
  constructor(private readonly database: Database) {}

  /** One statement in every case, evaluated by the database's clock. */
  async findUsableKey(hash: string, by: VerifyKeyRequest['by'] = 'secret'): Promise<UsableKey | null> {
    const { condition, expiresAt } = LOOKUPS[by];
    return this.database.firstRow<UsableKey>({
      name: `find-usable-key-by-${by}`,
      sql: `
        SELECT k.hash, k.id, k.kind, k.organization_id AS "organizationId", k.workspace_id AS "workspaceId", k.name,
               k.limit_usd AS "limitUsd", k.limit_reset AS "limitReset",
               k.include_byok_in_limit AS "includeByokInLimit", ${expiresAt} AS "expiresAt",
               k.creator_user_id AS "creatorUserId", k.policy, w.policy AS "workspacePolicy",
               w.default_callback_url AS "defaultCallbackUrl", nullif(w.settings, '{}') AS settings,
               w.include_byok_in_budgets AS "includeByokInBudgets",
               (SELECT json_agg(json_build_object('amountUsd', trim_scale(b.limit_usd)::text, 'interval', b.interval)
                                ORDER BY b.interval)
                FROM workspace_budgets b WHERE b.workspace_id = w.id) AS budgets
        FROM api_keys k LEFT JOIN workspaces w ON w.id = k.workspace_id
        WHERE ${condition} AND k.deleted_at IS NULL AND NOT k.disabled AND w.deleted_at IS NULL
          AND (k.expires_at IS NULL OR k.expires_at > now())`,
      values: [hash],
    });
  }

  async insertKey(key: NewKey): Promise<ApiKeyEntity> {
    return this.database
      .asOrganization(key)
      .entities((manager) => this.insertKeyWithin(manager, key), outcomeOfRow('api_keys', 'hash', key.hash))
      .catch((error: unknown) => {
        throw refusalOf(error);
      });
  }

  /** The workspace is locked while the key enters it, so that it cannot be deleted in between. */
  async insertKeyWithin(manager: EntityManager, key: NewKey): Promise<ApiKeyEntity> {
    const workspaceId = key.kind === 'management' ? null : await this.lockWorkspace(manager, key);
    await manager.insert(ApiKeyEntity, { ...key, workspaceId });
    return manager.findOneByOrFail(ApiKeyEntity, { hash: key.hash });
  }

  async getKey(reference: KeyReference): Promise<ApiKeyEntity> {
    return this.database.asOrganization(reference).entities((manager) => getKeyWithin(manager, reference));
  }

  /** Whether a key, disabled or not, is an API key of the organization. */
  async isApiKeyOf(organizationId: string, hash: string): Promise<boolean> {
    const reference = { organizationId, hash, kind: 'api' } as const;
    return this.database
      .asOrganization(reference)
      .entities((manager) => manager.existsBy(ApiKeyEntity, livingKey(reference)));
  }

  async findKeys(request: ListKeysRequest): Promise<{ keys: ApiKeyEntity[]; totalCount: number }> {
    const where: FindOptionsWhere<ApiKeyEntity> = { organizationId: request.organizationId, deletedAt: IsNull() };
    if (request.workspaceId) where.workspaceId = request.workspaceId;
    if (request.kind) where.kind = request.kind;
    if (request.hashes) where.hash = In(request.hashes);
    if (!request.includeDisabled) where.disabled = false;
    const { offset: skip, limit: take } = request;
    const order = { createdAt: 'DESC', hash: 'ASC' } as const;
    const [keys, totalCount] = await this.database
      .asOrganization(request)
      .entities((manager) => manager.findAndCount(ApiKeyEntity, { where, order, skip, take }));
    return { keys, totalCount };
  }

  async updateKey(reference: KeyReference, changes: KeyChanges): Promise<ApiKeyEntity> {
    return this.database.asOrganization(reference).entities(async (manager) => {
      const updated = await manager
        .update(ApiKeyEntity, livingKey(reference), { ...changes, updatedAt: () => 'now()' })
        .catch((error: unknown) => {
          throw refusalOf(error);
        });
      if (updated.affected !== 1) throw noSuchKey();
      return getKeyWithin(manager, reference);
    });
  }

  async deleteKey(reference: KeyReference): Promise<void> {
    const deleted = await this.database
      .asOrganization(reference)
      .entities((manager) => manager.update(ApiKeyEntity, livingKey(reference), { deletedAt: () => 'now()' }));
    if (deleted.affected !== 1) throw noSuchKey();
  }

  /**
   * Gives the key a new secret. At most two secrets work: this one and, during the overlap, the previous one.
   *
   * Concurrent rotations are safe: each locks the row before it reads the current secret. A retry with the id of the
   * last rotation replaces the secret of that rotation, whose response the caller did not get, and keeps the previous
   * secret. If the answer to the commit is lost, looks up whether the secret is there: a caller who rotated once more
   * would end the secret that is in use.
   */
  async rotateKey(
    reference: KeyReference,
    secret: Pick<ApiKeyEntity, 'label' | 'rotationId'> & { readonly secretHash: string },
    overlapSeconds: number,
  ): Promise<ApiKeyEntity> {
    return this.database.asOrganization(reference).entities(
      async (manager) => {
        const key = await lockKeyWithin(manager, reference);
        const isRepeated = secret.rotationId !== null && key.rotationId === secret.rotationId;
        const previous = {
          previousSecretHash: overlapSeconds === 0 ? null : (key.secretHash ?? key.hash),
          previousSecretUntil: overlapSeconds === 0 ? null : () => `now() + interval '${overlapSeconds} seconds'`,
        };
        const changes = { ...secret, ...(!isRepeated && previous), updatedAt: () => 'now()' };
        await manager.update(ApiKeyEntity, { hash: key.hash }, changes);
        return getKeyWithin(manager, reference);
      },
      outcomeOfRow('api_keys', 'secret_hash', secret.secretHash),
    );
  }

  async endRotation(reference: KeyReference): Promise<ApiKeyEntity> {
    return this.database.asOrganization(reference).entities(async (manager) => {
      const key = await lockKeyWithin(manager, reference);
      if (key.previousSecretHash === null) return key;
      const none = { previousSecretHash: null, previousSecretUntil: null };
      await manager.update(ApiKeyEntity, { hash: key.hash }, { ...none, updatedAt: () => 'now()' });
      return getKeyWithin(manager, reference);
    });
  }

  /** Returns the named workspace or the default one, locked against deletion until the transaction ends. */
  async lockWorkspace(
    manager: EntityManager,
    key: { readonly organizationId: string; readonly workspaceId: string | null },
  ): Promise<string> {
    const workspace = await manager.findOne(WorkspaceEntity, {
      where: {
        organizationId: key.organizationId,
        deletedAt: IsNull(),
        ...(key.workspaceId === null ? { isDefault: true } : { id: key.workspaceId }),
      },
      lock: { mode: 'pessimistic_read' },
    });
    if (!workspace) {
      throw new AppError('invalid_request', 'workspace_id names no workspace of the organization', {
        metadata: { param: 'workspace_id' },
      });
    }
    return workspace.id;
  }
}

/** SQL to look a key up, and its expiry for that lookup. After a rotation the old secret has a separate expiry. */
const LOOKUPS = {
  secret: {
    condition: `((k.hash = $1 AND k.secret_hash IS NULL) OR k.secret_hash = $1
                 OR (k.previous_secret_hash = $1 AND k.previous_secret_until > now()))`,
    expiresAt: 'least(k.expires_at, CASE WHEN k.previous_secret_hash = $1 THEN k.previous_secret_until END)',
  },
  record: { condition: 'k.hash = $1', expiresAt: 'k.expires_at' },
} as const;

async function lockKeyWithin(manager: EntityManager, reference: KeyReference): Promise<ApiKeyEntity> {
  const lock = { mode: 'pessimistic_write' } as const;
  const key = await manager.findOne(ApiKeyEntity, { where: livingKey(reference), lock });
  if (!key) throw noSuchKey();
  return key;
}

async function getKeyWithin(manager: EntityManager, reference: KeyReference): Promise<ApiKeyEntity> {
  const key = await manager.findOneBy(ApiKeyEntity, livingKey(reference));
  if (!key) throw noSuchKey();
  return key;
}

function livingKey(reference: KeyReference): FindOptionsWhere<ApiKeyEntity> {
  return {
    hash: reference.hash,
    organizationId: reference.organizationId,
    deletedAt: IsNull(),
    ...(reference.kind && { kind: reference.kind }),
  };
}

function noSuchKey(): AppError {
  return new AppError('not_found', 'No such key');
}
