import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Channel, ChannelModel, ConfirmChannel, ConsumeMessage } from 'amqplib';
import type { PartyName, Secret } from '@libs/contracts';
import { BrokerConnection } from './broker-connection';
import type { BrokerIdentity } from './broker-identity';
import { brokerFailure, describeFailure } from './broker-failure';
import { ManagedChannel } from './managed-channel';
import { pause, settledWithin } from './pause';
import { refuseMessage } from './refused-messages';
import { refusalOfEvent, signEvent } from './signatures';
import { exchangeExists } from './topology';

const EXCHANGE = { durable: true, autoDelete: false } as const;
/** Most events that wait for one process. Older ones are dropped: the process detects by itself what it missed. */
const MOST_WAITING = 1_000;
const MOST_WAITING_BYTES = 8 * 1_024 * 1_024;
/** Shortest time between two reopenings of a channel that receives nothing. */
const REOPEN_EVERY_MS = 5_000;
/** Interval of checks for an exchange whose owner has never run. */
const LOOK_EVERY_MS = 1_000;

/** How long the broker may take to confirm an event. */
const CONFIRM_TIMEOUT_MS = 2_000;

/** Which apps publish events, and which may receive them. */
export interface EventSigning {
  readonly identity: BrokerIdentity;
  readonly followers: readonly PartyName[];
}

/** Publishes events to every process that listens, signed for the party of each. */
export class FanoutSender {
  readonly #channel: ManagedChannel<ConfirmChannel>;
  readonly #unconfirmed = new Set<PromiseWithResolvers<void>>();

  constructor(
    connection: BrokerConnection,
    readonly exchange: string,
    private readonly signing: EventSigning,
  ) {
    this.#channel = new ManagedChannel<ConfirmChannel>(connection, {
      name: `events of ${exchange}`,
      open: (model) => model.createConfirmChannel(),
      setUp: async (channel) => {
        await channel.assertExchange(exchange, 'fanout', EXCHANGE);
      },
      onClosed: () => this.#failAll('the channel was lost before the broker had the event'),
    });
  }

  start(): void {
    this.#channel.start();
  }

  /** Resolves when the broker has the event. @throws AppError `unavailable` when it has not */
  async send(event: object): Promise<void> {
    const channel = this.#channel.current;
    if (!channel) throw brokerFailure(`${this.exchange}: no channel to the broker`);
    const confirmed = Promise.withResolvers<void>();
    this.#unconfirmed.add(confirmed);
    try {
      this.#publish(channel, Buffer.from(JSON.stringify(event)), confirmed);
      const isInTime = await settledWithin(confirmed.promise, CONFIRM_TIMEOUT_MS);
      if (!isInTime) throw brokerFailure(`${this.exchange}: no confirm within ${CONFIRM_TIMEOUT_MS} ms`);
      await confirmed.promise;
    } finally {
      this.#unconfirmed.delete(confirmed);
    }
  }

  async close(): Promise<void> {
    await this.#channel.close();
  }

  #publish(channel: ConfirmChannel, content: Buffer, confirmed: PromiseWithResolvers<void>): void {
    const { identity, followers } = this.signing;
    const headers = signEvent(identity, { exchange: this.exchange, followers, nowMs: Date.now() }, content);
    const options = { persistent: false, contentType: 'application/json', headers };
    const onConfirm = (failure: unknown): void => {
      if (failure) confirmed.reject(brokerFailure(`${this.exchange}: the event was not taken`, failure));
      else confirmed.resolve();
    };
    try {
      channel.publish(this.exchange, '', content, options, onConfirm);
    } catch (thrown) {
      throw brokerFailure(`${this.exchange}: the channel closed while publishing`, thrown);
    }
  }

  #failAll(reason: string): void {
    for (const { reject } of this.#unconfirmed) reject(brokerFailure(`${this.exchange}: ${reason}`));
  }
}

