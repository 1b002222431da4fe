import { randomUUID } from 'node:crypto';
import { Controller, Logger, Module, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { Options } from 'amqplib';
import { IsInt } from 'class-validator';
import { call, type CallContract, type PartyName } from '@libs/contracts';
import { eventually, KnownQuestions, testIdentities, TestBroker } from '../testing';
import { consumeQueues, Handles, MessageBus, MessagingModule, type MessageContext } from '.';
import { MAX_CALL_BYTES } from './message-codec';
import { signAnswer, signQuestion } from './signatures';
import { exchangeOf } from './topology';

class CountRequest {
  @IsInt()
  by: number;
}

class CountResponse {
  count: number;
  asker: PartyName;
}

type Count = CallContract<CountRequest, CountResponse>;

const identities = testIdentities();

/** Changes the content or the properties of a question before it is sent. */
type Forgery = (question: { content: Buffer; properties: Options.Publish }) => {
  content?: Buffer;
  properties?: Options.Publish;
};

describe('messages that somebody else wrote', () => {
  let broker: TestBroker;
  let count: Count;
  let once: Count;
  let handled: { by: number; asker: PartyName }[];
  let replies: { id: string; content: string }[];
  let replyTo: string;
  const apps: INestApplication[] = [];

  beforeEach(async () => {
    Logger.overrideLogger(false);
    used.aheadMs = 0;
    broker = await TestBroker.connect();
    const queue = broker.callQueue();
    const common = { queue, timeoutMs: 3_000, request: CountRequest, response: CountResponse };
    count = call({ ...common, name: `${queue.name}.count`, askedBy: ['gateway', 'cli'], repeat: 'harmless' });
    once = call({ ...common, name: `${queue.name}.once`, askedBy: ['gateway'], repeat: 'refused' });
    handled = [];
    await startOwner();
    replies = [];
    replyTo = `replies.gateway.${randomUUID()}`;
    await broker.channel.assertExchange('replies.gateway', 'direct', { durable: true });
    await broker.channel.assertQueue(replyTo, { exclusive: true });
    await broker.channel.bindQueue(replyTo, 'replies.gateway', replyTo);
    await broker.channel.consume(
      replyTo,
      (message) => replies.push({ id: message!.properties.correlationId, content: message!.content.toString() }),
      { noAck: true },
    );
  });

  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close();
    await broker.close();
  });

  const used = new KnownQuestions();

  async function startOwner(): Promise<void> {
    const count_ = count;
    const once_ = once;
    const note = ({ by }: CountRequest, { asker }: MessageContext): CountResponse => {
      handled.push({ by, asker: asker! });
      return { count: handled.length, asker: asker! };
    };
    @Controller()
    class CountsConsumer {
      @Handles(count_)
      async count(request: CountRequest, context: MessageContext): Promise<CountResponse> {
        return note(request, context);
      }

      @Handles(once_)
      async once(request: CountRequest, context: MessageContext): Promise<CountResponse> {
        return note(request, context);
      }
    }
    @Module({ controllers: [CountsConsumer] })
    class OwnerModule {}
    const app = await NestFactory.create(OwnerModule, new FastifyAdapter(), { logger: false });
    await app.init();
    apps.push(app);
    const answering = { identity: identities.auth, usedQuestions: used };
    const contracts = [count, once];
    await consumeQueues(app, { amqpUrl: broker.secretUrl, queues: [count.queue], contracts, answering });
  }

  async function busOf(party: PartyName): Promise<MessageBus> {
    const module = MessagingModule.forRoot({
      amqpUrl: broker.secretUrl,
      identity: identities[party],
      serviceName: 'test',
    });
    const app = await NestFactory.create(module, new FastifyAdapter(), { logger: false });
    await app.init();
    apps.push(app);
    return app.get(MessageBus);
  }

  /** As the gateway would ask it. */
  function question(contract: Count, by: number, expiresAtMs = Date.now() + contract.timeoutMs) {
    const id = randomUUID();
    const content = Buffer.from(JSON.stringify({ pattern: contract.name, data: { by }, id }));
    const head = { contractName: contract.name, replyTo, id, expiresAtMs };
    const headers = signQuestion(identities.gateway, 'auth', head, content);
    return { content, properties: { type: contract.name, replyTo, correlationId: id, headers } };
  }

  function ask(content: Buffer, properties: Options.Publish): void {
    broker.channel.publish(exchangeOf(count.queue), count.queue.name, content, properties);
  }

  /** Until a question that was asked after all others has been answered. */
  async function untilAnswered(): Promise<void> {
    const last = question(count, 99);
    ask(last.content, last.properties);
    await eventually(() => replies.some(({ id }) => id === last.properties.correlationId), 'the last is answered');
  }

  it('are told from those of the party that signed them, which the handler knows', async () => {
    const bus = await busOf('gateway');
    await expect(bus.call(count, { by: 1 })).resolves.toEqual({ count: 1, asker: 'gateway' });
  });

  it('are refused with a reason when the party may not ask the contract', async () => {
    const bus = await busOf('cli');
    await expect(bus.call(once, { by: 1 })).rejects.toMatchObject({ code: 'permission_denied' });
    await expect(bus.call(count, { by: 1 })).resolves.toEqual({ count: 1, asker: 'cli' });
  });

  it('are not answered when the party may ask nothing of the owner', async () => {
    const bus = await busOf('video-worker');
    await expect(bus.call({ ...count, timeoutMs: 500 }, { by: 1 })).rejects.toMatchObject({ code: 'timeout' });
    await untilAnswered();
    expect(handled).toEqual([{ by: 99, asker: 'gateway' }]);
  });

  it.each<[string, Forgery]>([
    ['without a signature', () => ({ properties: { headers: {} } })],
    ['with another content', () => ({ content: Buffer.from('{}') })],
    ['of another contract', () => ({ properties: { type: once.name } })],
    ['that another queue is to be answered on', () => ({ properties: { replyTo: `replies.gateway.${randomUUID()}` } })],
    ['under another id', () => ({ properties: { correlationId: randomUUID() } })],
    ['that live longer', ({ properties }) => longer(properties)],
    ['in the name of the gateway, by the video worker', ({ properties }) => signedBy('video-worker', properties)],
    ['larger than a question may be, though signed', ({ properties }) => large(properties)],
    ['by a stranger who calls itself the gateway', ({ properties }) => signedByStranger(properties)],
  ])('are neither handled nor answered: questions %s', async (_, forge) => {
    const asked = question(count, 1);
    const forged = forge(asked);
    ask(forged.content ?? asked.content, { ...asked.properties, ...forged.properties });
    await untilAnswered();
    expect(handled).toEqual([{ by: 99, asker: 'gateway' }]);
    expect(replies).toHaveLength(1);
  });

  function longer({ headers }: Options.Publish): ReturnType<Forgery> {
    return { properties: { headers: { ...(headers as object), 'x-expires': String(Date.now() + 60_000) } } };
  }

  function large({ type, correlationId: id }: Options.Publish): ReturnType<Forgery> {
    const data = { by: 1, padding: 'a'.repeat(MAX_CALL_BYTES) };
    const content = Buffer.from(JSON.stringify({ pattern: type, data, id }));
    const head = { contractName: type!, replyTo, id: id!, expiresAtMs: Date.now() + count.timeoutMs };
    return { content, properties: { headers: signQuestion(identities.gateway, 'auth', head, content) } };
  }

  function signedBy(party: PartyName, { type, correlationId }: Options.Publish): ReturnType<Forgery> {
    const content = Buffer.from('{}');
    const head = { contractName: type!, replyTo, id: correlationId!, expiresAtMs: Date.now() + 1_000 };
    const headers = { ...signQuestion(identities[party], 'auth', head, content), 'x-from': 'gateway' };
    return { content, properties: { headers } };
  }

  function signedByStranger({ type, correlationId }: Options.Publish): ReturnType<Forgery> {
    const content = Buffer.from('{}');
    const head = { contractName: type!, replyTo, id: correlationId!, expiresAtMs: Date.now() + 1_000 };
    return { content, properties: { headers: signQuestion(testIdentities().gateway, 'auth', head, content) } };
  }

  it('are not handled after their time, nor if they were signed for longer than their contract allows', async () => {
    const ask_ = (contract: Count, expiresInMs: number): void => {
      const asked = question(contract, 1, Date.now() + expiresInMs);
      ask(asked.content, asked.properties);
    };
    for (const contract of [count, once]) for (const expiresInMs of [-31_000, 3_600_000]) ask_(contract, expiresInMs);
    await untilAnswered();
    expect(handled).toEqual([{ by: 99, asker: 'gateway' }]);
  });

  it('are not handled a moment after their time, when they change something', async () => {
    const asked = question(once, 1, Date.now() - 1);
    ask(asked.content, asked.properties);
    await untilAnswered();
    expect(handled).toEqual([{ by: 99, asker: 'gateway' }]);
  });

  it('change something in time by the clock of their owner, whatever that of their asker says', async () => {
    for (const [by, aheadMs] of [
      [1, 20_000],
      [2, -20_000],
    ] as const) {
      used.aheadMs = aheadMs;
      const bus = await busOf('gateway');
      await expect(bus.call(once, { by })).resolves.toEqual({ count: by, asker: 'gateway' });
    }
    const late = question(once, 3, Date.now() - 20_001);
    ask(late.content, late.properties);
    await untilAnswered();
    expect(handled.map(({ by }) => by)).toEqual([1, 2, 99]);
  });

  it('are handled once, when they are copies of a question that changes something, by all processes together', async () => {
    await startOwner();
    const asked = question(once, 7);
    for (let copy = 0; copy < 10; copy += 1) ask(asked.content, asked.properties);
    await eventually(() => replies.length > 0, 'one is answered');
    await untilAnswered();
    await untilAnswered();
    expect(handled.filter(({ by }) => by === 7)).toHaveLength(1);
    expect(replies.filter(({ id }) => id === asked.properties.correlationId)).toHaveLength(1);
  });

  it.each<PartyName>(['gateway', 'video-worker', 'credentials'])(
    'are no answers: what %s signs in the place of the owner',
    async (party) => {
      for (const app of apps.splice(0)) await app.close();
      const bus = await busOf('gateway');
      const patient = { ...count, timeoutMs: 10_000 };
      const answer = bus.call(patient, { by: 1 });
      const asked = await broker.next(count.queue.name);
      const id: string = asked.properties.correlationId;
      const content = Buffer.from(JSON.stringify({ id, response: { count: 666 }, isDisposed: true }));
      const head = { contractName: count.name, id };
      const reply = (identity: (typeof identities)[PartyName], forged: Buffer, given = head): void => {
        const headers = signAnswer(identity, 'gateway', given, forged);
        broker.channel.publish('replies.gateway', asked.properties.replyTo, forged, { correlationId: id, headers });
      };
      reply(identities[party], content);
      const padding = 'a'.repeat(MAX_CALL_BYTES);
      reply(identities.auth, Buffer.from(JSON.stringify({ id, response: { count: 666, padding }, isDisposed: true })));
      reply(identities.auth, content, { ...head, id: randomUUID() });
      reply(identities.auth, content, { ...head, contractName: once.name });
      reply(identities.auth, Buffer.from(JSON.stringify({ id, response: { count: 1 }, isDisposed: true })));
      await expect(answer).resolves.toEqual({ count: 1 });
    },
  );

  it.each([
    '{"err":{"code":"conflict","message":{"toString":1}}}',
    '{"err":{"code":{"toString":1},"message":"Busy"}}',
    '{"err":null}',
    'null',
    '[',
  ])('fail only the call that they answer when their owner signs %s', async (answered) => {
    for (const app of apps.splice(0)) await app.close();
    const bus = await busOf('gateway');
    const patient = { ...count, timeoutMs: 10_000 };
    const waiting = [bus.call(patient, { by: 1 }), bus.call(patient, { by: 2 })];
    const ends = Promise.allSettled(waiting);
    for (const content of [answered, '{"response":{"count":2}}'].map((text) => Buffer.from(text))) {
      const asked = await broker.next(count.queue.name);
      const id: string = asked.properties.correlationId;
      const headers = signAnswer(identities.auth, 'gateway', { contractName: count.name, id }, content);
      broker.channel.publish('replies.gateway', asked.properties.replyTo, content, { correlationId: id, headers });
    }
    const [first, second] = await ends;
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'server' } });
    expect(second).toEqual({ status: 'fulfilled', value: { count: 2 } });
  });
});
