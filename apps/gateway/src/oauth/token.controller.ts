import { Body, Controller, Get, Header, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import type { SigningJwk } from '@libs/contracts';
import type { FastifyRequest } from 'fastify';
import { Public } from '../auth/access.decorators';
import { TokenKeyDirectory } from '../auth/token-keys';
import type { FormFields } from '../http/parse-form';
import { sourceOf } from '../http/source-address';
import { FormBody } from '../http/streamed-body.decorator';
import { LimitedBySource } from '../limits/rate-limit.guard';
import { ExchangeCaller } from './exchange-caller';
import { OauthErrorFilter } from './oauth-error.filter';
import { TokenExchangeService, type TokenResponse } from './token-exchange.service';
import { readTokenRequest } from './token-request';

const MAX_BODY_BYTES = 32 * 1024;

/** Issues access tokens for workloads. If the caller sends a key, it is checked here. */
@Controller('oauth')
@Public()
export class TokenController {
  constructor(
    private readonly caller: ExchangeCaller,
    private readonly exchanges: TokenExchangeService,
    private readonly keys: TokenKeyDirectory,
  ) {}

  @Post('token')
  @LimitedBySource('token-exchanges')
  @HttpCode(200)
  @FormBody(MAX_BODY_BYTES)
  @Header('Cache-Control', 'no-store')
  @Header('Pragma', 'no-cache')
  @UseFilters(new OauthErrorFilter())
  async exchange(@Req() request: FastifyRequest, @Body() fields: FormFields): Promise<TokenResponse> {
    const organizationId = await this.caller.organizationOf(request.raw.rawHeaders, sourceOf(request.ip));
    return this.exchanges.exchange(readTokenRequest(fields), organizationId);
  }

  /** Returns the public keys that verify access tokens (RFC 7517). */
  @Get('jwks')
  @Header('Cache-Control', 'public, max-age=300')
  async jwks(): Promise<{ keys: SigningJwk[] }> {
    return { keys: (await this.keys.current()).signingKeys };
  }
}
