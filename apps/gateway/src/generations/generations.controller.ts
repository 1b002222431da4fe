import { Controller, Get, Query } from '@nestjs/common';
import type { Principal } from '@libs/contracts';
import { Caller } from '../auth/caller.decorator';
import type { ContentEntry, GenerationEntry } from './generation-entry';
import { GenerationsService } from './generations.service';

/** `GET /generation?id=` and `GET /generation/content?id=`: one call and its content, for keys of its workspace. */
@Controller('generation')
export class GenerationsController {
  constructor(private readonly generations: GenerationsService) {}

  @Get()
  async get(@Caller() caller: Principal, @Query('id') id: unknown): Promise<{ data: GenerationEntry }> {
    return { data: await this.generations.get(caller, id) };
  }

  @Get('content')
  async content(@Caller() caller: Principal, @Query('id') id: unknown): Promise<{ data: ContentEntry }> {
    return { data: await this.generations.content(caller, id) };
  }
}
