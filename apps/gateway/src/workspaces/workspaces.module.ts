import { Module } from '@nestjs/common';
import { MessageBus } from '@libs/platform';
import { InferenceRouting } from '../inference/inference-routing';
import { PolicyNames } from '../policies/policy-names';
import { WorkspacesController } from './workspaces.controller';
import { WorkspacesService } from './workspaces.service';

/** Needs the (global) messaging and inference modules. */
@Module({
  controllers: [WorkspacesController],
  providers: [
    {
      provide: WorkspacesService,
      inject: [MessageBus, InferenceRouting],
      useFactory: (bus: MessageBus, routing: InferenceRouting) =>
        new WorkspacesService(bus, new PolicyNames(() => routing.catalogue())),
    },
  ],
})
export class WorkspacesModule {}
