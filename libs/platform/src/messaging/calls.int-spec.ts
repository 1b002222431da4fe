import { Controller, Logger, Module, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { IsInt, IsString, Max } from 'class-validator';
import { call, Secret, type CallContract, type Contract, type QueueSpec } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { eventually, KnownQuestions, testIdentities, TestBroker, type TcpProxy } from '../testing';
import { BrokerConnection, consumeQueues, Handles, MessageBus, MessagingModule } from '.';
import { CallReceiver } from './call-receiver';
import type { QueueConsumption } from './consume-queues';
import type { Delivery } from './delivery';
import { QueueConsumer } from './queue-consumer';
import { ReplySender } from './reply-sender';

class AddRequest {
  @IsInt()
  @Max(1_000_000)
  left: number;

  @IsInt()
  right: number;
}

class AddResponse {
  sum: number;
}

class FailRequest {
  @IsString()
  how: string;
}

class Nothing {}

class Removed {
  deleted: true;
}

interface TestContracts {
  readonly add: CallContract<AddRequest, AddResponse>;
  readonly fail: CallContract<FailRequest, Nothing>;
  readonly slow: CallContract<AddRequest, AddResponse>;
  readonly remove: CallContract<AddRequest, Removed>;
}

function contractsOf(queue: QueueSpec): TestContracts {
  const contract = <Q extends object, R extends object>(
    verb: string,
    request: new () => Q,
    response: new () => R,
    timeoutMs: number,
  ) =>
    call({
      queue,
      name: `${queue.name}.${verb}`,
      timeoutMs,
      askedBy: ['gateway'],
      repeat: 'harmless',
      request,
      response,
    });
  return {
    add: contract('add', AddRequest, AddResponse, 3_000),
    fail: contract('fail', FailRequest, Nothing, 3_000),
    slow: contract('slow', AddRequest, AddResponse, 400),
    remove: { ...contract('remove', AddRequest, Removed, 10_000), whenGone: { deleted: true } },
  };
}

/** A consumer of its own for each test queue, since the contract is part of the decorator. */
function consumerOf({ add, fail, slow, remove }: TestContracts) {
  @Controller()
  class SumsConsumer {
    static readonly requests: AddRequest[] = [];
    static released = Promise.withResolvers<void>();

    @Handles(add)
    async add(request: AddRequest): Promise<AddResponse> {
      SumsConsumer.requests.push(request);
      return { sum: request.left + request.right };
    }

    @Handles(fail)
    async fail({ how }: FailRequest): Promise<Nothing> {
      if (how === 'unforeseen') throw new TypeError('the disk is on fire');
      throw new AppError('conflict', 'Already there', {
        internal: 'not for you',
        metadata: { id: 'abc' },
        retryAfterSeconds: 7,
      });
    }

    /** There is nothing any more. */
    @Handles(remove)
    async remove(): Promise<Removed> {
      throw new AppError('not_found', 'No such sum');
    }

    @Handles(slow)
    async slow(request: AddRequest): Promise<AddResponse> {
      SumsConsumer.requests.push(request);
      await SumsConsumer.released.promise;
      return { sum: 0 };
    }
  }
  return SumsConsumer;
}

const isUnavailable = ({ code }: AppError): boolean => {
  expect(code).toBe('unavailable');
  return false;
};

const identities = testIdentities();
const answering = { identity: identities.auth, usedQuestions: new KnownQuestions() };

describe('calls over RabbitMQ', () => {
  let broker: TestBroker;
  let proxy: TcpProxy;
  let queue: QueueSpec;
  let contracts: TestContracts;
  let Consumer: ReturnType<typeof consumerOf>;
  let owner: INestApplication;
  let caller: INestApplication;
  let bus: MessageBus;
  let consumption: QueueConsumption;

  beforeEach(async () => {
    Logger.overrideLogger(false);
    broker = await TestBroker.connect();
    proxy = await broker.proxy();
    queue = broker.callQueue();
    contracts = contractsOf(queue);
    Consumer = consumerOf(contracts);
    owner = await newOwner();
    const amqpUrl = new Secret(proxy.through(broker.url));
    const messaging = MessagingModule.forRoot({ amqpUrl, identity: identities.gateway, serviceName: 'test' });
    caller = await NestFactory.create(messaging, new FastifyAdapter(), { logger: false });
    await caller.init();
    bus = caller.get(MessageBus);
  });

  async function newOwner(): Promise<INestApplication> {
    @Module({ controllers: [Consumer] })
    class OwnerModule {}
    const app = await NestFactory.create(OwnerModule, new FastifyAdapter(), { logger: false });
    await app.init();
    const amqpUrl = new Secret(proxy.through(broker.url));
    const all: Contract[] = Object.values(contracts);
    consumption = await consumeQueues(app, { amqpUrl, queues: [queue], contracts: all, answering });
    return app;
  }

  afterEach(async () => {
    Consumer.released.resolve();
    await caller.close();
    await owner.close();
    await proxy.close();
    await broker.close();
  });

  it('brings the answer of the owner, who gets an instance of the request class', async () => {
    await expect(bus.call(contracts.add, { left: 2, right: 3 })).resolves.toEqual({ sum: 5 });
    expect(Consumer.requests[0]).toBeInstanceOf(AddRequest);
  });

  it('answers a hundred questions asked at once, each with its own answer', async () => {
    const asked = Array.from({ length: 100 }, (_, left) => bus.call(contracts.add, { left, right: 1 }));
    const answers = await Promise.all(asked);
    expect(answers.map(({ sum }) => sum)).toEqual(Array.from({ length: 100 }, (_, left) => left + 1));
  });

  it("brings the owner's error with code, message, metadata and retry time, and nothing that is internal", async () => {
    const error = await bus.call(contracts.fail, { how: 'foreseen' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({
      code: 'conflict',
      message: 'Already there',
      metadata: { id: 'abc' },
      retryAfterSeconds: 7,
    });
    expect((error as AppError).internal).toBeUndefined();
  });

  it('turns an unforeseen error into a server error and logs it with its stack at the owner', async () => {
    const logged: unknown[][] = [];
    Logger.overrideLogger({
      log: () => undefined,
      warn: () => undefined,
      error: (...line: unknown[]) => logged.push(line),
    });
    const error = await bus.call(contracts.fail, { how: 'unforeseen' }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'server', message: 'Internal error' });
    expect(JSON.stringify(error)).not.toContain('disk');
    expect(logged).toHaveLength(1);
    expect(String(logged[0]?.[0])).toContain('the disk is on fire');
    expect(String(logged[0]?.[1])).toContain('SumsConsumer.fail');
  });

  it('answers a deletion as done when the owner that did it died before it could answer', async () => {
    await expect(bus.call(contracts.remove, { left: 1, right: 1 })).rejects.toMatchObject({ code: 'not_found' });
    await consumption.drain();
    const answer = bus.call(contracts.remove, { left: 1, right: 1 });
    answer.catch(() => undefined);
    const dying = await broker.model.createChannel();
    await eventually(async () => (await dying.get(queue.name)) !== false, 'an owner has the question');
    await dying.close();
    const again = await newOwner();
    await expect(answer).resolves.toEqual({ deleted: true });
    await again.close();
  });

  it('refuses an invalid request by the name of the member, and tolerates members of a newer caller', async () => {
    const invalid = await bus.call(contracts.add, { left: 2_000_000, right: 1 }).catch((thrown: unknown) => thrown);
    const message = 'left must be a whole number of at most 1000000 (it is 2000000)';
    expect(invalid).toMatchObject({ code: 'invalid_request', message });
    const newer = { left: 1, right: 1, addedNextYear: true };
    await expect(bus.call(contracts.add, newer)).resolves.toEqual({ sum: 2 });
  });

  it('gives up after the time of the contract and says which contract it was', async () => {
    const startedAt = performance.now();
    const error = await bus.call(contracts.slow, { left: 1, right: 1 }).catch((thrown: unknown) => thrown);
    expect(performance.now() - startedAt).toBeLessThan(1_500);
    expect(error).toMatchObject({ code: 'timeout', internal: expect.stringContaining(contracts.slow.name) });
  });

  it('lets a question expire that nobody took while its caller waited', async () => {
    await consumption.drain();
    await expect(bus.call(contracts.slow, { left: 1, right: 1 })).rejects.toMatchObject({ code: 'timeout' });
    await eventually(async () => (await broker.depth(queue.name)) === 0, 'the question expires');
  });

  it('fails at once when the owner has never run', async () => {
    const nobody = contractsOf(broker.callQueue());
    const startedAt = performance.now();
    const error = await bus.call(nobody.add, { left: 1, right: 1 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'unavailable',
      retryable: true,
      internal: expect.stringContaining('no queue'),
    });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it('answers a question of an unknown contract, and goes on', async () => {
    const unknown = { ...contracts.add, name: `${queue.name}.unknown` };
    await expect(bus.call(unknown, { left: 1, right: 1 })).rejects.toMatchObject({ code: 'server' });
    await expect(bus.call(contracts.add, { left: 1, right: 1 })).resolves.toEqual({ sum: 2 });
    await eventually(async () => (await broker.depth(queue.name)) === 0, 'both messages are gone');
  });

  it('fails pending calls when the connection is cut, and asks and answers again by itself', async () => {
    const patient = { ...contracts.slow, timeoutMs: 30_000 };
    const pending = bus.call(patient, { left: 1, right: 1 }).catch((thrown: unknown) => thrown);
    await eventually(() => Consumer.requests.length === 1, 'the question reaches the owner');
    proxy.refuse();
    await expect(pending).resolves.toMatchObject({ code: 'unavailable', internal: expect.stringContaining('lost') });
    await eventually(() => !consumption.isConnected(), 'readiness sees the loss');
    expect(caller.get(BrokerConnection).isConnected()).toBe(false);
    proxy.accept();
    const backAt = performance.now();
    await eventually(() => consumption.isConnected() && caller.get(BrokerConnection).isConnected(), 'both are back');
    const ask = () => bus.call(contracts.add, { left: 4, right: 4 });
    await eventually(() => ask().then(({ sum }) => sum === 8, isUnavailable), 'a question is answered');
    expect(performance.now() - backAt).toBeLessThan(10_000);
  });

  it('asks nothing while the connection is away, and says at once when to try again', async () => {
    await bus.call(contracts.add, { left: 1, right: 1 });
    proxy.refuse();
    await eventually(() => !caller.get(BrokerConnection).isConnected(), 'the caller sees the loss');
    const startedAt = performance.now();
    const error = await bus.call(contracts.add, { left: 1, right: 1 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'unavailable', status: 503, retryAfterSeconds: 2 });
    expect(performance.now() - startedAt).toBeLessThan(500);
  });

  it('waits for the first connection of a process', async () => {
    const amqpUrl = new Secret(proxy.through(broker.url));
    proxy.refuse();
    const module = MessagingModule.forRoot({ amqpUrl, identity: identities.gateway, serviceName: 'late' });
    const late = await NestFactory.create(module, new FastifyAdapter(), { logger: false });
    await late.init();
    try {
      const answer = late.get(MessageBus).call({ ...contracts.add, timeoutMs: 20_000 }, { left: 1, right: 1 });
      proxy.accept();
      await expect(answer).resolves.toEqual({ sum: 2 });
    } finally {
      await late.close();
    }
  });

  it('answers a question that was taken before the connection for answers was back', async () => {
    const answers = await broker.proxy();
    const connection = new BrokerConnection({ amqpUrl: new Secret(answers.through(broker.url)), name: 'answers' });
    const replies = new ReplySender(connection, identities.auth);
    answers.refuse();
    const { queue: replyTo } = await broker.channel.assertQueue('', { exclusive: true });
    await broker.channel.bindQueue(replyTo, 'replies.gateway', replyTo);
    connection.start();
    try {
      const asker = 'gateway' as const;
      const address = { asker, replyTo, correlationId: 'a', contractName: contracts.add.name, waitMs: 20_000 };
      const sent = replies.send({ response: { sum: 3 } }, address);
      answers.accept();
      await sent;
      await eventually(async () => (await broker.depth(replyTo)) === 1, 'the answer arrives');
    } finally {
      await replies.close();
      await connection.close();
      await answers.close();
    }
  });

  it('handles a question once, also when its connection is cut while the answer waits', async () => {
    const [questions, answers] = [await broker.proxy(), await broker.proxy()];
    const connection = new BrokerConnection({ amqpUrl: new Secret(answers.through(broker.url)), name: 'answers' });
    const replies = new ReplySender(connection, identities.auth);
    const own = contractsOf(broker.callQueue()).add;
    const contract = { ...own, timeoutMs: 10_000 };
    let handled = 0;
    const count = async (): Promise<AddResponse> => ({ sum: (handled += 1) });
    const receiver = new CallReceiver(new Map([[own.name, contract as Contract]]), count, replies, answering);
    const amqpUrl = new Secret(questions.through(broker.url));
    const deliveries: Delivery[] = [];
    const receive = (delivery: Delivery): Promise<void> => {
      deliveries.push(delivery);
      return receiver.receive(delivery);
    };
    const consumer = new QueueConsumer({ amqpUrl, name: 'questions', queue: own.queue, receive });
    answers.refuse();
    for (const one of [connection, consumer]) one.start();
    try {
      await consumer.whenConsuming(10_000);
      const answer = bus.call(contract, { left: 1, right: 1 });
      await eventually(() => deliveries[0]?.isSettled === true, 'the question is acknowledged');
      // The broker reads a channel in order: it has the acknowledgement when it answers.
      await deliveries[0]!['channel'].checkQueue(own.queue.name);
      questions.cut();
      await eventually(() => !consumer.isConsuming(), 'the loss is seen');
      await consumer.whenConsuming(10_000);
      answers.accept();
      await expect(answer).resolves.toEqual({ sum: 1 });
      expect(handled).toBe(1);
    } finally {
      await consumer.drain(1_000);
      await replies.close();
      await connection.close();
      await questions.close();
      await answers.close();
    }
  });

  it('publishes what a call changed before it is answered, also when the answer is an error', async () => {
    const order: string[] = [];
    const changing = { ...contracts.fail, name: `${queue.name}.change`, changes: 'access' as const };
    @Controller()
    class ChangingConsumer {
      @Handles(changing)
      async change(): Promise<Nothing> {
        throw new AppError('permission_denied', 'A replay');
      }
    }
    @Module({ controllers: [ChangingConsumer] })
    class ChangingModule {}
    const app = await NestFactory.create(ChangingModule, new FastifyAdapter(), { logger: false });
    await app.init();
    const announce = async (feed: string): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      order.push(`${feed} published`);
    };
    const amqpUrl = new Secret(proxy.through(broker.url));
    const options = { amqpUrl, queues: [queue], contracts: [changing], answering: { ...answering, announce } };
    const consuming = await consumeQueues(app, options);
    try {
      await consumption.drain();
      await bus.call(changing, { how: 'x' }).catch(({ code }: AppError) => order.push(code));
      expect(order).toEqual(['access published', 'permission_denied']);
    } finally {
      await consuming.drain();
      await app.close();
    }
  });

  it('takes up its queue again when somebody deleted it', async () => {
    await broker.channel.deleteQueue(queue.name);
    await eventually(() => !consumption.isConnected(), 'the consumer notices');
    await eventually(() => consumption.isConnected(), 'the queue is declared again');
    await expect(bus.call(contracts.add, { left: 1, right: 1 })).resolves.toEqual({ sum: 2 });
  });
});
