import { Injectable } from '@nestjs/common';
import type {
  ListMembersRequest,
  ListMembersResponse,
  MemberRecord,
  MembersAdded,
  MembersRemoved,
  MembersRequest,
} from '@libs/contracts';
import { MembersRepository } from './members.repository';
import type { WorkspaceMemberEntity } from './workspace-member.entity';

@Injectable()
export class MembersService {
  constructor(private readonly repository: MembersRepository) {}

  async list(request: ListMembersRequest): Promise<ListMembersResponse> {
    const { members, totalCount } = await this.repository.findMembers(request);
    return { members: members.map(toRecord), totalCount };
  }

  async add(request: MembersRequest): Promise<MembersAdded> {
    const { members, addedCount } = await this.repository.addMembers(request);
    return { members: members.map(toRecord), addedCount };
  }

  async remove(request: MembersRequest): Promise<MembersRemoved> {
    return { removedCount: await this.repository.removeMembers(request) };
  }
}

function toRecord({ id, workspaceId, userId, createdAt }: WorkspaceMemberEntity): MemberRecord {
  return { id, workspaceId, userId, createdAt: createdAt.toISOString() };
}
