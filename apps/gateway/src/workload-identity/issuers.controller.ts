import { Body, Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import {
  CreateIssuerDto,
  PageQueryDto,
  UpdateIssuerDto,
  type IssuerDto,
  type Principal,
  READ_ONLY_OF_ISSUERS,
  readOnlyNames,
} from '@libs/contracts';
import { validateClosed, validateInstance } from '@libs/platform';
import { RequiresManagementKey } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import { validateChange } from '../http/echoed-members';
import { IssuersService } from './issuers.service';

/** Routes for the token issuers that the caller's organization trusts; for management keys. */
@Controller('workload-identity/issuers')
@RequiresManagementKey()
export class IssuersController {
  constructor(private readonly issuers: IssuersService) {}

  @Get()
  async list(
    @Caller() caller: Principal,
    @Query() query: unknown,
  ): Promise<{ data: IssuerDto[]; total_count: number }> {
    return this.issuers.list(caller, validateInstance(PageQueryDto, query));
  }

  @Post()
  async create(@Caller() caller: Principal, @Body() body: unknown): Promise<{ data: IssuerDto }> {
    return {
      data: await this.issuers.create(
        caller,
        validateClosed(CreateIssuerDto, body, readOnlyNames(READ_ONLY_OF_ISSUERS)),
      ),
    };
  }

  @Get(':id')
  async get(@Caller() caller: Principal, @Param('id') id: string): Promise<{ data: IssuerDto }> {
    return { data: await this.issuers.get(caller, id) };
  }

  @Patch(':id')
  async update(
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body() body: unknown,
  ): Promise<{ data: IssuerDto }> {
    const change = await validateChange(UpdateIssuerDto, body, READ_ONLY_OF_ISSUERS, () =>
      this.issuers.get(caller, id),
    );
    return { data: await this.issuers.update(caller, id, change) };
  }

  @Delete(':id')
  async delete(@Caller() caller: Principal, @Param('id') id: string): Promise<{ deleted: true }> {
    await this.issuers.delete(caller, id);
    return { deleted: true };
  }
}
