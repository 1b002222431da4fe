import { Module } from '@nestjs/common';
import { LastUsesRepository } from '@libs/persistence';
import { MessageBus } from '@libs/platform';
import { InferenceRouting } from '../routing/inference-routing';
import { CredentialsController } from './credentials.controller';
import { CredentialsService } from './credentials.service';
import { RoutingModule } from '../routing/routing.module';

/** Needs the (global) persistence, messaging and inference modules. */
@Module({
  imports: [RoutingModule],
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
