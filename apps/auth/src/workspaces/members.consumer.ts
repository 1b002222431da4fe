import { Controller } from '@nestjs/common';
import {
  AddMembers,
  ListMembers,
  ListMembersRequest,
  MembersRequest,
  RemoveMembers,
  type ListMembersResponse,
  type MembersAdded,
  type MembersRemoved,
} from '@libs/contracts';
import { Handles } from '@libs/platform';
import { MembersService } from './members.service';

@Controller()
export class MembersConsumer {
  constructor(private readonly members: MembersService) {}

  @Handles(ListMembers)
  list(request: ListMembersRequest): Promise<ListMembersResponse> {
    return this.members.list(request);
  }

  @Handles(AddMembers)
  add(request: MembersRequest): Promise<MembersAdded> {
    return this.members.add(request);
  }

  @Handles(RemoveMembers)
  remove(request: MembersRequest): Promise<MembersRemoved> {
    return this.members.remove(request);
  }
}
