import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AuditRepository, LastUses } from '@libs/persistence';
import { Feeds, KeyDirectory, MessageBus } from '@libs/platform';
import { GatewayEnv, publicUrlOf } from '../gateway.env';
import { RefusedCalls } from './refused-calls';
import { AccessTokens } from './access-tokens';
import { BearerGuard } from './bearer.guard';
import { FailedAuthentications } from './failed-authentications';
import { TokenKeyDirectory } from './token-keys';

/** Applies the guard to every route of the app. */
@Module({
  providers: [
    { provide: TokenKeyDirectory, useFactory: (bus: MessageBus) => new TokenKeyDirectory(bus), inject: [MessageBus] },
    {
      provide: AccessTokens,
      useFactory: (keys: TokenKeyDirectory, env: GatewayEnv = new GatewayEnv()) =>
        new AccessTokens(keys, publicUrlOf(env)),
      inject: [TokenKeyDirectory, { token: GatewayEnv, optional: true }],
    },
    {
      provide: KeyDirectory,
      // Without feeds, as in tests, every cached answer is valid for three quarters of a second.
      inject: [
        MessageBus,
        { token: Feeds, optional: true },
        { token: GatewayEnv, optional: true },
        { token: LastUses, optional: true },
      ],
      useFactory: (
        bus: MessageBus,
        feeds?: Feeds,
        { KEY_GRACE_SECONDS }: GatewayEnv = new GatewayEnv(),
        uses?: LastUses,
      ) =>
        new KeyDirectory(bus, {
          ...(feeds !== undefined && { feed: feeds.of('access') }),
          graceMs: KEY_GRACE_SECONDS * 1_000,
          onUse: ({ organizationId, keyHash }) => uses?.note(organizationId, keyHash),
        }),
    },
    {
      provide: FailedAuthentications,
      useFactory: (env: GatewayEnv = new GatewayEnv()) =>
        new FailedAuthentications(env.FAILED_AUTHENTICATIONS_PER_MINUTE),
      inject: [{ token: GatewayEnv, optional: true }],
    },
    {
      provide: RefusedCalls,
      // Tests of the HTTP layer have neither a database nor an audit trail.
      inject: [{ token: AuditRepository, optional: true }],
      useFactory: (audit?: AuditRepository) => audit && new RefusedCalls(audit),
    },
    { provide: APP_GUARD, useClass: BearerGuard },
  ],
  exports: [KeyDirectory, TokenKeyDirectory, FailedAuthentications],
})
export class AuthModule {}
