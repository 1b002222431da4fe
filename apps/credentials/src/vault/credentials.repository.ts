import { Injectable } from '@nestjs/common';
import type { CredentialReference, CredentialSettings } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import { Database, outcomeOfRow } from '@libs/persistence';
import { IsNull, type EntityManager, type FindOptionsWhere } from 'typeorm';
import { CredentialEntity } from './credential.entity';

export type NewCredential = CredentialSettings &
  KeyAtRest &
  Section &
  Pick<CredentialEntity, 'id' | 'organizationId' | 'label' | 'keyRegion'>;

/** The three columns that hold a key. */
export interface KeyAtRest {
  readonly keyEncryptionKeyId: string;
  readonly wrappedDataKey: Buffer;
  readonly sealedKey: string;
}

/** The number of the current key, and its refusals, which are reset with every new key. */
export type KeyState = Pick<
  CredentialEntity,
  'keyVersion' | 'refusals' | 'lastErrorStatus' | 'lastErrorAt' | 'skippedUntil'
>;

/** Members left out stay as they are. */
export type CredentialChanges = CredentialSettings &
  Partial<Pick<CredentialEntity, 'label' | 'keyRegion'> & KeyAtRest & KeyState>;

export interface CredentialQuery {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly provider: string | null;
  readonly offset: number;
  readonly limit: number;
}

export interface CredentialPage {
  readonly credentials: CredentialEntity[];
  readonly totalCount: number;
}

/** Limited, because each request reads the credentials of its workspace. */
export const MAX_CREDENTIALS_OF_WORKSPACE = 200;

/** Every method asks for the organization: a foreign credential is as unknown as no credential. */
@Injectable()
export class CredentialsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Inserts the credential at the end of its section.
   * @throws AppError invalid_request if the workspace already has the maximum
   */
  async insertCredential(credential: NewCredential): Promise<CredentialEntity> {
    return this.database.asTenant(credential).entities(
      async (manager) => {
        await takeTurn(manager, credential.workspaceId);
        const { workspaceId } = credential;
        const living = await manager.countBy(CredentialEntity, { workspaceId, deletedAt: IsNull() });
        if (living >= MAX_CREDENTIALS_OF_WORKSPACE) {
          throw new AppError('invalid_request', `A workspace has at most ${MAX_CREDENTIALS_OF_WORKSPACE} credentials`);
        }
        const sortOrder = await nextSortOrder(manager, credential);
        await manager.insert(CredentialEntity, { ...credential, sortOrder });
        return manager.findOneByOrFail(CredentialEntity, { id: credential.id });
      },
      outcomeOfRow('credentials', 'id', credential.id),
    );
  }

  async findCredentials({ offset, limit, ...wanted }: CredentialQuery): Promise<CredentialPage> {
    const { organizationId, workspaceId, provider } = wanted;
    const [credentials, totalCount] = await this.database.asTenant(wanted).entities((manager) =>
      manager.findAndCount(CredentialEntity, {
        where: { organizationId, workspaceId, deletedAt: IsNull(), ...(provider !== null && { provider }) },
        order: { provider: 'ASC', isFallback: 'ASC', sortOrder: 'ASC' },
        skip: offset,
        take: limit,
      }),
    );
    return { credentials, totalCount };
  }

  async findCredential(reference: CredentialReference): Promise<CredentialEntity | null> {
    return this.database
      .asOrganization(reference)
      .entities((manager) => manager.findOneBy(CredentialEntity, living(reference)));
  }

  async getCredential(reference: CredentialReference): Promise<CredentialEntity> {
    const credential = await this.findCredential(reference);
    if (!credential) throw noSuchCredential();
    return credential;
  }

  /**
   * Changes a credential, computing the change from its locked row. A credential that moves to the other section
   * becomes the last one there.
   */
  async updateCredential(
    reference: CredentialReference,
    change: (current: CredentialEntity) => CredentialChanges,
  ): Promise<CredentialEntity> {
    return this.database.asOrganization(reference).entities(async (manager) => {
      const lock = { mode: 'pessimistic_write' } as const;
      const current = await manager.findOne(CredentialEntity, { where: living(reference), lock });
      if (!current) throw noSuchCredential();
      const changes = change(current);
      const { isFallback = current.isFallback } = changes;
      let { sortOrder } = current;
      if (isFallback !== current.isFallback) {
        await takeTurn(manager, current.workspaceId);
        sortOrder = await nextSortOrder(manager, { ...current, isFallback });
      }
      const { id } = current;
      await manager.update(CredentialEntity, { id }, { ...changes, sortOrder, updatedAt: () => 'now()' });
      return manager.findOneByOrFail(CredentialEntity, { id });
    });
  }

  /** Deletes the key and keeps the row. */
  async deleteCredential(reference: CredentialReference): Promise<void> {
    const deleted = await this.database.asOrganization(reference).entities(async (manager) => {
      const erased = await manager.update(CredentialEntity, living(reference), {
        deletedAt: () => 'now()',
        keyEncryptionKeyId: null,
        wrappedDataKey: null,
        sealedKey: null,
      });
      failpoint('credential-erased');
      return erased;
    });
    if (deleted.affected !== 1) throw noSuchCredential();
  }
}

/** Locks the order of a workspace's credentials until the transaction ends. */
async function takeTurn(manager: EntityManager, workspaceId: string): Promise<void> {
  await manager.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`credentials of ${workspaceId}`]);
}

type Section = Pick<CredentialEntity, 'workspaceId' | 'provider' | 'isFallback'>;

async function nextSortOrder(manager: EntityManager, { workspaceId, provider, isFallback }: Section): Promise<number> {
  const section = { workspaceId, provider, isFallback, deletedAt: IsNull() };
  return ((await manager.maximum(CredentialEntity, 'sortOrder', section)) ?? -1) + 1;
}

function living({ organizationId, id }: CredentialReference): FindOptionsWhere<CredentialEntity> {
  return { organizationId, id, deletedAt: IsNull() };
}

function noSuchCredential(): AppError {
  return new AppError('not_found', 'No such credential');
}
