import { Controller, Get } from '@nestjs/common';
import type { CurrentKeyDto, Principal } from '@libs/contracts';
import { AcceptsAnyKey } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import { KeysService } from './keys.service';

/** `GET /key`: what a key may know about itself. */
@Controller('key')
@AcceptsAnyKey()
export class CurrentKeyController {
  constructor(private readonly keys: KeysService) {}

  @Get()
  async get(@Caller() caller: Principal): Promise<{ data: CurrentKeyDto }> {
    return { data: await this.keys.current(caller) };
  }
}
