import {
  AddMembers,
  ListMembers,
  readPage,
  RemoveMembers,
  type MemberRecord,
  type MembersDto,
  type PageQueryDto,
  type Principal,
  type WorkspaceMemberDto,
} from '@libs/contracts';
import type { MessageBus } from '@libs/platform';
import { ownWorkspace } from './own-workspace';

const DEFAULT_PAGE = 50;

/** The `/workspaces/{id}/members` routes, forwarded to the auth app for the organization of the caller's key. */
export class MembersService {
  constructor(private readonly bus: MessageBus) {}

  async list(
    caller: Principal,
    id: string,
    query: PageQueryDto,
  ): Promise<{ data: WorkspaceMemberDto[]; total_count: number }> {
    const page = { ...ownWorkspace(caller, id), ...readPage(query, DEFAULT_PAGE) };
    const { members, totalCount } = await this.bus.call(ListMembers, page);
    return { data: members.map(memberView), total_count: totalCount };
  }

  async add(
    caller: Principal,
    id: string,
    { user_ids: userIds }: MembersDto,
  ): Promise<{ data: WorkspaceMemberDto[]; added_count: number }> {
    const { members, addedCount } = await this.bus.call(AddMembers, { ...ownWorkspace(caller, id), userIds });
    return { data: members.map(memberView), added_count: addedCount };
  }

  async remove(caller: Principal, id: string, { user_ids: userIds }: MembersDto): Promise<{ removed_count: number }> {
    const { removedCount } = await this.bus.call(RemoveMembers, { ...ownWorkspace(caller, id), userIds });
    return { removed_count: removedCount };
  }
}

function memberView({ id, workspaceId, userId, createdAt }: MemberRecord): WorkspaceMemberDto {
  return { id, workspace_id: workspaceId, user_id: userId, role: 'member', created_at: createdAt };
}
