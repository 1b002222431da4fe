import { Module } from '@nestjs/common';
import { LastUsesRepository } from '@libs/persistence';
import { MessageBus } from '@libs/platform';
import { IdempotencyModule } from '../idempotency/idempotency.module';
import { InferenceRouting } from '../routing/inference-routing';
import { CredentialsController } from './credentials.controller';
import { CredentialsService } from './credentials.service';
import { RoutingModule } from '../routing/routing.module';

@Module({
  imports: [IdempotencyModule, RoutingModule],
  controllers: [CredentialsController],
  providers: [
    {
      provide: CredentialsService,
      inject: [MessageBus, InferenceRouting, LastUsesRepository],
      useFactory: (bus: MessageBus, routing: InferenceRouting, uses: LastUsesRepository) =>
        new CredentialsService(bus, () => routing.catalogue(), uses),
    },
  ],
})
export class CredentialsModule {}
