import { randomUUID } from 'node:crypto';
import { type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { connect, type Channel } from 'amqplib';
import {
  allContracts,
  hashApiKey,
  labelApiKey,
  mintApiKey,
  OpenCredential,
  openingPurpose,
  OpenWebhookSecrets,
  queues,
  Secret,
  type CallContract,
  type OpenCredentialRequest,
  type PartyName,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { storeVideo } from '@libs/persistence/testing';
import { BrokerIdentity, MessageBus, MessagingModule, SealingKeyPair } from '@libs/platform';
import { catalogueOf } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';

/**
 * Somebody who has taken a process over: its keys on the broker, its broker user, and the ids of a tenant. What the
 * process may ask is known; these are attempts at everything else.
 */
class Foothold {
  readonly #contexts: INestApplicationContext[] = [];

  constructor(
    private readonly installation: Installation,
    readonly party: PartyName,
  ) {}

  /** Asks as the process would. @param url with another broker user than its own */
  async bus(url?: string): Promise<MessageBus> {
    const environment = this.installation.brokerEnvironmentOf(this.party);
    const identity = BrokerIdentity.from(this.party, {
      BROKER_PRIVATE_KEYS: new Secret(environment['BROKER_PRIVATE_KEYS']!),
      BROKER_PUBLIC_KEYS: environment['BROKER_PUBLIC_KEYS']!,
    });
    const amqpUrl = new Secret(url ?? environment['AMQP_URL']!);
    const module = MessagingModule.forRoot({ amqpUrl, identity, serviceName: 'foothold' });
    const context = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    this.#contexts.push(context);
    return context.get(MessageBus);
  }

  /** Does something with its broker user. Returns the reply code with which the broker refuses it, or 0. */
  async tries(attempt: (channel: Channel) => unknown): Promise<number> {
    const connection = await connect(this.installation.brokerEnvironmentOf(this.party)['AMQP_URL']!);
    try {
      const channel = await connection.createChannel();
      const closed = new Promise<number>((resolve) => {
        channel.on('error', ({ code }: { code: number }) => resolve(code));
      });
      const done = (async () => {
        await attempt(channel);
        // The broker reads a channel in order: it has judged the attempt when it answers.
        await channel.checkExchange('amq.direct');
        return 0;
      })().catch(() => closed);
      return await Promise.race([closed, done]);
    } finally {
      await connection.close();
    }
  }

  /**
   * Fills a durable queue of a type that it declares. Returns how many of so many messages the broker keeps in it.
   */
  async keeps(type: string, message: Buffer, count: number): Promise<number> {
    const queue = `replies.${this.party}.${randomUUID()}`;
    const connection = await connect(this.installation.brokerEnvironmentOf(this.party)['AMQP_URL']!);
    try {
      const channel = await connection.createConfirmChannel();
      await channel.assertExchange(`replies.${this.party}`, 'direct', { durable: true });
      await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': type } });
      await channel.bindQueue(queue, `replies.${this.party}`, queue);
      for (let sent = 0; sent < count; sent += 1) {
        channel.publish(`replies.${this.party}`, queue, message, { persistent: true });
      }
      await channel.waitForConfirms();
      // A stream counts its messages, and drops what is too much, some seconds later.
      let [kept, sinceMs] = [0, performance.now()];
      return await eventually(`${queue} has settled`, 40_000, async () => {
        const { messageCount } = await channel.checkQueue(queue);
        if (messageCount !== kept) [kept, sinceMs] = [messageCount, performance.now()];
        return kept > 0 && performance.now() - sinceMs > SETTLED_MS ? kept : undefined;
      });
    } finally {
      await connection.close();
    }
  }

  async close(): Promise<void> {
    for (const context of this.#contexts) await context.close();
  }
}

const MODEL = {
  slug: 'footholds/none',
  provider: 'openai',
  baseUrl: 'http://127.0.0.1:9/v1',
  pricing: { prompt: '0', completion: '0' },
};
const RAW_KEY = `sk-canary-${'b'.repeat(32)}`;
/** For an answer that must not come; a busy machine takes a part of it. */
const LONGEST_WAIT_MS = 8_000;
/** For a refusal that must come, also from a machine that is busy. */
const ANSWER_WITHIN_MS = 60_000;
/** Longer than a stream takes to count its messages anew. */
const SETTLED_MS = 8_000;
const CALLS = allContracts.filter((contract): contract is CallContract<object, object> => contract.kind === 'call');

let installation: Installation;
let manager: ApiClient;
let credentialId: string;
let organizationId: string;
const footholds: Foothold[] = [];

beforeAll(async () => {
  installation = await Installation.start({
    catalogue: catalogueOf([MODEL]),
    apps: ['auth', 'credentials', 'gateway'],
  });
  manager = installation.client(installation.seed.managementKey);
  const made = await manager.request('POST', '/byok', { provider: 'openai', key: RAW_KEY });
  expect(made.status).toBe(200);
  credentialId = (made.body as { data: { id: string } }).data.id;
  const row = await installation.database.firstRow<{ id: string }>({
    sql: 'SELECT organization_id AS id FROM credentials WHERE id = $1',
    values: [credentialId],
  });
  organizationId = row!.id;
});

afterAll(async () => {
  for (const foothold of footholds) await foothold.close();
  await manager?.close();
  await installation?.stop();
});

function footholdIn(party: PartyName): Foothold {
  const foothold = new Foothold(installation, party);
  footholds.push(foothold);
  return foothold;
}

const codeOf = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'answered',
    (thrown: unknown) => AppError.from(thrown).code,
  );

/** The tenant's ids and a key of the attacker's own, in whatever member a contract has for them. */
function loot(): object {
  const key = mintApiKey('sluice', 'management');
  return {
    organizationId,
    workspaceId: installation.seed.workspaceId,
    id: credentialId,
    kind: 'management',
    hash: hashApiKey(key),
    keyHash: hashApiKey(installation.seed.apiKey),
    label: labelApiKey(key),
    name: 'Ours now',
    offset: 0,
    limit: 10,
    includeDisabled: true,
  };
}

const questionFor = (pair: SealingKeyPair, apiKeyHash: string): OpenCredentialRequest => ({
  organizationId,
  workspaceId: installation.seed.workspaceId,
  id: credentialId,
  apiKeyHash,
  recipient: pair.publicKey,
});

const storedKeys = async (): Promise<number> =>
  (await installation.database.firstRow<{ n: number }>({ sql: 'SELECT count(*)::integer AS n FROM api_keys' }))!.n;

const forbiddenTo = (party: PartyName) => CALLS.filter(({ askedBy }) => !askedBy.includes(party));

async function askAll(party: PartyName): Promise<readonly string[]> {
  const bus = await footholdIn(party).bus(installation.broker.url);
  const forbidden = forbiddenTo(party);
  // A question that is not sent, because the connection is not open yet, would prove nothing.
  await eventually(`${party} is connected`, 60_000, async () => {
    const code = await codeOf(bus.call({ ...forbidden[0]!, timeoutMs: 1_000 }, loot()));
    return code === 'unavailable' ? undefined : true;
  });
  return Promise.all(
    forbidden.map(async (contract) => {
      const timeoutMs = isStranger(party, contract) ? Math.min(contract.timeoutMs, LONGEST_WAIT_MS) : ANSWER_WITHIN_MS;
      return `${contract.name} ${await codeOf(bus.call({ ...contract, timeoutMs }, loot()))}`;
    }),
  );
}

/** An owner does not even answer a party that may ask it nothing. */
const isStranger = (party: PartyName, { queue }: (typeof CALLS)[number]): boolean =>
  !CALLS.some((one) => one.queue.name === queue.name && one.askedBy.includes(party));

describe('a foothold in one app', () => {
  const PARTIES: readonly PartyName[] = ['video-worker', 'batch-worker', 'credentials', 'auth'];
  let before: number;
  /** Most questions are not even answered, so all parties wait together. */
  let asked: ReadonlyMap<PartyName, Promise<readonly string[]>>;

  beforeAll(async () => {
    before = await storedKeys();
    asked = new Map(PARTIES.map((party) => [party, askAll(party)]));
  });

  it.each(PARTIES)(
    'is refused every question of others, even with all rights on the broker: %s',
    async (party) => {
      const answers = await asked.get(party)!;
      const forbidden = forbiddenTo(party);
      expect(forbidden.length).toBeGreaterThan(40);
      const refusals = forbidden.map(
        (contract) => `${contract.name} ${isStranger(party, contract) ? 'timeout' : 'permission_denied'}`,
      );
      expect(answers).toEqual(refusals);
      expect(await storedKeys()).toBe(before);
    },
    90_000,
  );
});

describe('a foothold in video-worker', () => {
  const HASH = 'c'.repeat(64);

  it('opens no key and no webhook secret that it has no open job for', async () => {
    const bus = await footholdIn('video-worker').bus();
    const pair = SealingKeyPair.generate();
    expect(await codeOf(bus.call(OpenCredential, questionFor(pair, HASH)))).toBe('not_found');
    const { organizationId: of, workspaceId, recipient } = questionFor(pair, HASH);
    expect(await codeOf(bus.call(OpenWebhookSecrets, { organizationId: of, workspaceId, recipient }))).toBe(
      'not_found',
    );
  });

  it('opens the key of the job that it has, and not in the name of another API key', async () => {
    const bus = await footholdIn('video-worker').bus();
    const { workspaceId } = installation.seed;
    await storeVideo(installation.database, { organizationId, workspaceId, apiKeyHash: HASH, credentialId });
    const pair = SealingKeyPair.generate();
    const { sealedKey } = await bus.call(OpenCredential, questionFor(pair, HASH));
    expect((await pair.open(sealedKey, openingPurpose(credentialId))).reveal()).toBe(RAW_KEY);
    expect(await codeOf(bus.call(OpenCredential, questionFor(pair, 'd'.repeat(64))))).toBe('not_found');
    await installation.database.execute({
      sql: `UPDATE videos SET status = 'failed', finished_at = now(), request = NULL`,
    });
    expect(await codeOf(bus.call(OpenCredential, questionFor(pair, HASH)))).toBe('not_found');
  });

  it('is kept by its broker user from asking, answering and announcing in the place of others', async () => {
    if (!installation.broker.hasUsers) return;
    const foothold = footholdIn('video-worker');
    const message = Buffer.from('{}');
    const attempts: Readonly<Record<string, (channel: Channel) => unknown>> = {
      'asks auth': (channel) => channel.publish('auth.calls', queues.auth.name, message),
      'asks auth by the default exchange': (channel) => channel.publish('', queues.auth.name, message),
      'answers the gateway': (channel) =>
        channel.publish('replies.gateway', `replies.gateway.${randomUUID()}`, message),
      'announces a change': (channel) => channel.publish('changes.access', '', message),
      'takes questions to auth': (channel) => channel.consume(queues.auth.name, () => undefined),
      'takes questions to credentials': (channel) => channel.get(queues.credentials.name),
      'listens to questions': (channel) => bindTo(channel, 'credentials.calls', queues.credentials.name),
      'listens to answers': (channel) => bindTo(channel, 'replies.gateway', '#'),
      'takes the queue of auth away': (channel) => channel.deleteQueue(queues.auth.name),
      'takes the queue of batches away': (channel) => channel.deleteQueue(queues.batches.name),
      'declares the queue of batches otherwise': (channel) =>
        channel.assertQueue(`${queues.batches.name}.dead`, { durable: true, maxPriority: 3 }),
      'takes the jobs of batches': (channel) => channel.get(queues.batches.name),
      'empties the queue of batches': (channel) => channel.purgeQueue(queues.batches.name),
      'takes the exchange of changes away': (channel) => channel.deleteExchange('changes.credentials'),
      'leads its dead letters to auth': (channel) =>
        channel.assertQueue('video-jobs.mine', { deadLetterExchange: '', deadLetterRoutingKey: queues.auth.name }),
    };
    for (const [name, attempt] of Object.entries(attempts)) {
      expect(`${name}: ${await foothold.tries(attempt)}`).toBe(`${name}: 403`);
    }
    expect(await foothold.tries((channel) => channel.publish('credentials.calls', 'credentials', message))).toBe(0);
  });

  it.each(['classic', 'quorum', 'stream'])(
    'fills only so much of the disk of the broker with a queue of its own: %s',
    async (type) => {
      if (!installation.broker.hasUsers) return;
      const block = Buffer.alloc(1024 * 1024);
      const kept = await footholdIn('video-worker').keeps(type, block, 400);
      // A stream drops whole segments, and only when it begins another, so a fast writer is ahead of it.
      const bound = type === 'stream' ? 192 : 64;
      expect(kept * block.length).toBeLessThanOrEqual(bound * 1024 * 1024);
      expect(kept).toBeGreaterThan(0);
    },
  );

  it('declares no queue below the name of one that it owns', async () => {
    if (!installation.broker.hasUsers) return;
    const declares = (channel: Channel) => channel.assertQueue(`${queues.videos.name}.mine`, { durable: true });
    expect(await footholdIn('video-worker').tries(declares)).toBe(403);
  });

  async function bindTo(channel: Channel, exchange: string, key: string): Promise<void> {
    const { queue } = await channel.assertQueue(`video-jobs.${randomUUID()}`, { exclusive: true });
    await channel.bindQueue(queue, exchange, key);
  }

  it('leaves the gateway working', async () => {
    const answer = await manager.request('GET', '/keys');
    expect(answer.status).toBe(200);
  });
});
