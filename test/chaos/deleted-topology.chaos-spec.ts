import { connect, type Channel } from 'amqplib';
import { queues, type PartyName } from '@libs/contracts';
import { catalogueOf } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';

/** What an app may do to the broker with its own user, once, and no more: the others must get their answers back. */
const MODEL = {
  slug: 'x/none',
  provider: 'openai',
  baseUrl: 'http://127.0.0.1:9/v1',
  pricing: { prompt: '0', completion: '0' },
};
const BACK_WITHIN_MS = 20_000;
const CREDENTIALS = 'credentials.calls';

let installation: Installation;
let manager: ApiClient;

beforeAll(async () => {
  installation = await Installation.start({
    catalogue: catalogueOf([MODEL]),
    apps: ['auth', 'credentials', 'gateway'],
    ownBroker: true,
  });
  manager = installation.client(installation.seed.managementKey);
  await untilAnswered();
}, 240_000);

afterAll(async () => {
  await manager?.close();
  await installation?.stop();
}, 120_000);

async function as(party: PartyName, attempt: (channel: Channel) => Promise<unknown>): Promise<void> {
  const connection = await connect(installation.brokerEnvironmentOf(party)['AMQP_URL']!);
  try {
    await attempt(await connection.createChannel());
  } finally {
    await connection.close();
  }
}

async function answers(): Promise<string> {
  const [keys, credentials] = await Promise.all([manager.request('GET', '/keys'), manager.request('GET', '/byok')]);
  return `auth ${keys.status}, credentials ${credentials.status}`;
}

const untilAnswered = (): Promise<true> =>
  eventually('auth and credentials answer', BACK_WITHIN_MS, async () =>
    (await answers()) === 'auth 200, credentials 200' ? true : undefined,
  );

const untilHealthIs = (app: string, status: number): Promise<true> =>
  eventually(`the readiness of ${app} is ${status}`, BACK_WITHIN_MS, async () =>
    (await fetch(`${installation.healthUrlOf(app)}/health/ready`)).status === status ? true : undefined,
  );

const LOSSES: readonly (readonly [string, PartyName, (channel: Channel) => Promise<unknown>])[] = [
  ['the exchange of questions to auth', 'auth', (channel) => channel.deleteExchange('auth.calls')],
  ['the queue of auth', 'auth', (channel) => channel.deleteQueue(queues.auth.name)],
  [
    'the binding of the queue of auth',
    'auth',
    (channel) => channel.unbindQueue(queues.auth.name, 'auth.calls', queues.auth.name),
  ],
  ['the exchange of questions to credentials', 'credentials', (channel) => channel.deleteExchange(CREDENTIALS)],
  ['the queue of credentials', 'credentials', (channel) => channel.deleteQueue(queues.credentials.name)],
  ['the exchange of answers to the gateway', 'gateway', (channel) => channel.deleteExchange('replies.gateway')],
];

describe('a foothold that deletes once what its app owns on the broker', () => {
  it.each(LOSSES)(
    'stops the others for seconds only: %s',
    async (_what, party, deletes) => {
      await as(party, deletes);
      await untilAnswered();
      for (const app of ['auth', 'credentials', 'gateway']) await untilHealthIs(app, 200);
    },
    60_000,
  );

  it('shows in the readiness of the owner while the exchange cannot be declared again', async () => {
    await as('credentials', async (channel) => {
      await channel.deleteExchange(CREDENTIALS);
      await channel.assertExchange(CREDENTIALS, 'fanout', { durable: false });
    });
    await untilHealthIs('credentials', 503);
    await as('credentials', (channel) => channel.deleteExchange(CREDENTIALS));
    await untilAnswered();
    await untilHealthIs('credentials', 200);
  }, 90_000);
});
