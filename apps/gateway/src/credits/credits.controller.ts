import { Controller, Get } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import { RequiresManagementKey } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import { CreditsService, type CreditsView } from './credits.service';

/** `GET /credits`, for management keys. */
@Controller('credits')
@RequiresManagementKey()
export class CreditsController {
  constructor(private readonly credits: CreditsService) {}

  @Get()
  async get(@Caller() caller: Principal): Promise<{ data: CreditsView }> {
    return { data: await this.credits.of(caller.organizationId) };
  }
}
