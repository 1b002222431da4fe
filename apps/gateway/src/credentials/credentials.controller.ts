import { Body, Controller, Delete, Get, Param, Patch, Post, Query, UseInterceptors } from '@nestjs/common';
import {
  CreateCredentialDto,
  ListCredentialsQueryDto,
  UpdateCredentialDto,
  type CredentialDto,
  type Principal,
  READ_ONLY_OF_CREDENTIALS,
  readOnlyNames,
} from '@libs/contracts';
import { validateClosed, validateInstance } from '@libs/platform';
import { RequiresManagementKey } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import { validateChange } from '../http/echoed-members';
import { EffectId, Idempotent } from '../idempotency/idempotent.decorator';
import { CreatedStatusInterceptor } from './created-status.interceptor';
import { CredentialsService } from './credentials.service';

/** Routes for the provider keys of the caller's organization; for management keys. */
@Controller('byok')
@RequiresManagementKey()
export class CredentialsController {
  constructor(private readonly credentials: CredentialsService) {}

  @Get()
  async list(
    @Caller() caller: Principal,
    @Query() query: unknown,
  ): Promise<{ data: CredentialDto[]; total_count: number }> {
    return this.credentials.list(caller, validateInstance(ListCredentialsQueryDto, query));
  }

  @Post()
  @Idempotent({ holdsSecret: true })
  // The last decorator is the outermost interceptor, so a replayed answer gets the status too.
  @UseInterceptors(CreatedStatusInterceptor)
  async create(
    @Caller() caller: Principal,
    @Body() body: unknown,
    @EffectId() effectId: string | undefined,
  ): Promise<{ data: CredentialDto }> {
    return {
      data: await this.credentials.create(
        caller,
        validateClosed(CreateCredentialDto, body, readOnlyNames(READ_ONLY_OF_CREDENTIALS)),
        effectId,
      ),
    };
  }

  @Get(':id')
  async get(@Caller() caller: Principal, @Param('id') id: string): Promise<{ data: CredentialDto }> {
    return { data: await this.credentials.get(caller, id) };
  }

  @Patch(':id')
  async update(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body() body: unknown,
  ): Promise<{ data: CredentialDto }> {
    const change = await validateChange(UpdateCredentialDto, body, READ_ONLY_OF_CREDENTIALS, () =>
      this.credentials.get(caller, id),
    );
    return {
      data: await this.credentials.update(caller, id, change),
    };
  }

  @Delete(':id')
  async delete(@Caller() caller: Principal, @Param('id') id: string): Promise<{ deleted: true }> {
    await this.credentials.delete(caller, id);
    return { deleted: true };
  }
}
