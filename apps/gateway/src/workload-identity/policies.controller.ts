import { Body, Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import {
  CreatePolicyDto,
  PageQueryDto,
  UpdatePolicyDto,
  type PolicyDto,
  type Principal,
  READ_ONLY_OF_POLICIES,
  readOnlyNames,
} from '@libs/contracts';
import { validateClosed, validateInstance } from '@libs/platform';
import { RequiresManagementKey } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import { validateChange } from '../http/echoed-members';
import { PoliciesService } from './policies.service';

/**
 * Routes for the policies that say which tokens may act as which key of the caller's organization; for management keys.
 */
@Controller('workload-identity/policies')
@RequiresManagementKey()
export class PoliciesController {
  constructor(private readonly policies: PoliciesService) {}

  @Get()
  async list(
    @Caller() caller: Principal,
    @Query() query: unknown,
  ): Promise<{ data: PolicyDto[]; total_count: number }> {
    return this.policies.list(caller, validateInstance(PageQueryDto, query));
  }

  @Post()
  async create(@Caller() caller: Principal, @Body() body: unknown): Promise<{ data: PolicyDto }> {
    return {
      data: await this.policies.create(
        caller,
        validateClosed(CreatePolicyDto, body, readOnlyNames(READ_ONLY_OF_POLICIES)),
      ),
    };
  }

  @Get(':id')
  async get(@Caller() caller: Principal, @Param('id') id: string): Promise<{ data: PolicyDto }> {
    return { data: await this.policies.get(caller, id) };
  }

  @Patch(':id')
  async update(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body() body: unknown,
  ): Promise<{ data: PolicyDto }> {
    const change = await validateChange(UpdatePolicyDto, body, READ_ONLY_OF_POLICIES, () =>
      this.policies.get(caller, id),
    );
    return {
      data: await this.policies.update(caller, id, change),
    };
  }

  @Delete(':id')
  async delete(@Caller() caller: Principal, @Param('id') id: string): Promise<{ deleted: true }> {
    await this.policies.delete(caller, id);
    return { deleted: true };
  }
}
