import { Controller, Logger, Module, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { IsString } from 'class-validator';
import { job, Secret, type JobContract, type QueueSpec } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { eventually, TestBroker, type TcpProxy, testIdentities } from '../testing';
import { consumeQueues, Handles, MessageBus, MessagingModule, OutboxModule, OutboxRelay, OutboxSource } from '.';
import type { QueueConsumption } from './consume-queues';
import type { OutboxDelay, OutboxMessage, OutboxState } from './outbox-source';
import { declareTopology, queueDeclarations } from './topology';

class RunBatch {
  @IsString()
  batchId: string;
}

type Work = (payload: RunBatch) => Promise<void>;

/** The outbox as a list: forgets what was confirmed, as the table does. */
class ListedOutbox extends OutboxSource {
  pending: OutboxMessage[] = [];
  readonly #leased = new Set<string>();

  override async claim(limit: number): Promise<readonly OutboxMessage[]> {
    const due = this.pending.filter(({ id }) => !this.#leased.has(id)).slice(0, limit);
    for (const { id } of due) this.#leased.add(id);
    return due;
  }

  override async forget(ids: readonly string[]): Promise<void> {
    this.pending = this.pending.filter(({ id }) => !ids.includes(id));
  }

  override async postpone(delays: readonly OutboxDelay[]): Promise<void> {
    for (const { id, isAttempt } of delays) if (!isAttempt) this.#leased.delete(id);
  }

  override async measure(): Promise<OutboxState> {
    return { oldestSeconds: 0, stuck: 0 };
  }
}

function consumerOf(contract: JobContract<RunBatch>, work: Work) {
  @Controller()
  class BatchesConsumer {
    @Handles(contract)
    run(payload: RunBatch): Promise<void> {
      return work(payload);
    }
  }
  return BatchesConsumer;
}

describe('jobs over RabbitMQ', () => {
  let broker: TestBroker;
  let proxy: TcpProxy;
  let queue: QueueSpec;
  let contract: JobContract<RunBatch>;
  let sender: INestApplication;
  let bus: MessageBus;
  let outbox: ListedOutbox;
  const workers: INestApplication[] = [];

  beforeEach(async () => {
    Logger.overrideLogger(false);
    broker = await TestBroker.connect();
    proxy = await broker.proxy();
    use(broker.jobQueue());
    outbox = new ListedOutbox();
    @Module({ providers: [{ provide: OutboxSource, useValue: outbox }], exports: [OutboxSource] })
    class OutboxSourceModule {}
    @Module({
      imports: [
        MessagingModule.forRoot({
          amqpUrl: new Secret(proxy.through(broker.url)),
          identity: testIdentities().gateway,
          serviceName: 'test',
        }),
        OutboxModule.forRoot({ source: OutboxSource, imports: [OutboxSourceModule], contracts: [contract] }),
      ],
    })
    class SenderModule {}
    sender = await NestFactory.create(SenderModule, new FastifyAdapter(), { logger: false });
    await sender.init();
    bus = sender.get(MessageBus);
  });

  afterEach(async () => {
    await sender.close();
    for (const worker of workers.splice(0)) await worker.close();
    await proxy.close();
    await broker.close();
  });

  const workerHasRun = (): Promise<number> => declareTopology(broker.model, queue);

  function use(spec: QueueSpec): void {
    queue = spec;
    contract = job({ queue, name: `${spec.name}.run-batch`, payload: RunBatch });
  }

  async function startWorker(work: Work, drainTimeoutMs = 25_000): Promise<QueueConsumption> {
    @Module({ controllers: [consumerOf(contract, work)] })
    class WorkerModule {}
    const worker = await NestFactory.create(WorkerModule, new FastifyAdapter(), { logger: false });
    await worker.init();
    workers.push(worker);
    const amqpUrl = new Secret(proxy.through(broker.url));
    return consumeQueues(worker, { amqpUrl, queues: [queue], contracts: [contract], drainTimeoutMs });
  }

  it('keeps a job in the outbox until its worker has declared the queue, which a sender may not', async () => {
    await expect(bus.send(contract, { batchId: 'b1' })).rejects.toMatchObject({
      code: 'unavailable',
      internal: expect.stringContaining('batch-worker has never run'),
    });
    const seen: RunBatch[] = [];
    await startWorker(async (payload) => void seen.push(payload));
    await bus.send(contract, { batchId: 'b1' });
    await eventually(() => seen.length === 1, 'the job is handled');
    expect(seen[0]).toBeInstanceOf(RunBatch);
    expect(seen[0]).toEqual({ batchId: 'b1' });
    await eventually(async () => (await broker.depth(queue.name)) === 0, 'the job is acknowledged');
  });

  it('works on as many jobs at once as the prefetch of the queue says, and no more', async () => {
    const release = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    let done = 0;
    await startWorker(async () => {
      most = Math.max(most, ++running);
      await release.promise;
      running -= 1;
      done += 1;
    });
    await Promise.all(Array.from({ length: 10 }, () => bus.send(contract, { batchId: 'b' })));
    await eventually(() => running === queue.prefetch, 'the worker is full');
    release.resolve();
    await eventually(() => done === 10, 'all are done');
    expect(most).toBe(queue.prefetch);
  });

  it('is over with a job whose handler threw, which the sweeper repeats, and takes the next', async () => {
    const tried: string[] = [];
    await startWorker(async ({ batchId }) => {
      tried.push(batchId);
      throw new AppError('provider_unavailable', 'upstream is away');
    });
    await bus.send(contract, { batchId: 'b1' });
    await eventually(async () => (await broker.depth(queue.name)) === 0 && tried.length === 1, 'the job is over');
    await bus.send(contract, { batchId: 'b2' });
    await eventually(() => tried.length === 2, 'the next is handled');
    expect(tried).toEqual(['b1', 'b2']);
    expect(await broker.depth(`${queue.name}.dead`)).toBe(0);
  });

  it.each([
    ['is not readable', () => Buffer.from('{"pattern":')],
    [
      'is of an unknown contract',
      () => Buffer.from(JSON.stringify({ pattern: 'no.such-job', data: { batchId: 'b' } })),
    ],
    ['breaks its validation', () => Buffer.from(JSON.stringify({ pattern: contract.name, data: { batchId: 7 } }))],
  ])('lays a job that %s in the dead queue at once', async (_, content) => {
    let tries = 0;
    await startWorker(async () => void (tries += 1));
    broker.channel.sendToQueue(queue.name, content());
    const dead = await broker.next(`${queue.name}.dead`);
    expect(dead.properties.headers?.['x-first-death-reason']).toBe('rejected');
    expect(dead.content).toEqual(content());
    expect(tries).toBe(0);
  });

  it('lets the broker put aside a job that takes its channel down again and again', async () => {
    let tries = 0;
    await startWorker(async () => {
      tries += 1;
      proxy.cut();
      await new Promise<never>(() => undefined);
    }, 10);
    await broker.channel.assertQueue(queue.name, { durable: true, arguments: queueDeclarations(queue)[1]?.arguments });
    broker.channel.sendToQueue(
      queue.name,
      Buffer.from(JSON.stringify({ pattern: contract.name, data: { batchId: 'b' } })),
      {
        persistent: true,
      },
    );
    const dead = await broker.next(`${queue.name}.dead`);
    expect(tries).toBe(1 + Number(queue.deliveryLimit));
    expect(dead.properties.headers?.['x-first-death-reason']).toBe('delivery_limit');
  });

  it('counts a message that no queue takes as not sent, and sends the next once the queue is there again', async () => {
    await workerHasRun();
    await bus.send(contract, { batchId: 'b1' });
    await broker.channel.deleteQueue(queue.name);
    await expect(bus.send(contract, { batchId: 'b2' })).rejects.toMatchObject({
      code: 'unavailable',
      internal: expect.stringContaining('no queue takes it'),
    });
    await workerHasRun();
    await bus.send(contract, { batchId: 'b3' });
    expect(await broker.depth(queue.name)).toBe(1);
  });

  it('refuses a job that is larger than a job may be', async () => {
    await expect(bus.send(contract, { batchId: 'b'.repeat(4_096) })).rejects.toMatchObject({
      code: 'server',
      internal: expect.stringContaining('4096'),
    });
  });

  it('says that nothing was sent while the broker cannot be reached, and sends again once it can', async () => {
    await workerHasRun();
    await bus.send(contract, { batchId: 'b1' });
    proxy.refuse();
    await expect(bus.send(contract, { batchId: 'b2' })).rejects.toMatchObject({ code: 'unavailable' });
    proxy.accept();
    await eventually(
      () =>
        bus.send(contract, { batchId: 'b3' }).then(
          () => true,
          () => false,
        ),
      'the sender is back',
      10_000,
    );
    expect(await broker.depth(queue.name)).toBe(2);
  });

  it('goes on consuming by itself after its connection was cut, and does every job', async () => {
    const seen = new Set<string>();
    const consumption = await startWorker(async ({ batchId }) => void seen.add(batchId));
    await bus.send(contract, { batchId: 'before' });
    await eventually(() => seen.has('before'), 'the first job is handled');
    proxy.cut();
    await eventually(
      () =>
        bus.send(contract, { batchId: 'after' }).then(
          () => true,
          () => false,
        ),
      'the sender is back',
    );
    await eventually(() => seen.has('after') && consumption.isConnected(), 'the second job is handled', 10_000);
  });

  it('drains: finishes what it can, gives back the rest, takes nothing new', async () => {
    const started: string[] = [];
    const finished: string[] = [];
    const quick = Promise.withResolvers<void>();
    const consumption = await startWorker(async ({ batchId }) => {
      started.push(batchId);
      if (batchId === 'endless') await new Promise<never>(() => undefined);
      await quick.promise;
      finished.push(batchId);
    }, 500);
    await bus.send(contract, { batchId: 'endless' });
    await bus.send(contract, { batchId: 'quick' });
    await eventually(() => started.length === 2, 'both run');
    const drained = consumption.drain();
    expect(consumption.isConnected()).toBe(false);
    await bus.send(contract, { batchId: 'late' });
    quick.resolve();
    await drained;
    expect(finished).toEqual(['quick']);
    expect(started).not.toContain('late');
    const left = [await broker.next(queue.name), await broker.next(queue.name)];
    expect(new Set(left.map(({ content }) => JSON.parse(content.toString()).data.batchId))).toEqual(
      new Set(['endless', 'late']),
    );
    expect(left.find(({ fields }) => fields.redelivered)).toBeDefined();
  });

  it('relays the outbox when woken and forgets only what was confirmed', async () => {
    await workerHasRun();
    const message = (id: string, name = contract.name): OutboxMessage => ({
      id,
      contract: name,
      payload: { batchId: id },
      attempts: 0,
    });
    outbox.pending = [message('1'), message('2', 'no.such-job'), message('3')];
    sender.get(OutboxRelay).wake();
    await eventually(() => outbox.pending.length === 1, 'the outbox is relayed');
    expect(outbox.pending.map(({ id }) => id)).toEqual(['2']);
    const sent = [await broker.next(queue.name), await broker.next(queue.name)];
    expect(new Set(sent.map(({ properties }) => properties.messageId))).toEqual(new Set(['outbox-1', 'outbox-3']));
  });

  it('keeps the outbox while the broker is away and relays all of it afterwards', async () => {
    await workerHasRun();
    await bus.send(contract, { batchId: 'first' });
    proxy.refuse();
    outbox.pending = Array.from({ length: 1_200 }, (_, index) => ({
      id: String(index),
      contract: contract.name,
      payload: { batchId: String(index) },
      attempts: 0,
    }));
    const relay = sender.get(OutboxRelay);
    relay.wake();
    await expect(bus.send(contract, { batchId: 'not now' })).rejects.toMatchObject({ code: 'unavailable' });
    expect(outbox.pending).toHaveLength(1_200);
    proxy.accept();
    await eventually(() => outbox.pending.length === 0, 'the outbox is empty', 15_000);
    await eventually(async () => (await broker.depth(queue.name)) >= 1_201, 'everything has arrived');
  });

  it('refuses to boot on a queue that exists with other arguments', async () => {
    await broker.channel.assertQueue(queue.name, { durable: true, arguments: { 'x-queue-type': 'classic' } });
    await expect(startWorker(async () => undefined)).rejects.toMatchObject({
      code: 'server',
      message: expect.stringContaining('PRECONDITION'),
    });
  });
});
