import { Body, Controller, Delete, Get, Header, Param, Patch, Post, Query } from '@nestjs/common';
import {
  CreateKeyDto,
  ListKeysQueryDto,
  RotateKeyDto,
  UpdateKeyDto,
  type KeyDto,
  type Principal,
  READ_ONLY_OF_KEYS,
  readOnlyNames,
} from '@libs/contracts';
import { validateClosed, validateInstance } from '@libs/platform';
import { RequiresManagementKey } from '../auth/access.decorators';
import { Caller } from '../auth/caller.decorator';
import { validateChange } from '../http/echoed-members';
import { EffectId, Idempotent } from '../idempotency/idempotent.decorator';
import { KeysService, type CreatedKey } from './keys.service';

/** Routes for the API keys of the caller's organization; for management keys. */
@Controller('keys')
@RequiresManagementKey()
export class KeysController {
  constructor(private readonly keys: KeysService) {}

  @Get()
  async list(@Caller() caller: Principal, @Query() query: unknown): Promise<{ data: KeyDto[] }> {
    return { data: await this.keys.list(caller, validateInstance(ListKeysQueryDto, query)) };
  }

  @Post()
  @Header('Cache-Control', 'no-store')
  async create(@Caller() caller: Principal, @Body() body: unknown): Promise<CreatedKey> {
    return this.keys.create(caller, validateClosed(CreateKeyDto, body, readOnlyNames(READ_ONLY_OF_KEYS)));
  }

  @Get(':hash')
  async get(@Caller() caller: Principal, @Param('hash') hash: string): Promise<{ data: KeyDto }> {
    return { data: await this.keys.get(caller, hash) };
  }

  @Patch(':hash')
  async update(
    @Caller() caller: Principal,
    @Param('hash') hash: string,
    @Body() body: unknown,
  ): Promise<{ data: KeyDto }> {
    const change = await validateChange(UpdateKeyDto, body, READ_ONLY_OF_KEYS, () => this.keys.get(caller, hash));
    return { data: await this.keys.update(caller, hash, change) };
  }

  @Delete(':hash')
  async delete(@Caller() caller: Principal, @Param('hash') hash: string): Promise<{ deleted: true }> {
    await this.keys.delete(caller, hash);
    return { deleted: true };
  }

  @Post(':hash/rotate')
  @Header('Cache-Control', 'no-store')
  @Idempotent({ holdsSecret: true })
  async rotate(
    @Caller() caller: Principal,
    @Param('hash') hash: string,
    @Body() body: unknown,
    @EffectId() effectId: string | undefined,
  ): Promise<CreatedKey> {
    return this.keys.rotate(caller, hash, validateClosed(RotateKeyDto, body), effectId);
  }

  /** Ends the overlap: only the current secret works from now on. */
  @Delete(':hash/rotation')
  async endRotation(@Caller() caller: Principal, @Param('hash') hash: string): Promise<{ data: KeyDto }> {
    return { data: await this.keys.endRotation(caller, hash) };
  }
}
