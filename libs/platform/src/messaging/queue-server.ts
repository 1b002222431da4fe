import { Logger } from '@nestjs/common';
import {
  Server,
  Transport,
  type CustomTransportStrategy,
  type BaseRpcContext,
  type MessageHandler,
} from '@nestjs/microservices';
import { isObservable, lastValueFrom } from 'rxjs';
import type { Contract, PartyName, QueueSpec, Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { RegisteredHandler } from './boot-check';
import { BrokerConnection } from './broker-connection';
import { describeFailure } from './broker-failure';
import { CallReceiver, type AnsweringOptions, type Invoke } from './call-receiver';
import { MessageContext, type HandlerExtras } from './handles.decorator';
import { JobReceiver } from './job-receiver';
import { QueueConsumer, type Receive } from './queue-consumer';
import { ReplySender } from './reply-sender';

export interface QueueServerOptions {
  readonly amqpUrl: Secret;
  readonly serviceName: string;
  readonly queues: readonly QueueSpec[];
  readonly contracts: readonly Contract[];
  /** How long a drain waits for running handlers. */
  readonly drainTimeoutMs: number;
  /** How long the start waits for the broker before it continues without it. */
  readonly startTimeoutMs: number;
  /** Needed for queues of calls. */
  readonly answering?: AnsweringOptions | undefined;
}

const START_POLL_MS = 250;

/**
 * The transport that passes the messages of our queues to Nest's handlers. It replaces Nest's RabbitMQ server, which
 * leaves the message of a throwing handler unacknowledged, aborts running handlers on shutdown, never reopens a channel
 * that the broker closed, and lets a failed consumer end the process.
 */
export class QueueServer extends Server implements CustomTransportStrategy {
  override readonly transportId = Transport.RMQ;
  protected override readonly logger = new Logger(QueueServer.name);
  readonly registered: RegisteredHandler[] = [];
  readonly #connection: BrokerConnection;
  readonly #replies: ReplySender | undefined;
  readonly #consumers: readonly QueueConsumer[];
  #drained: Promise<void> | undefined;

  constructor(private readonly options: QueueServerOptions) {
    super();
    const { amqpUrl, serviceName, answering } = options;
    this.#connection = new BrokerConnection({ amqpUrl, name: `${serviceName} answers` });
    this.#replies = answering && new ReplySender(this.#connection, answering.identity);
    this.#consumers = options.queues.map(
      (queue) =>
        new QueueConsumer({ amqpUrl, name: `${serviceName} ${queue.name}`, queue, receive: this.#receiverOf(queue) }),
    );
  }

  override addHandler(
    pattern: unknown,
    callback: MessageHandler,
    isEventHandler?: boolean,
    extras: Record<string, unknown> = {},
  ): void {
    const { contract, where = String(pattern) } = extras as Partial<HandlerExtras>;
    this.registered.push({ contract, where });
    super.addHandler(pattern, callback, isEventHandler, extras);
  }

  listen(callback: (error?: unknown) => void): void {
    this.#start().then(() => callback(), callback);
  }

  async close(): Promise<void> {
    await this.drain();
  }

  isConnected(): boolean {
    return this.#connection.isConnected() && this.#consumers.every((consumer) => consumer.isConsuming());
  }

  /** Ends consuming as the options say; further calls wait for the same end. */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  override on(): never {
    throw new AppError('server', 'Internal error', { internal: 'the queue server emits no events' });
  }

  override unwrap<T>(): T {
    return this.#connection as T;
  }

  async #start(): Promise<void> {
    this.#connection.start();
    for (const consumer of this.#consumers) consumer.start();
    await Promise.all(this.#consumers.map((consumer) => this.#untilConsuming(consumer)));
  }

  /** A broker that is away is waited for in the background; one that refuses us for good stops the boot. */
  async #untilConsuming(consumer: QueueConsumer): Promise<void> {
    const deadline = performance.now() + this.options.startTimeoutMs;
    while (performance.now() < deadline) {
      try {
        await consumer.whenConsuming(START_POLL_MS);
        return;
      } catch (error) {
        if (consumer.fatalRefusal === undefined) continue;
        const refusal = `the broker refuses a queue: ${describeFailure(consumer.fatalRefusal)}`;
        throw new AppError('server', refusal, { internal: refusal, cause: error });
      }
    }
    this.logger.warn('started without the broker; consuming begins when it can be reached');
  }

  async #drain(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.drain(this.options.drainTimeoutMs)));
    await this.#replies?.close();
    await this.#connection.close();
  }

  #receiverOf(queue: QueueSpec): Receive {
    const own = this.options.contracts.filter((contract) => contract.queue.name === queue.name);
    const contracts = new Map(own.map((contract) => [contract.name, contract]));
    const invoke: Invoke = (contract, message, asker) => this.#invoke(contract, message, asker);
    const receiver =
      queue.kind === 'call' ? this.#callReceiver(queue, contracts, invoke) : new JobReceiver(queue, contracts, invoke);
    return (delivery) => receiver.receive(delivery);
  }

  #callReceiver({ name }: QueueSpec, contracts: ReadonlyMap<string, Contract>, invoke: Invoke): CallReceiver {
    const { answering } = this.options;
    if (answering && this.#replies) return new CallReceiver(contracts, invoke, this.#replies, answering);
    throw new AppError('server', 'Internal error', { internal: `nothing to answer the calls of ${name} with` });
  }

  /** Inside the hooks by which instrumentation follows a message. */
  #invoke(contract: Contract, message: object, asker: PartyName | undefined): Promise<unknown> {
    const context = new MessageContext(contract.name, asker);
    return new Promise((resolve, reject) => {
      this.runWithProcessingHooks(context, async (finished) => {
        try {
          resolve(await this.#callHandler(contract, message, context));
        } catch (thrown) {
          reject(thrown as Error);
        } finally {
          finished();
        }
      });
    });
  }

  async #callHandler(contract: Contract, message: object, context: BaseRpcContext): Promise<unknown> {
    const handler = this.messageHandlers.get(contract.name);
    if (!handler) throw new AppError('server', 'Internal error', { internal: `${contract.name} has no handler` });
    const result: unknown = await handler(message, context);
    return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
  }
}
