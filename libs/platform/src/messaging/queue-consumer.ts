import { Logger } from '@nestjs/common';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import type { QueueSpec } from '@libs/contracts';
import { BrokerConnection, type BrokerConnectionOptions } from './broker-connection';
import { amqpCode, describeFailure } from './broker-failure';
import { Delivery } from './delivery';
import { ManagedChannel } from './managed-channel';
import { settledWithin } from './pause';
import { declareTopology, queueDeclarations, replaceUnusableQueue } from './topology';
import { watchConsumer } from './watch-consumer';

export type Receive = (delivery: Delivery) => Promise<void>;

export interface QueueConsumerOptions extends Pick<BrokerConnectionOptions, 'amqpUrl' | 'name'> {
  readonly queue: QueueSpec;
  readonly receive: Receive;
  /** How often to look whether the queue still knows us as its consumer. */
  readonly watchIntervalMs?: number;
}

const CANCEL_TIMEOUT_MS = 2_000;
/**
 * A queue is deleted and declared again after this many failed attempts in a row to consume from it, if the errors are
 * those of a queue that the broker lists but cannot serve.
 */
const REFUSALS_BEFORE_REPLACING = 3;
const NOT_FOUND = 404;
const INTERNAL_ERROR = 541;

/**
 * Receives the messages of one queue, `prefetch` at a time, until it is drained.
 *
 * It has its own connection, because RabbitMQ answers the consumer of a broken queue by closing the whole connection.
 * The other queues of the process must not be affected, and the cause must be clear.
 */
export class QueueConsumer {
  readonly #logger = new Logger(QueueConsumer.name);
  readonly #connection: BrokerConnection;
  readonly #channel: ManagedChannel<Channel>;
  readonly #running = new Map<Delivery, Promise<void>>();
  /** After a reconnect new messages may arrive while old handlers still run; `prefetch` limits both together. */
  #waiting: Delivery[] = [];
  #consumerTag: string | undefined;
  #watching: AbortController | undefined;
  #refusals = 0;
  #fatal: unknown;
  /** False while the broker refuses to declare again what may have been deleted. */
  #isDeclared = false;
  #draining = false;

  constructor(private readonly options: QueueConsumerOptions) {
    this.#connection = new BrokerConnection(options);
    this.#channel = new ManagedChannel<Channel>(this.#connection, {
      name: `consumer of ${options.queue.name}`,
      open: (model) => model.createChannel(),
      setUp: (channel, model) => this.#consume(channel, model),
      onClosed: (channel) => {
        this.#watching?.abort();
        this.#waiting = this.#waiting.filter((delivery) => !delivery.isFrom(channel));
      },
      onSetUpFailed: (failure) => this.#onSetUpFailed(failure),
    });
  }

  start(): void {
    this.#connection.start();
    this.#channel.start();
  }

  isConsuming(): boolean {
    return this.#channel.current !== undefined && this.#isDeclared && !this.#draining;
  }

  /** Resolves once messages are being taken. @throws AppError `unavailable` when that is not so after `waitMs` */
  async whenConsuming(waitMs: number): Promise<void> {
    await this.#channel.whenOpen(waitMs);
  }

  /** A refusal of the broker that no further attempt will change: wrong credentials or other queue arguments. */
  get fatalRefusal(): unknown {
    return this.#fatal;
  }

  /**
   * Accepts no more messages, waits up to `waitMs` for running handlers, returns unfinished messages, and closes the
   * connection.
   */
  async drain(waitMs: number): Promise<void> {
    this.#draining = true;
    this.#watching?.abort();
    await this.#cancel();
    for (const delivery of this.#waiting.splice(0)) delivery.requeue();
    await settledWithin(Promise.all(this.#running.values()), waitMs);
    if (this.#running.size > 0) {
      this.#logger.warn(`${this.options.queue.name}: ${this.#running.size} unfinished messages go back to the broker`);
    }
    for (const delivery of this.#running.keys()) delivery.requeue();
    await this.#channel.close();
    await this.#connection.close();
  }

  async #consume(channel: Channel, model: ChannelModel): Promise<void> {
    const { queue } = this.options;
    if (this.#refusals >= REFUSALS_BEFORE_REPLACING) await this.#replace(model);
    await declareTopology(model, queue);
    this.#isDeclared = true;
    // Per consumer: a prefetch of the whole channel is refused by quorum queues (540).
    await channel.prefetch(queue.prefetch, false);
    const { consumerTag } = await channel.consume(queue.name, (message) => this.#onMessage(channel, message), {
      noAck: false,
    });
    this.#consumerTag = consumerTag;
    this.#refusals = 0;
    this.#fatal = undefined;
    this.#watch(channel, model);
  }

  #watch(channel: Channel, model: ChannelModel): void {
    this.#watching = new AbortController();
    watchConsumer(() => this.#declareAgain(model), this.#watching.signal, this.options.watchIntervalMs).then(
      (lost) => lost && this.#channel.reopen(channel, new Error('the queue has forgotten its consumer')),
      (error: unknown) => this.#logger.error(describeFailure(error)),
    );
  }

  /** Returns the number of consumers of the queue; 0 if the broker refuses the declaration. */
  async #declareAgain(model: ChannelModel): Promise<number> {
    const { queue } = this.options;
    try {
      const consumers = await declareTopology(model, queue);
      this.#isDeclared = true;
      return consumers;
    } catch (error) {
      if (this.#isDeclared) this.#logger.error(`${queue.name}: cannot be declared again: ${describeFailure(error)}`);
      this.#isDeclared = false;
      return 0;
    }
  }

  #onMessage(channel: Channel, message: ConsumeMessage | null): void {
    if (!message) {
      this.#channel.reopen(channel, new Error('the broker ended the consumer: its queue is gone'));
      return;
    }
    const delivery = new Delivery(channel, message);
    if (this.#draining) delivery.requeue();
    else if (this.#running.size >= this.options.queue.prefetch) this.#waiting.push(delivery);
    else this.#run(delivery);
  }

  #run(delivery: Delivery): void {
    const run = this.options
      .receive(delivery)
      .catch((error: unknown) => {
        this.#logger.error(`${this.options.queue.name}: a message goes back to the broker: ${describeFailure(error)}`);
        delivery.requeue();
      })
      .finally(() => {
        this.#running.delete(delivery);
        const next = this.#waiting.shift();
        if (next) this.#run(next);
      });
    this.#running.set(delivery, run);
  }

  async #cancel(): Promise<void> {
    const channel = this.#channel.current;
    if (!channel || this.#consumerTag === undefined) return;
    const cancelled = channel.cancel(this.#consumerTag);
    if (!(await settledWithin(cancelled, CANCEL_TIMEOUT_MS))) {
      this.#logger.warn(`${this.options.queue.name}: the broker did not confirm the end of consuming`);
    }
  }

  #onSetUpFailed(failure: unknown): void {
    const code = amqpCode(failure);
    if (code === NOT_FOUND || code === INTERNAL_ERROR) this.#refusals += 1;
    if (code === 403 || code === 406) this.#fatal = failure;
  }

  async #replace(model: ChannelModel): Promise<void> {
    this.#refusals = 0;
    const own = queueDeclarations(this.options.queue).find(({ name }) => name === this.options.queue.name);
    if (own && (await replaceUnusableQueue(model, own))) {
      this.#logger.error(`queue ${own.name} was unusable and has been replaced; messages in it are lost`);
    }
  }
}
