import { IsString, Length } from 'class-validator';
import { job } from '../messages/contract';
import { queues } from '../messages/queues';

export class DeliverWebhookPayload {
  /** Id of the event, which its receivers see as `webhook-id`. */
  @IsString()
  @Length(1, 200)
  deliveryId: string;
}

/** An event waits to be sent to its receiver. */
export const DeliverWebhook = job({
  queue: queues.webhooks,
  name: 'webhooks.deliver-webhook',
  payload: DeliverWebhookPayload,
});
