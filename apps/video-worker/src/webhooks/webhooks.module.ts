import { Module } from '@nestjs/common';
import { Egress, MessageBus } from '@libs/platform';
import { VideoWorkerEnv } from '../video-worker.env';
import { DeliveryLaneService } from './delivery-lane.service';
import { DeliverySweeperService } from './delivery-sweeper.service';
import { ReceiverBreakers } from './receiver-breakers';
import { SigningSecrets } from './signing-secrets';
import { WebhookSender } from './webhook-sender';
import { WebhooksConsumer } from './webhooks.consumer';

/** Needs the (global) messaging and persistence modules. */
@Module({
  controllers: [WebhooksConsumer],
  providers: [
    DeliveryLaneService,
    DeliverySweeperService,
    WebhookSender,
    { provide: ReceiverBreakers, useFactory: () => new ReceiverBreakers() },
    { provide: SigningSecrets, inject: [MessageBus], useFactory: (bus: MessageBus) => new SigningSecrets(bus) },
    {
      provide: Egress,
      inject: [VideoWorkerEnv],
      useFactory: (env: VideoWorkerEnv) => new Egress({ allowCidrs: env.EGRESS_ALLOW_CIDRS ?? [] }),
    },
  ],
})
export class WebhooksModule {}
