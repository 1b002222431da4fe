import { OutboxRepository, WebhookDeliveriesRepository, type WebhookReport } from '@libs/persistence';
import { optionalId, optionalText, UsageError, type Command } from '../command';
import { table } from '../table';

const STATES: ReadonlyMap<string, WebhookReport['state']> = new Map([
  ['pending', 'pending'],
  ['delivered', 'delivered'],
  ['given-up', 'given up'],
]);
const LIMIT = 100;

/** Lists the newest events and the state of their delivery; neither their content nor more of a URL than its host. */
export const webhooksList: Command = {
  name: 'webhooks list',
  summary: 'Show the newest webhooks and how far their delivery is',
  usage: '[--state pending|delivered|given-up] [--workspace ID]',
  options: { state: { type: 'string' }, workspace: { type: 'string' } },
  positionals: [],
  async run(args, installation) {
    const named = optionalText(args, 'state');
    const state = named === undefined ? null : (STATES.get(named) ?? null);
    if (named !== undefined && state === null) throw new UsageError('--state must be pending, delivered or given-up');
    const workspaceId = optionalId(args, 'workspace') ?? null;
    const database = await installation.database();
    const deliveries = new WebhookDeliveriesRepository(database, new OutboxRepository(database));
    const webhooks = await deliveries.list({ state, workspaceId, limit: LIMIT });
    const rows = webhooks.map((one) => [
      one.id,
      one.host,
      one.state,
      String(one.attempts),
      one.createdAt.toISOString(),
      one.state === 'pending' ? one.nextAttemptAt.toISOString() : '-',
      one.lastError ?? (one.lastStatus === null ? '-' : String(one.lastStatus)),
    ]);
    return { data: webhooks, text: table(['ID', 'HOST', 'STATE', 'ATTEMPTS', 'CREATED', 'NEXT', 'LAST'], rows) };
  },
};
