import { ArrayMaxSize, ArrayMinSize, IsArray } from 'class-validator';
import { IsNameText } from '../organizations/member-rules';
import { MAX_USER_ID_LENGTH, MOST_USER_IDS } from './members.messages';

/** Body of `POST /workspaces/{id}/members/add` and `/remove`. */
export class MembersDto {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MOST_USER_IDS)
  @IsNameText(1, MAX_USER_ID_LENGTH, { each: true })
  user_ids: string[];
}

/** `WorkspaceMember` of the interface. */
export interface WorkspaceMemberDto {
  id: string;
  workspace_id: string;
  user_id: string;
  /** Membership grants no rights. */
  role: 'member';
  created_at: string;
}
