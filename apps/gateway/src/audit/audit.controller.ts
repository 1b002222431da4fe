import { Controller, Get, Query } from '@nestjs/common';
import { ListAuditQueryDto, type AuditPageDto, type Principal } from '@libs/contracts';
import { validateInstance } from '@libs/platform';
import { RequiresManagementKey } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import { AuditService } from './audit.service';

/** `GET /audit`, for management keys: who did what in the caller's organization. */
@Controller('audit')
@RequiresManagementKey()
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  @Get()
  async list(@Caller() caller: Principal, @Query() query: unknown): Promise<AuditPageDto> {
    return this.audit.list(caller, validateInstance(ListAuditQueryDto, query));
  }
}
