import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { MembersDto, PageQueryDto, type Principal, type WorkspaceMemberDto } from '@libs/contracts';
import { validateClosed, validateInstance } from '@libs/platform';
import { RequiresManagementKey } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import { MembersService } from './members.service';

/** Routes for the members of a workspace; for management keys. */
@Controller('workspaces/:id/members')
@RequiresManagementKey()
export class MembersController {
  constructor(private readonly members: MembersService) {}

  @Get()
  async list(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Query() query: unknown,
  ): Promise<{ data: WorkspaceMemberDto[]; total_count: number }> {
    return this.members.list(caller, id, validateInstance(PageQueryDto, query));
  }

  @Post('add')
  @HttpCode(200)
  async add(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body() body: unknown,
  ): Promise<{ data: WorkspaceMemberDto[]; added_count: number }> {
    return this.members.add(caller, id, validateClosed(MembersDto, body));
  }

  @Post('remove')
  @HttpCode(200)
  async remove(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body() body: unknown,
  ): Promise<{ removed_count: number }> {
    return this.members.remove(caller, id, validateClosed(MembersDto, body));
  }
}
