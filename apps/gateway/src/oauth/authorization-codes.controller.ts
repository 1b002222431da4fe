import { Body, Controller, Header, HttpCode, Post, Req } from '@nestjs/common';
import {
  CreateAuthorizationCodeDto,
  ExchangeAuthorizationCodeDto,
  type AuthorizationCodeDto,
  type Principal,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { validateClosed } from '@libs/platform';
import { Public, RequiresManagementKey } from '../auth/access.decorators';
import { requestIdsOf } from '../auth/audit.interceptor';
import { Caller } from '../auth/caller.decorator';
import type { LiveRequest } from '../http/in-flight';
import { Idempotent } from '../idempotency/idempotent.decorator';
import { LimitedBySource } from '../limits/rate-limit.guard';
import { AuthorizationCodesService } from './authorization-codes.service';

/** The two steps of the PKCE flow for programs. */
@Controller('auth/keys')
export class AuthorizationCodesController {
  constructor(private readonly codes: AuthorizationCodesService) {}

  @Post('code')
  @HttpCode(200)
  @RequiresManagementKey()
  @Idempotent({ holdsSecret: true })
  @Header('Cache-Control', 'no-store')
  async create(@Caller() caller: Principal, @Body() body: unknown): Promise<{ data: AuthorizationCodeDto }> {
    const wanted = validateClosed(CreateAuthorizationCodeDto, body);
    const { code, appId, createdAt } = await this.codes.issue(caller.organizationId, wanted.callback_url, wanted);
    if (appId === null) throw new AppError('server', 'Internal error', { internal: 'a callback URL without an app' });
    return { data: { id: code, app_id: appId, created_at: createdAt } };
  }

  /** Code and verifier are the credential. There are no users, so the key belongs to no user. */
  @Post()
  @HttpCode(200)
  @Public()
  @LimitedBySource('key-exchanges')
  @Header('Cache-Control', 'no-store')
  async exchange(@Body() body: unknown, @Req() request: LiveRequest): Promise<{ key: string; user_id: null }> {
    const receivedAt = new Date(Date.now() - (performance.now() - request.life.startedMs));
    const given = validateClosed(ExchangeAuthorizationCodeDto, body);
    return { key: await this.codes.redeem(given, receivedAt, requestIdsOf(request)), user_id: null };
  }
}
