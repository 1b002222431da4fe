import { Controller, Get, Query } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import { Caller } from '../auth/caller.decorator';
import type { GenerationEntry } from './generation-entry';
import { GenerationsService } from './generations.service';

/** `GET /generation?id=`: what became of one call, for keys of its workspace. */
@Controller('generation')
export class GenerationsController {
  constructor(private readonly generations: GenerationsService) {}

  @Get()
  async get(@Caller() caller: Principal, @Query('id') id: unknown): Promise<{ data: GenerationEntry }> {
    return { data: await this.generations.get(caller, id) };
  }
}
