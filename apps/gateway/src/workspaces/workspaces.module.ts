import { Module } from '@nestjs/common';
import { MessageBus } from '@libs/platform';
import { GatewayEnv } from '../gateway.env';
import { InferenceRouting } from '../routing/inference-routing';
import { PolicyNames } from '../policies/policy-names';
import { CallbackUrls } from '../webhooks/callback-urls';
import { BudgetsController } from './budgets.controller';
import { BudgetsService } from './budgets.service';
import { MembersController } from './members.controller';
import { MembersService } from './members.service';
import { WorkspacesController } from './workspaces.controller';
import { WorkspacesService } from './workspaces.service';
import { RoutingModule } from '../routing/routing.module';
import { WebhooksModule } from '../webhooks/webhooks.module';

@Module({
  imports: [RoutingModule, WebhooksModule],
  controllers: [WorkspacesController, BudgetsController, MembersController],
  providers: [
    {
      provide: WorkspacesService,
      inject: [MessageBus, CallbackUrls, InferenceRouting, GatewayEnv],
      useFactory: (bus: MessageBus, callbackUrls: CallbackUrls, routing: InferenceRouting, env: GatewayEnv) => {
        const policies = new PolicyNames(() => routing.catalogue());
        return new WorkspacesService(bus, callbackUrls, policies, env.CONTENT_LOGGING === 'on');
      },
    },
    { provide: BudgetsService, inject: [MessageBus], useFactory: (bus: MessageBus) => new BudgetsService(bus) },
    { provide: MembersService, inject: [MessageBus], useFactory: (bus: MessageBus) => new MembersService(bus) },
  ],
})
export class WorkspacesModule {}
