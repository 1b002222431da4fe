import { Injectable } from '@nestjs/common';
import type { ListWorkspacesRequest, WorkspaceReference } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { Database } from '@libs/persistence';
import { IsNull, type EntityManager, type FindOptionsWhere } from 'typeorm';
import { refusalOf } from '../constraint-errors';
import { ApiKeyEntity } from '../keys/api-key.entity';
import { WorkspaceEntity } from './workspace.entity';

export type NewWorkspace = Pick<WorkspaceEntity, 'id' | 'organizationId' | 'name' | 'slug' | 'description'> &
  Partial<Pick<WorkspaceEntity, 'defaultCallbackUrl' | 'policy'>>;

/** Members left out stay as they are. */
export type WorkspaceChanges = Partial<
  Pick<WorkspaceEntity, 'name' | 'slug' | 'description' | 'defaultCallbackUrl' | 'policy'>
>;

/** Every method asks for the organization: a foreign workspace is as unknown as no workspace. */
@Injectable()
export class WorkspacesRepository {
  constructor(private readonly database: Database) {}

  async insertWorkspace(workspace: NewWorkspace): Promise<WorkspaceEntity> {
    return this.database.asOrganization(workspace).entities(async (manager) => {
      await manager.insert(WorkspaceEntity, workspace).catch((error: unknown) => {
        throw refusalOf(error);
      });
      return getWithin(manager, workspace);
    });
  }

  async getWorkspace(reference: WorkspaceReference): Promise<WorkspaceEntity> {
    return this.database.asOrganization(reference).entities((manager) => getWithin(manager, reference));
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

  async updateWorkspace(reference: WorkspaceReference, changes: WorkspaceChanges): Promise<WorkspaceEntity> {
    return this.database.asOrganization(reference).entities(async (manager) => {
      const updated = await manager
        .update(WorkspaceEntity, livingWorkspace(reference), { ...changes, updatedAt: () => 'now()' })
        .catch((error: unknown) => {
          throw refusalOf(error);
        });
      if (updated.affected !== 1) throw noSuchWorkspace();
      return getWithin(manager, reference);
    });
  }

  /**
   * The row lock excludes keys that are about to enter (they share-lock it), and the count runs after the
   * lock is held: no key can be left behind in a deleted workspace.
   */
  async deleteWorkspace(reference: WorkspaceReference): Promise<void> {
    await this.database.asOrganization(reference).entities(async (manager) => {
      const workspace = await manager.findOne(WorkspaceEntity, {
        where: livingWorkspace(reference),
        lock: { mode: 'pessimistic_write' },
      });
      if (!workspace) throw noSuchWorkspace();
      if (workspace.isDefault) throw new AppError('invalid_request', 'The default workspace cannot be deleted');
      const keys = await manager.countBy(ApiKeyEntity, { workspaceId: workspace.id, deletedAt: IsNull() });
      if (keys > 0) throw new AppError('invalid_request', 'The workspace still has keys');
      await manager.update(WorkspaceEntity, { id: workspace.id }, { deletedAt: () => 'now()' });
    });
  }
}

async function getWithin(manager: EntityManager, reference: WorkspaceReference): Promise<WorkspaceEntity> {
  const workspace = await manager.findOneBy(WorkspaceEntity, livingWorkspace(reference));
  if (!workspace) throw noSuchWorkspace();
  return workspace;
}

function livingWorkspace(reference: WorkspaceReference): FindOptionsWhere<WorkspaceEntity> {
  return { id: reference.id, organizationId: reference.organizationId, deletedAt: IsNull() };
}

function noSuchWorkspace(): AppError {
  return new AppError('not_found', 'No such workspace');
}
