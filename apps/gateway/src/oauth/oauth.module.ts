import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module';
import { IdempotencyModule } from '../idempotency/idempotency.module';
import { AuthorizationCodesController } from './authorization-codes.controller';
import { AuthorizationCodesService } from './authorization-codes.service';
import { AuthorizationServerController } from './authorization-server.controller';
import { ConsentController } from './consent/consent.controller';
import { ConsentService } from './consent/consent.service';
import { ExchangeCaller } from './exchange-caller';
import { TokenExchangeService } from './token-exchange.service';
import { TokenController } from './token.controller';

/** Providers and routes that issue keys and access tokens. */
@Module({
  imports: [AuthModule, IdempotencyModule],
  controllers: [AuthorizationCodesController, TokenController, AuthorizationServerController, ConsentController],
  providers: [AuthorizationCodesService, ConsentService, ExchangeCaller, TokenExchangeService],
})
export class OauthModule {}
