import { Module } from '@nestjs/common';
import { Egress } from '@libs/platform';
import { GatewayEnv } from './gateway.env';

/** The way to hosts that callers name. */
@Module({
  providers: [
    {
      provide: Egress,
      inject: [GatewayEnv],
      useFactory: (env: GatewayEnv) => new Egress({ allowCidrs: env.EGRESS_ALLOW_CIDRS ?? [] }),
    },
  ],
  exports: [Egress],
})
export class EgressModule {}
