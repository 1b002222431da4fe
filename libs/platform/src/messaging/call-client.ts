import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { ClientProxy, type ReadPacket, type WritePacket } from '@nestjs/microservices';
import type { Channel, ChannelModel, ConsumeMessage, Message } from 'amqplib';
import type { CallContract } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { BrokerConnection } from './broker-connection';
import type { BrokerIdentity } from './broker-identity';
import { brokerFailure, messageFailure } from './broker-failure';
import { ManagedChannel } from './managed-channel';
import { decodeReply, encodeCall } from './message-codec';
import { publishFailuresTotal } from './messaging-metrics';
import { refuseMessage } from './refused-messages';
import { refusalOfAnswer, replyExchangeOf, signQuestion } from './signatures';
import { bindReplyQueue, declareReplyQueue, exchangeExists, exchangeOf } from './topology';
import { repeat } from './watch-consumer';

/** A call as it is sent once; `timeoutMs` is how long the caller waits. */
export interface AskedCall<Q extends object, R extends object> extends CallContract<Q, R> {
  /** When the caller gives up, by the clock of the owner; if absent, by the clock of this host. */
  readonly expiresAtMs?: number;
}

type AnyCall = AskedCall<object, object>;
type Respond = (packet: WritePacket) => void;

interface PendingCall {
  readonly contract: AnyCall;
  readonly respond: Respond;
}

/** State of a channel for requests: where its answers arrive, and which exchanges are known to exist. */
interface Line {
  readonly channel: Channel;
  readonly model: ChannelModel;
  readonly replyTo: string;
  readonly exchanges: Map<string, true | Promise<void>>;
}

const MAX_PENDING_CALLS = 10_000;

/**
 * Sends calls over RabbitMQ; the pattern of a packet is the call contract itself.
 *
 * It replaces Nest's own RabbitMQ client, which keeps unsent requests without limit, sends them again long after their
 * callers have given up, never reopens a channel that the broker closed, and lets a failed channel end the process.
 * Here a request is sent or fails at once, and fails when its channel is lost.
 *
 * Each request is signed for its owner, together with the queue for its answer. A message in that queue without the
 * owner's signature for this request is dropped.
 */
export class CallClient extends ClientProxy {
  readonly #logger = new Logger(CallClient.name);
  readonly #channel: ManagedChannel<Channel>;
  readonly #pending = new Map<string, PendingCall>();
  #line: Line | undefined;
  #keeping: AbortController | undefined;
  #wasReady = false;

  constructor(
    private readonly connection: BrokerConnection,
    private readonly identity: BrokerIdentity,
  ) {
    super();
    this.#channel = new ManagedChannel<Channel>(connection, {
      name: 'calls',
      open: (model) => model.createChannel(),
      setUp: async (channel, model) => {
        channel.on('return', (message: Message) => this.#onReturn(message));
        const replyTo = `${replyExchangeOf(identity.party)}.${randomUUID()}`;
        await declareReplyQueue(channel, replyExchangeOf(identity.party), replyTo);
        await channel.consume(replyTo, (message) => this.#onReply(channel, message), { noAck: true, exclusive: true });
        this.#line = { channel, model, replyTo, exchanges: new Map() };
        this.#wasReady = true;
        this.#keepBound(this.#line);
      },
      onClosed: () => {
        this.#keeping?.abort();
        this.#failAllPending();
      },
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
    const fail = (error: unknown): void => {
      this.#pending.delete(id);
      callback({ err: error instanceof AppError ? error : brokerFailure('the channel closed while asking', error) });
    };
    try {
      const line = this.#lineNow();
      const content = encodeCall(contract, packet.data as object, id);
      this.#pending.set(id, { contract, respond: callback });
      const known = this.#find(line, exchangeOf(contract.queue));
      const send = (): void => this.#send(line, contract, id, content);
      // The caller that waited for the exchange may meanwhile have failed because the channel was lost.
      if (known === true) send();
      else known.then(send).catch((error: unknown) => this.#pending.has(id) && fail(error));
    } catch (error) {
      fail(error);
    }
    return () => this.#pending.delete(id);
  }

  /** @throws AppError unavailable */
  #lineNow(): Line {
    const line = this.#line;
    if (!line || line.channel !== this.#channel.current) throw brokerFailure('no channel to the broker');
    if (this.connection.isBlocked()) throw brokerFailure('the broker takes no messages');
    if (this.#pending.size >= MAX_PENDING_CALLS) throw brokerFailure('too many calls await their answer');
    return line;
  }

  /** Answers find their queue by an exchange that every process of this app may delete. */
  #keepBound({ channel, model, replyTo }: Line): void {
    this.#keeping = new AbortController();
    const bind = (): Promise<void> => bindReplyQueue(model, replyExchangeOf(this.identity.party), replyTo);
    repeat(bind, this.#keeping.signal).catch((failure: Error) => this.#channel.reopen(channel, failure));
  }

  /** A message to an exchange that is not there would close the channel, so each is looked for once per channel. */
  #find({ model, exchanges }: Line, exchange: string): true | Promise<void> {
    const known = exchanges.get(exchange);
    if (known !== undefined) return known;
    const looking = exchangeExists(model, exchange).then((exists) => {
      if (!exists) throw brokerFailure(`no exchange ${exchange}: its owner has never run`);
      exchanges.set(exchange, true);
    });
    exchanges.set(exchange, looking);
    looking.catch(() => exchanges.delete(exchange));
    return looking;
  }

  #send({ channel, replyTo }: Line, contract: AnyCall, id: string, content: Buffer): void {
    const { name: contractName, queue, timeoutMs, expiresAtMs = Date.now() + timeoutMs } = contract;
    channel.publish(exchangeOf(queue), queue.name, content, {
      persistent: false,
      mandatory: true,
      contentType: 'application/json',
      type: contractName,
      replyTo,
      correlationId: id,
      expiration: String(timeoutMs),
      headers: signQuestion(this.identity, queue.owner, { contractName, replyTo, id, expiresAtMs }, content),
    });
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
    const id = String(message.properties.correlationId);
    const pending = this.#pending.get(id);
    // No one waits any more: the caller's time was over before the answer came.
    if (!pending) return;
    const { name: contractName, queue } = pending.contract;
    const refusal = refusalOfAnswer(this.identity, queue.owner, { contractName, id }, message);
    if (refusal !== null) {
      refuseMessage('answer', refusal, `to ${contractName}, of ${queue.owner}`);
      return;
    }
    this.#pending.delete(id);
    pending.respond({ ...decodeReply(message.content), isDisposed: true });
  }

  #onReturn(message: Message): void {
    publishFailuresTotal.inc({ reason: 'returned' });
    const queue = message.fields.routingKey;
    const id = String(message.properties.correlationId);
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.respond({ err: brokerFailure(`no queue ${queue}: its owner has never run`), isDisposed: true });
  }

  #failAllPending(): void {
    if (this.#pending.size === 0) return;
    this.#logger.warn(`${this.#pending.size} calls lost their channel before the answer came`);
    const lost = [...this.#pending.values()];
    this.#pending.clear();
    for (const { respond } of lost) {
      respond({ err: brokerFailure('the channel was lost before the answer came'), isDisposed: true });
    }
  }
}