export interface FanoutReceiverOptions {
  readonly amqpUrl: Secret;
  /** How the broker lists the connection. */
  readonly name: string;
  readonly identity: BrokerIdentity;
  /** The exchanges, each with the name of the app that publishes events there. */
  readonly exchanges: ReadonlyMap<string, PartyName>;
  /** Called with each published event; its errors are logged. */
  readonly receive: (exchange: string, event: unknown) => void;
}

/**
 * Receives the events of exchanges while it is connected, by its own queue, which ends with its connection. It does not
 * share the connection for calls, so neither waits for the other.
 */
export class FanoutReceiver {
  readonly #logger = new Logger(FanoutReceiver.name);
  readonly #connection: BrokerConnection;
  readonly #channel: ManagedChannel<Channel>;
  readonly #closing = new AbortController();
  #reopenedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: FanoutReceiverOptions) {
    this.#connection = new BrokerConnection(options);
    this.#channel = new ManagedChannel<Channel>(this.#connection, {
      name: options.name,
      open: (model) => model.createChannel(),
      setUp: (channel, model) => this.#listen(channel, model),
    });
  }

  start(): void {
    this.#connection.start();
    this.#channel.start();
  }

  /** Subscribes again: the broker may have lost the queue or its bindings without a notice. */
  reopen(): void {
    const channel = this.#channel.current;
    if (channel === undefined || performance.now() - this.#reopenedAtMs < REOPEN_EVERY_MS) return;
    this.#reopenedAtMs = performance.now();
    this.#channel.reopen(channel, new Error('events were missed'));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#channel.close();
    await this.#connection.close();
  }

  async #listen(channel: Channel, model: ChannelModel): Promise<void> {
    const queue = `events.${this.options.identity.party}.${randomUUID()}`;
    await channel.assertQueue(queue, {
      exclusive: true,
      autoDelete: true,
      durable: false,
      arguments: {
        'x-queue-type': 'classic',
        'x-max-length': MOST_WAITING,
        'x-max-length-bytes': MOST_WAITING_BYTES,
        'x-overflow': 'drop-head',
      },
    });
    const bind = (exchange: string): Promise<boolean> => bindExisting({ channel, model, queue }, exchange);
    const missing: string[] = [];
    for (const exchange of this.options.exchanges.keys()) {
      if (!(await bind(exchange))) missing.push(exchange);
    }
    await channel.consume(queue, (message) => this.#take(channel, message), { noAck: true, exclusive: true });
    for (const exchange of missing) {
      this.#bindLater(channel, () => bind(exchange)).catch((failure: Error) => this.#channel.reopen(channel, failure));
    }
  }

  /** Only the owner of an exchange may declare it. */
  async #bindLater(channel: Channel, bind: () => Promise<boolean>): Promise<void> {
    const { signal } = this.#closing;
    do {
      await pause(LOOK_EVERY_MS, signal);
    } while (!signal.aborted && this.#channel.current === channel && !(await bind()));
  }

  #take(channel: Channel, message: ConsumeMessage | null): void {
    if (message === null) {
      this.#channel.reopen(channel, new Error('the broker ended the consumer of events'));
      return;
    }
    const { exchange } = message.fields;
    const { identity, exchanges, receive } = this.options;
    const owner = exchanges.get(exchange);
    const refusal =
      owner === undefined ? 'stranger' : refusalOfEvent(identity, { exchange, owner, nowMs: Date.now() }, message);
    if (refusal !== null) {
      refuseMessage('event', refusal, `of ${exchange}, of ${owner}`);
      return;
    }
    try {
      receive(exchange, JSON.parse(message.content.toString('utf8')));
    } catch (error) {
      this.#logger.warn(`an event of ${exchange} was dropped: ${describeFailure(error)}`);
    }
  }
}

/** Returns false if the exchange does not exist, which would close the channel. */
async function bindExisting(
  { channel, model, queue }: { readonly channel: Channel; readonly model: ChannelModel; readonly queue: string },
  exchange: string,
): Promise<boolean> {
  if (!(await exchangeExists(model, exchange))) return false;
  await channel.bindQueue(queue, exchange, '');
  return true;
}
