import { AppError } from '@libs/errors';
import { OutboxRepository, WebhookDeliveriesRepository } from '@libs/persistence';
import { positional, type Command } from '../command';

/** Sends a webhook again, for a receiver that was repaired after the webhook was given up, or that lost it. */
export const webhooksRedeliver: Command = {
  name: 'webhooks redeliver',
  summary: 'Send a webhook again, under the same id, with ten new attempts',
  usage: 'ID',
  options: {},
  positionals: ['ID'],
  async run(args, installation) {
    const id = positional(args, 0);
    const database = await installation.database();
    const deliveries = new WebhookDeliveriesRepository(database, new OutboxRepository(database));
    if (!(await deliveries.redeliver(id))) throw new AppError('not_found', 'There is no such webhook');
    return { data: { id }, text: `${id} is being sent again.` };
  },
};
