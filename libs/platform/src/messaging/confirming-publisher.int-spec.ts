import { Logger } from '@nestjs/common';
import { Secret, type QueueSpec } from '@libs/contracts';
import { eventually, TestBroker, type TcpProxy } from '../testing';
import { BrokerConnection } from './broker-connection';
import { ConfirmingPublisher, type OutgoingMessage } from './confirming-publisher';
import { declareTopology } from './topology';

describe(ConfirmingPublisher.name, () => {
  let broker: TestBroker;
  let proxy: TcpProxy;
  let queue: QueueSpec;
  let connection: BrokerConnection;
  let publisher: ConfirmingPublisher;

  beforeEach(async () => {
    Logger.overrideLogger(false);
    broker = await TestBroker.connect();
    proxy = await broker.proxy();
    queue = broker.jobQueue();
    connection = new BrokerConnection({ amqpUrl: new Secret(proxy.through(broker.url)), name: 'test' });
    await declareTopology(broker.model, queue);
    publisher = new ConfirmingPublisher(connection);
    connection.start();
    publisher.start();
  });

  afterEach(async () => {
    proxy.release();
    await publisher.close();
    await connection.close();
    await proxy.close();
    await broker.close();
  });

  function message(messageId: string): OutgoingMessage {
    return { queue, content: Buffer.from('{}'), messageId };
  }

  const isTaken = (messageId: string): Promise<boolean> =>
    publisher.publish(message(messageId)).then(
      () => true,
      () => false,
    );

  it('sends persistent messages with their id', async () => {
    await publisher.publish(message('m1'));
    const { properties } = await broker.next(queue.name);
    expect(properties).toMatchObject({ deliveryMode: 2, messageId: 'm1' });
  });

  it('counts a message that is not confirmed in time as not sent, and sends again once the broker answers', async () => {
    await publisher.close();
    publisher = new ConfirmingPublisher(connection, 300);
    publisher.start();
    // On a busy machine a confirm may take longer than this publisher waits.
    await eventually(() => isTaken('m1'), 'the queue is there');
    proxy.hold();
    await expect(publisher.publish(message('m2'))).rejects.toMatchObject({
      code: 'unavailable',
      internal: expect.stringContaining('no confirm within 300 ms'),
    });
    proxy.release();
    await eventually(() => isTaken('m3'), 'the publisher is back');
    expect(await broker.depth(queue.name)).toBeGreaterThanOrEqual(2);
  });

  it('counts what was in flight when the connection broke as not sent', async () => {
    await publisher.publish(message('m1'));
    proxy.hold();
    const inFlight = publisher.publish(message('m2'));
    proxy.cut();
    await expect(inFlight).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('counts a message that no queue takes as not sent, although the broker confirms it', async () => {
    await publisher.publish(message('m1'));
    await broker.channel.deleteQueue(queue.name);
    await expect(publisher.publish(message('m2'))).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('declares no queue, and sends to it once its owner has', async () => {
    const next = broker.jobQueue();
    const sent = { ...message('m1'), queue: next };
    await expect(publisher.publish(sent)).rejects.toMatchObject({
      code: 'unavailable',
      internal: expect.stringContaining('has never run'),
    });
    await declareTopology(broker.model, next);
    await publisher.publish(sent);
    expect((await broker.next(next.name)).properties.messageId).toBe('m1');
  });

  it('confirms a thousand messages handed over at once', async () => {
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => publisher.publish(message(`m${index}`))));
    await eventually(async () => (await broker.depth(queue.name)) === 1_000, 'all have arrived');
  });
});
