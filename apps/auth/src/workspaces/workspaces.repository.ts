import { Injectable } from '@nestjs/common';
import type { ListWorkspacesRequest, WorkspaceReference } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { DataSource, IsNull, type FindOptionsWhere } from 'typeorm';
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
  constructor(private readonly dataSource: DataSource) {}

  async insertWorkspace(workspace: NewWorkspace): Promise<WorkspaceEntity> {
    await this.dataSource.manager.insert(WorkspaceEntity, workspace).catch((error: unknown) => {
      throw refusalOf(error);
    });
    return this.getWorkspace(workspace);
  }

  async getWorkspace(reference: WorkspaceReference): Promise<WorkspaceEntity> {
    const workspace = await this.dataSource.manager.findOneBy(WorkspaceEntity, livingWorkspace(reference));
    if (!workspace) throw noSuchWorkspace();
    return workspace;
  }

  async findWorkspaces(request: ListWorkspacesRequest): Promise<{ workspaces: WorkspaceEntity[]; totalCount: number }> {
    const [workspaces, totalCount] = await this.dataSource.manager.findAndCount(WorkspaceEntity, {
      where: { organizationId: request.organizationId, deletedAt: IsNull() },
      order: { createdAt: 'ASC', id: 'ASC' },
      skip: request.offset,
      take: request.limit,
    });
    return { workspaces, totalCount };
  }

  async updateWorkspace(reference: WorkspaceReference, changes: WorkspaceChanges): Promise<WorkspaceEntity> {
    const updated = await this.dataSource.manager
      .update(WorkspaceEntity, livingWorkspace(reference), { ...changes, updatedAt: () => 'now()' })
      .catch((error: unknown) => {
        throw refusalOf(error);
      });
    if (updated.affected !== 1) throw noSuchWorkspace();
    return this.getWorkspace(reference);
  }

  /**
   * The row lock excludes keys that are about to enter (they share-lock it), and the count runs after the
   * lock is held: no key can be left behind in a deleted workspace.
   */
  async deleteWorkspace(reference: WorkspaceReference): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
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

function livingWorkspace(reference: WorkspaceReference): FindOptionsWhere<WorkspaceEntity> {
  return { id: reference.id, organizationId: reference.organizationId, deletedAt: IsNull() };
}

function noSuchWorkspace(): AppError {
  return new AppError('not_found', 'No such workspace');
}
