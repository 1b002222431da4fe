import { ArrayMaxSize, ArrayMinSize, IsArray, IsUUID } from 'class-validator';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { IsNameText } from '../organizations/member-rules';
import { Page } from '../organizations/page';
import { WorkspaceReference } from './workspaces.messages';

export const MAX_USER_ID_LENGTH = 200;
/** Most users in one request. */
export const MOST_USER_IDS = 100;
/** Most members of a workspace. */
export const MOST_MEMBERS = 1_000;

/** A user who is listed as a member, by the client's own name for the user. */
export class MemberRecord {
  id: string;
  workspaceId: string;
  userId: string;
  createdAt: string;
}

export class ListMembersRequest extends Page implements WorkspaceReference {
  @IsUUID()
  organizationId: string;

  @IsUUID()
  id: string;
}

export class ListMembersResponse {
  /** Oldest first. */
  members: MemberRecord[];
  totalCount: number;
}

/** Errors: `not_found` for a workspace that the organization does not have. */
export const ListMembers = call({
  queue: queues.auth,
  name: 'auth.list-members',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: ListMembersRequest,
  response: ListMembersResponse,
});

export class MembersRequest extends WorkspaceReference {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MOST_USER_IDS)
  @IsNameText(1, MAX_USER_ID_LENGTH, { each: true })
  userIds: string[];
}

export class MembersAdded {
  /** The memberships of all that were named, in the order in which they were first named. */
  members: MemberRecord[];
  /** How many of them are new. */
  addedCount: number;
}

/** Errors: `not_found` for an unknown workspace; `invalid_request` if it would have more than MOST_MEMBERS. */
export const AddMembers = call({
  queue: queues.auth,
  name: 'auth.add-members',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: MembersRequest,
  response: MembersAdded,
});

export class MembersRemoved {
  removedCount: number;
}

/** Removes the named members and ignores other users. Errors: `not_found` as above. */
export const RemoveMembers = call({
  queue: queues.auth,
  name: 'auth.remove-members',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  request: MembersRequest,
  response: MembersRemoved,
});

export const memberContracts = [ListMembers, AddMembers, RemoveMembers];
