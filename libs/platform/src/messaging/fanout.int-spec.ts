import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { Secret } from '@libs/contracts';
import { eventually, testIdentities, TestBroker, type TcpProxy } from '../testing';
import { BrokerConnection } from './broker-connection';
import type { BrokerIdentity } from './broker-identity';
import { FanoutReceiver, FanoutSender } from './fanout';
import { MAX_CALL_BYTES } from './message-codec';
import { signEvent } from './signatures';
import { exchangeExists } from './topology';

const identities = testIdentities();
const signing = { identity: identities.auth, followers: ['gateway', 'batch-worker'] } as const;

describe('events over RabbitMQ', () => {
  let broker: TestBroker;
  let proxy: TcpProxy;
  let exchange: string;
  let connection: BrokerConnection;
  let sender: FanoutSender;
  let closing: (() => Promise<unknown>)[];

  beforeEach(async () => {
    Logger.overrideLogger(false);
    broker = await TestBroker.connect();
    proxy = await broker.proxy();
    exchange = `test-${randomUUID()}`;
    connection = new BrokerConnection({ amqpUrl: new Secret(broker.url), name: 'test sends' });
    sender = new FanoutSender(connection, exchange, signing);
    connection.start();
    sender.start();
    closing = [() => sender.close(), () => connection.close()];
    await untilSent({ n: 0 });
  });

  afterEach(async () => {
    for (const close of closing) await close();
    await broker.channel.deleteExchange(exchange);
    await broker.close();
    await proxy.close();
  });

  const untilSent = (event: object): Promise<void> =>
    eventually(
      () =>
        sender.send(event).then(
          () => true,
          () => false,
        ),
      'an event is taken',
    );

  /** Numbers of the events that were heard. */
  function listen(url: string, names = [exchange]): { heard: number[]; receiver: FanoutReceiver } {
    const heard: number[] = [];
    const receive = (_exchange: string, event: unknown): void => void heard.push((event as { n: number }).n);
    const exchanges = new Map(names.map((name) => [name, 'auth'] as const));
    const identity = identities.gateway;
    const options = { amqpUrl: new Secret(url), identity, name: 'test events', exchanges, receive };
    const receiver = new FanoutReceiver(options);
    receiver.start();
    closing.unshift(() => receiver.close());
    return { heard, receiver };
  }

  /** Until an event is heard that is sent again and again. */
  async function untilHears(heard: readonly number[], n: number): Promise<void> {
    await eventually(async () => {
      await sender.send({ n }).catch(() => undefined);
      return heard.includes(n);
    }, `event ${n} is heard`);
  }

  it('are heard by every process that listens', async () => {
    const listeners = [listen(broker.url), listen(broker.url)];
    for (const { heard } of listeners) await untilHears(heard, 1);
    await sender.send({ n: 2 });
    await eventually(() => listeners.every(({ heard }) => heard.at(-1) === 2), 'both heard the last');
  });

  it('are heard of an owner that runs for the first time after its followers, which declare nothing', async () => {
    const later = `${exchange}-later`;
    const { heard } = listen(broker.url, [later, exchange]);
    await untilHears(heard, 1);
    expect(await exchangeExists(broker.model, later)).toBe(false);
    const owner = new FanoutSender(connection, later, signing);
    owner.start();
    await eventually(async () => {
      await owner.send({ n: 2 }).catch(() => undefined);
      return heard.includes(2);
    }, 'an event of the new exchange is heard');
    await owner.close();
    await broker.channel.deleteExchange(later);
  });

  it('are heard again after the connection was cut', async () => {
    const { heard } = listen(proxy.through(broker.url));
    await untilHears(heard, 1);
    proxy.cut();
    await untilHears(heard, 2);
  });

  it('are heard again after the exchange was lost, once the receiver listens anew', async () => {
    const { heard, receiver } = listen(broker.url);
    await untilHears(heard, 1);
    await broker.channel.deleteExchange(exchange);
    await untilSent({ n: 2 });
    expect(heard).not.toContain(2);
    receiver.reopen();
    await untilHears(heard, 3);
  });

  it('do not disturb the receiver when they cannot be read', async () => {
    const { heard } = listen(broker.url);
    await untilHears(heard, 1);
    const content = Buffer.from('{');
    const { identity, followers } = signing;
    const headers = signEvent(identity, { exchange, followers, nowMs: Date.now() }, content);
    broker.channel.publish(exchange, '', content, { headers });
    await untilHears(heard, 2);
  });

  it('are not heard when they are larger than a message may be', async () => {
    const { heard } = listen(broker.url);
    await untilHears(heard, 1);
    await sender.send({ n: 666, padding: 'a'.repeat(MAX_CALL_BYTES) });
    await untilHears(heard, 2);
    expect(heard).not.toContain(666);
  });

  const event = Buffer.from(JSON.stringify({ n: 666 }));
  const signedBy = (identity: BrokerIdentity, nowMs: number, name: string): object =>
    signEvent(identity, { exchange: name, followers: ['gateway'], nowMs }, event);

  it.each([
    ['nobody has signed', (): object => ({})],
    ['another party has signed', (name: string) => signedBy(identities['video-worker'], Date.now(), name)],
    ['their owner signed for another exchange', () => signedBy(identities.auth, Date.now(), 'changes.other')],
    ['their owner signed a minute ago', (name: string) => signedBy(identities.auth, Date.now() - 60_000, name)],
  ])('are not heard when %s them', async (_, headersFor) => {
    const { heard } = listen(broker.url);
    await untilHears(heard, 1);
    broker.channel.publish(exchange, '', event, { headers: headersFor(exchange) });
    // On the same channel, so that it arrives after the other.
    const good = Buffer.from(JSON.stringify({ n: 2 }));
    const { identity, followers } = signing;
    const headers = signEvent(identity, { exchange, followers, nowMs: Date.now() }, good);
    broker.channel.publish(exchange, '', good, { headers });
    await eventually(() => heard.includes(2), 'the owner is heard');
    expect(heard).not.toContain(666);
  });

  it('fail within a bounded time when the broker does not take them', async () => {
    const stalled = new BrokerConnection({ amqpUrl: new Secret(proxy.through(broker.url)), name: 'test stalls' });
    const slow = new FanoutSender(stalled, exchange, signing);
    stalled.start();
    slow.start();
    await eventually(
      () =>
        slow.send({ n: 1 }).then(
          () => true,
          () => false,
        ),
      'an event is taken',
    );
    proxy.hold();
    await expect(slow.send({ n: 2 })).rejects.toMatchObject({ code: 'unavailable' });
    proxy.release();
    proxy.refuse();
    await expect(slow.send({ n: 3 })).rejects.toMatchObject({ code: 'unavailable' });
    proxy.accept();
    await slow.close();
    await stalled.close();
  });
});
