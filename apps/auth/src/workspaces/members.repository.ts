import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { MOST_MEMBERS, type ListMembersRequest, type MembersRequest } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { Database } from '@libs/persistence';
import { In, IsNull } from 'typeorm';
import { ApiKeyEntity } from '../accounts/api-key.entity';
import { getWorkspaceWithin, lockWorkspace } from './workspaces.repository';
import { WorkspaceMemberEntity } from './workspace-member.entity';

/** Every method asks for the organization: a foreign workspace is as unknown as no workspace. */
@Injectable()
export class MembersRepository {
  constructor(private readonly database: Database) {}

  async findMembers(request: ListMembersRequest): Promise<{ members: WorkspaceMemberEntity[]; totalCount: number }> {
    return this.database.asOrganization(request).entities(async (manager) => {
      const { id: workspaceId } = await getWorkspaceWithin(manager, request);
      const [members, totalCount] = await manager.findAndCount(WorkspaceMemberEntity, {
        where: { workspaceId },
        order: { createdAt: 'ASC', userId: 'ASC' },
        skip: request.offset,
        take: request.limit,
      });
      return { members, totalCount };
    });
  }

  /** The workspace is locked, so that two additions at once do not both take the last places. */
  async addMembers(request: MembersRequest): Promise<{ members: WorkspaceMemberEntity[]; addedCount: number }> {
    const userIds = [...new Set(request.userIds)];
    return this.database.asOrganization(request).entities(async (manager) => {
      const { id: workspaceId, organizationId } = await lockWorkspace(manager, request);
      const known = await manager.findBy(WorkspaceMemberEntity, { workspaceId, userId: In(userIds) });
      const added = userIds
        .filter((userId) => known.every((member) => member.userId !== userId))
        .map((userId) => ({ id: randomUUID(), workspaceId, organizationId, userId }));
      const before = await manager.countBy(WorkspaceMemberEntity, { workspaceId });
      if (before + added.length > MOST_MEMBERS) throw refused(`A workspace has at most ${MOST_MEMBERS} members`);
      if (added.length > 0) await manager.insert(WorkspaceMemberEntity, added);
      const all = await manager.findBy(WorkspaceMemberEntity, { workspaceId, userId: In(userIds) });
      const members = userIds.flatMap((userId) => all.filter((member) => member.userId === userId));
      return { members, addedCount: added.length };
    });
  }

  /** Removes the members. Refuses and removes none if one of them still has keys in the workspace. */
  async removeMembers(request: MembersRequest): Promise<number> {
    return this.database.asOrganization(request).entities(async (manager) => {
      const { id: workspaceId } = await lockWorkspace(manager, request);
      const keys = await manager.countBy(ApiKeyEntity, {
        workspaceId,
        creatorUserId: In(request.userIds),
        deletedAt: IsNull(),
      });
      if (keys > 0) throw refused('user_ids names users who still have keys in the workspace');
      const { affected } = await manager.delete(WorkspaceMemberEntity, { workspaceId, userId: In(request.userIds) });
      return affected ?? 0;
    });
  }
}

function refused(message: string): AppError {
  return new AppError('invalid_request', message, { metadata: { param: 'user_ids' } });
}
