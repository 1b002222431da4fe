import { Injectable } from '@nestjs/common';
import type {
  ListWorkspacesRequest,
  NewWorkspaceProperties,
  WorkspaceProperties,
  WorkspaceReference,
  WorkspaceSettingsChanges,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { Database, outcomeOfRow } from '@libs/persistence';
import { IsNull, type EntityManager, type FindOptionsWhere } from 'typeorm';
import { refusalOf } from '../constraint-errors';
import { ApiKeyEntity } from '../accounts/api-key.entity';
import { WorkspaceBudgetEntity } from './workspace-budget.entity';
import { WorkspaceMemberEntity } from './workspace-member.entity';
import { WorkspaceEntity } from '../accounts/workspace.entity';

export type NewWorkspace = NewWorkspaceProperties &
  Pick<WorkspaceEntity, 'id' | 'organizationId'> &
  Partial<Pick<WorkspaceEntity, 'settings'>>;

/** Every method asks for the organization: a foreign workspace is as unknown as no workspace. */
@Injectable()
export class WorkspacesRepository {
  constructor(private readonly database: Database) {}

  async insertWorkspace(workspace: NewWorkspace): Promise<WorkspaceEntity> {
    return this.database.asOrganization(workspace).entities(
      async (manager) => {
        await manager.insert(WorkspaceEntity, workspace).catch((error: unknown) => {
          throw refusalOf(error);
        });
        return getWorkspaceWithin(manager, workspace);
      },
      outcomeOfRow('workspaces', 'id', workspace.id),
    );
  }

  async getWorkspace(reference: WorkspaceReference): Promise<WorkspaceEntity> {
    return this.database.asOrganization(reference).entities((manager) => getWorkspaceWithin(manager, reference));
  }

  async findWorkspaces(request: ListWorkspacesRequest): Promise<{ workspaces: WorkspaceEntity[]; totalCount: number }> {
    const [workspaces, totalCount] = await this.database.asOrganization(request).entities((manager) =>
      manager.findAndCount(WorkspaceEntity, {
        where: { organizationId: request.organizationId, deletedAt: IsNull() },
        order: { createdAt: 'ASC', id: 'ASC' },
        skip: request.offset,
        take: request.limit,
      }),
    );
    return { workspaces, totalCount };
  }

  /** Settings are changed one by one, within the statement: two changes at once both last. */
  async updateWorkspace(
    reference: WorkspaceReference,
    changes: WorkspaceProperties,
    settings?: WorkspaceSettingsChanges,
  ): Promise<WorkspaceEntity> {
    return this.database.asOrganization(reference).entities(async (manager) => {
      const updated = await manager
        .createQueryBuilder()
        .update(WorkspaceEntity)
        .set({
          ...changes,
          updatedAt: () => 'now()',
          ...(settings && { settings: () => 'jsonb_strip_nulls(settings || :settings::jsonb)' }),
        })
        .where(livingWorkspace(reference))
        .setParameter('settings', JSON.stringify(settings))
        .execute()
        .catch((error: unknown) => {
          throw refusalOf(error);
        });
      if (updated.affected !== 1) throw noSuchWorkspace();
      return getWorkspaceWithin(manager, reference);
    });
  }

  /**
   * The row lock excludes keys that are about to be added (they share-lock it), and the count runs after the lock is
   * held: no key can be left in a deleted workspace. Budgets and members are deleted with it.
   */
  async deleteWorkspace(reference: WorkspaceReference): Promise<void> {
    await this.database.asOrganization(reference).entities(async (manager) => {
      const workspace = await lockWorkspace(manager, reference);
      if (workspace.isDefault) throw new AppError('invalid_request', 'The default workspace cannot be deleted');
      const keys = await manager.countBy(ApiKeyEntity, { workspaceId: workspace.id, deletedAt: IsNull() });
      if (keys > 0) throw new AppError('invalid_request', 'The workspace still has keys: delete them first');
      await manager.delete(WorkspaceBudgetEntity, { workspaceId: workspace.id });
      await manager.delete(WorkspaceMemberEntity, { workspaceId: workspace.id });
      await manager.update(WorkspaceEntity, { id: workspace.id }, { deletedAt: () => 'now()' });
    });
  }
}

export async function getWorkspaceWithin(
  manager: EntityManager,
  reference: WorkspaceReference,
): Promise<WorkspaceEntity> {
  const workspace = await manager.findOneBy(WorkspaceEntity, livingWorkspace(reference));
  if (!workspace) throw noSuchWorkspace();
  return workspace;
}

/** Locks the workspace: until the transaction ends, no other transaction can change or delete it or its content. */
export async function lockWorkspace(manager: EntityManager, reference: WorkspaceReference): Promise<WorkspaceEntity> {
  const workspace = await manager.findOne(WorkspaceEntity, {
    where: livingWorkspace(reference),
    lock: { mode: 'pessimistic_write' },
  });
  if (!workspace) throw noSuchWorkspace();
  return workspace;
}

function livingWorkspace({ id, organizationId }: WorkspaceReference): FindOptionsWhere<WorkspaceEntity> {
  return { id, organizationId, deletedAt: IsNull() };
}

function noSuchWorkspace(): AppError {
  return new AppError('not_found', 'No such workspace');
}
