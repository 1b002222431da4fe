import { Module } from '@nestjs/common';
import { MessageBus } from '@libs/platform';
import { InferenceRouting } from '../inference/inference-routing';
import { CredentialsController } from './credentials.controller';
import { CredentialsService } from './credentials.service';

/** Needs the (global) messaging and inference modules. */
@Module({
  controllers: [CredentialsController],
  providers: [
    {
      provide: CredentialsService,
      inject: [MessageBus, InferenceRouting],
      useFactory: (bus: MessageBus, routing: InferenceRouting) =>
        new CredentialsService(bus, () => routing.catalogue()),
    },
  ],
})
export class CredentialsModule {}
