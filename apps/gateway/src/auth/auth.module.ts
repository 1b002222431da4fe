import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { KeyDirectory, MessageBus } from '@libs/platform';
import { GatewayEnv, publicUrlOf } from '../gateway.env';
import { AccessTokens } from './access-tokens';
import { BearerGuard } from './bearer.guard';
import { TokenKeyDirectory } from './token-keys';

/** Puts the guard before every route of the app. Needs the (global) messaging module. */
@Module({
  providers: [
    { provide: TokenKeyDirectory, useFactory: (bus: MessageBus) => new TokenKeyDirectory(bus), inject: [MessageBus] },
    {
      provide: AccessTokens,
      useFactory: (keys: TokenKeyDirectory, env: GatewayEnv = new GatewayEnv()) =>
        new AccessTokens(keys, publicUrlOf(env)),
      inject: [TokenKeyDirectory, { token: GatewayEnv, optional: true }],
    },
    { provide: KeyDirectory, useFactory: (bus: MessageBus) => new KeyDirectory(bus), inject: [MessageBus] },
    { provide: APP_GUARD, useClass: BearerGuard },
  ],
  exports: [KeyDirectory, TokenKeyDirectory],
})
export class AuthModule {}
