import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { ClientProxy, type ReadPacket, type WritePacket } from '@nestjs/microservices';
import type { Channel, ConsumeMessage, Message } from 'amqplib';
import type { CallContract } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { BrokerConnection } from './broker-connection';
import { brokerFailure, messageFailure } from './broker-failure';
import { ManagedChannel } from './managed-channel';
import { decodeReply, encodeCall } from './message-codec';
import { publishFailuresTotal } from './messaging-metrics';

type AnyCall = CallContract<object, object>;
type Respond = (packet: WritePacket) => void;

/** RabbitMQ's direct reply-to: answers come back on the channel of the question, without a queue. */
const REPLY_TO = 'amq.rabbitmq.reply-to';
const MAX_PENDING_CALLS = 10_000;

/**
 * Asks questions over RabbitMQ; the pattern of a packet is the call contract itself.
 *
 * Nest's own RabbitMQ client keeps unsent questions without bound, asks them again long after their
 * callers have left, never reopens a channel that the broker closed, and lets a failed channel end the
 * process. Hence this one: a question is sent now or fails now, and fails at once when its channel goes.
 */
export class CallClient extends ClientProxy {
  readonly #logger = new Logger(CallClient.name);
  readonly #channel: ManagedChannel<Channel>;
  readonly #pending = new Map<string, Respond>();
  #wasReady = false;

  constructor(private readonly connection: BrokerConnection) {
    super();
    this.#channel = new ManagedChannel<Channel>(connection, {
      name: 'calls',
      open: (model) => model.createChannel(),
      setUp: async (channel) => {
        channel.on('return', (message: Message) => this.#onReturn(message));
        await channel.consume(REPLY_TO, (message) => this.#onReply(channel, message), { noAck: true });
        this.#wasReady = true;
      },
      onClosed: () => this.#failAllPending(),
    });
  }

  start(): void {
    this.#channel.start();
  }

  /** Whether there has ever been a channel. */
  get wasReady(): boolean {
    return this.#wasReady;
  }

  /** Waits for a channel at most `waitMs`. @throws AppError `unavailable` */
  async ready(waitMs: number): Promise<void> {
    await this.#channel.whenOpen(waitMs);
  }

  async connect(): Promise<void> {
    this.start();
  }

  async close(): Promise<void> {
    await this.#channel.close();
  }

  unwrap<T>(): T {
    return this.#channel.current as T;
  }

  protected publish(packet: ReadPacket, callback: Respond): () => void {
    const contract = packet.pattern as AnyCall;
    const id = randomUUID();
    try {
      const channel = this.#channel.current;
      if (!channel) throw brokerFailure('no channel to the broker');
      if (this.connection.isBlocked()) throw brokerFailure('the broker takes no messages');
      if (this.#pending.size >= MAX_PENDING_CALLS) throw brokerFailure('too many calls await their answer');
      const content = encodeCall(contract, packet.data as object, id);
      this.#pending.set(id, callback);
      channel.publish('', contract.queue.name, content, {
        persistent: false,
        mandatory: true,
        contentType: 'application/json',
        replyTo: REPLY_TO,
        correlationId: id,
        expiration: String(contract.timeoutMs),
      });
    } catch (error) {
      this.#pending.delete(id);
      callback({ err: error instanceof AppError ? error : brokerFailure('the channel closed while asking', error) });
    }
    return () => this.#pending.delete(id);
  }

  /** Calls only: jobs go through the confirming publisher. */
  protected dispatchEvent<T>(): Promise<T> {
    return Promise.reject(messageFailure('the call client sends no events'));
  }

  #onReply(channel: Channel, message: ConsumeMessage | null): void {
    if (!message) {
      this.#channel.reopen(channel, new Error('the broker cancelled the reply consumer'));
      return;
    }
    const respond = this.#take(message);
    // No one waits any more: the caller's time was over before the answer came.
    if (!respond) return;
    const reply = decodeReply(message.content);
    respond({ ...reply, isDisposed: true });
  }

  #onReturn(message: Message): void {
    publishFailuresTotal.inc({ reason: 'returned' });
    const queue = message.fields.routingKey;
    this.#take(message)?.({ err: brokerFailure(`no queue ${queue}: its owner has never run`), isDisposed: true });
  }

  #take(message: Message): Respond | undefined {
    const id = String(message.properties.correlationId);
    const respond = this.#pending.get(id);
    this.#pending.delete(id);
    return respond;
  }

  #failAllPending(): void {
    if (this.#pending.size === 0) return;
    this.#logger.warn(`${this.#pending.size} calls lost their channel before the answer came`);
    const callbacks = [...this.#pending.values()];
    this.#pending.clear();
    for (const respond of callbacks) {
      respond({ err: brokerFailure('the channel was lost before the answer came'), isDisposed: true });
    }
  }
}
