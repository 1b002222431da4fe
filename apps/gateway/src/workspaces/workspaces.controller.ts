import { Body, Controller, Delete, Get, Header, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import {
  CreateWorkspaceDto,
  PageQueryDto,
  UpdateWorkspaceDto,
  type Principal,
  type WorkspaceDto,
  READ_ONLY_OF_WORKSPACES,
  readOnlyNames,
} from '@libs/contracts';
import { validateClosed, validateInstance } from '@libs/platform';
import { RequiresManagementKey } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import { validateChange } from '../http/echoed-members';
import { NoBody } from '../http/streamed-body.decorator';
import { WorkspacesService } from './workspaces.service';

/** Routes for the workspaces of the caller's organization; for management keys. */
@Controller('workspaces')
@RequiresManagementKey()
export class WorkspacesController {
  constructor(private readonly workspaces: WorkspacesService) {}

  @Get()
  async list(
    @Caller() caller: Principal,
    @Query() query: unknown,
  ): Promise<{ data: WorkspaceDto[]; total_count: number }> {
    return this.workspaces.list(caller, validateInstance(PageQueryDto, query));
  }

  @Post()
  async create(@Caller() caller: Principal, @Body() body: unknown): Promise<{ data: WorkspaceDto }> {
    return {
      data: await this.workspaces.create(
        caller,
        validateClosed(CreateWorkspaceDto, body, readOnlyNames(READ_ONLY_OF_WORKSPACES)),
      ),
    };
  }

  @Get(':id')
  async get(@Caller() caller: Principal, @Param('id') id: string): Promise<{ data: WorkspaceDto }> {
    return { data: await this.workspaces.get(caller, id) };
  }

  @Patch(':id')
  async update(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body() body: unknown,
  ): Promise<{ data: WorkspaceDto }> {
    const change = await validateChange(UpdateWorkspaceDto, body, READ_ONLY_OF_WORKSPACES, () =>
      this.workspaces.get(caller, id),
    );
    return {
      data: await this.workspaces.update(caller, id, change),
    };
  }

  /** Returns the new secret, which is shown once. The previous secret also signs for 24 hours. */
  @Post(':id/webhook-secret')
  @HttpCode(200)
  @Header('Cache-Control', 'no-store')
  @NoBody()
  async rotateWebhookSecret(
    @Caller() caller: Principal,
    @Param('id') id: string,
  ): Promise<{ data: { webhook_secret: string } }> {
    const secret = await this.workspaces.rotateWebhookSecret(caller, id);
    return { data: { webhook_secret: secret.reveal() } };
  }

  @Delete(':id')
  async delete(@Caller() caller: Principal, @Param('id') id: string): Promise<{ deleted: true }> {
    await this.workspaces.delete(caller, id);
    return { deleted: true };
  }
}
