import { Controller } from '@nestjs/common';
import { DeliverWebhook } from '@libs/contracts';
import { Handles } from '@libs/platform';
import { DeliveryLaneService } from './delivery-lane.service';

@Controller()
export class WebhooksConsumer {
  constructor(private readonly lane: DeliveryLaneService) {}

  /** The rows say what to send, whichever of them the message names. */
  @Handles(DeliverWebhook)
  async deliver(): Promise<void> {
    this.lane.wake();
  }
}
