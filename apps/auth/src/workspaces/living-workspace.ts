import type { WorkspaceReference } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { IsNull, type EntityManager, type FindOptionsWhere } from 'typeorm';
import { WorkspaceEntity } from './workspace.entity';

export async function getWorkspaceWithin(
  manager: EntityManager,
  reference: WorkspaceReference,
): Promise<WorkspaceEntity> {
  const workspace = await manager.findOneBy(WorkspaceEntity, livingWorkspace(reference));
  if (!workspace) throw noSuchWorkspace();
  return workspace;
}

/** Nobody else changes it, what belongs to it, or deletes it before the transaction ends. */
export async function lockWorkspace(manager: EntityManager, reference: WorkspaceReference): Promise<WorkspaceEntity> {
  const workspace = await manager.findOne(WorkspaceEntity, {
    where: livingWorkspace(reference),
    lock: { mode: 'pessimistic_write' },
  });
  if (!workspace) throw noSuchWorkspace();
  return workspace;
}

export function livingWorkspace({ id, organizationId }: WorkspaceReference): FindOptionsWhere<WorkspaceEntity> {
  return { id, organizationId, deletedAt: IsNull() };
}

export function noSuchWorkspace(): AppError {
  return new AppError('not_found', 'No such workspace');
}
