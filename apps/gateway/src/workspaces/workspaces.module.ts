import { Module } from '@nestjs/common';
import { MessageBus } from '@libs/platform';
import { InferenceRouting } from '../inference/inference-routing';
import { PolicyNames } from '../policies/policy-names';
import { CallbackUrls } from '../webhooks/callback-urls';
import { WorkspacesController } from './workspaces.controller';
import { WorkspacesService } from './workspaces.service';

/** Needs the (global) modules of messaging, inference and webhooks. */
@Module({
  controllers: [WorkspacesController],
  providers: [
    {
      provide: WorkspacesService,
      inject: [MessageBus, CallbackUrls, InferenceRouting],
      useFactory: (bus: MessageBus, callbackUrls: CallbackUrls, routing: InferenceRouting) =>
        new WorkspacesService(bus, callbackUrls, new PolicyNames(() => routing.catalogue())),
    },
  ],
})
export class WorkspacesModule {}
