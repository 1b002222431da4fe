import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { ChannelModel, ConfirmChannel, Message } from 'amqplib';
import type { QueueSpec } from '@libs/contracts';
import { failpoint } from '@libs/failpoints';
import type { BrokerConnection } from './broker-connection';
import { brokerFailure, describeFailure } from './broker-failure';
import { ManagedChannel } from './managed-channel';
import { publishFailuresTotal } from './messaging-metrics';
import { declareTopology, exchangeExists, exchangeOf, queueDeclarations, replaceUnusableQueue } from './topology';

export interface OutgoingMessage {
  /** The job queue whose topology the message needs. */
  readonly queue: QueueSpec;
  /** The queue it goes to: the job queue itself, its dead queue or one of its retry tiers. */
  readonly routingKey: string;
  readonly content: Buffer;
  readonly messageId: string;
  readonly headers?: Readonly<Record<string, string | number>>;
}

interface Pending {
  readonly settle: (failure?: Error) => void;
  returned: boolean;
}

type FailureReason = 'not_connected' | 'blocked' | 'returned' | 'refused' | 'unconfirmed' | 'overloaded';

const OPEN_WAIT_MS = 2_000;
const CONFIRM_TIMEOUT_MS = 10_000;
const MAX_UNCONFIRMED = 4_096;
/** A full queue refuses too; a queue that refuses this often and shows no sign of life is replaced. */
const REFUSALS_BEFORE_REPLACING = 3;

/**
 * Hands persistent messages to job queues and believes only what the broker confirms.
 *
 * `publish` resolves when the broker has said that it keeps the message. A message that no queue takes is
 * confirmed like any other, so every message is `mandatory`, and one that comes back counts as failed.
 * After a failure the message may have arrived all the same: receivers must be able to meet it twice.
 */
export class ConfirmingPublisher {
  readonly #logger = new Logger(ConfirmingPublisher.name);
  readonly #channel: ManagedChannel<ConfirmChannel>;
  readonly #pending = new Map<string, Pending>();
  /** Queues known to exist, for as long as the channel lives and nothing comes back. */
  readonly #declared = new Map<string, Promise<void>>();
  readonly #refusals = new Map<string, number>();
  #model: ChannelModel | undefined;

  constructor(
    private readonly connection: BrokerConnection,
    /** Whether this process may declare a queue. Only its owner has the rights for it on the broker. */
    private readonly isOwn: (queue: QueueSpec) => boolean,
    private readonly confirmTimeoutMs: number = CONFIRM_TIMEOUT_MS,
  ) {
    this.#channel = new ManagedChannel<ConfirmChannel>(connection, {
      name: 'publisher',
      open: (model) => model.createConfirmChannel(),
      setUp: async (channel, model) => {
        this.#model = model;
        this.#declared.clear();
        channel.on('return', (message: Message) => this.#onReturn(message));
      },
      onClosed: () => this.#failAllPending(),
    });
  }

  start(): void {
    this.#channel.start();
  }

  /** @throws AppError `server` unless the broker has confirmed the message */
  async publish(message: OutgoingMessage): Promise<void> {
    if (this.connection.isBlocked()) throw failed('blocked', 'the broker takes no messages');
    if (this.#pending.size >= MAX_UNCONFIRMED) throw failed('overloaded', 'too many messages await their confirm');
    const channel = await this.#openChannel();
    await this.#ensureDeclared(message.queue);
    try {
      await this.#publishOn(channel, message);
      this.#refusals.delete(message.routingKey);
    } catch (error) {
      throw brokerFailure(`message to ${message.routingKey} not confirmed: ${describeFailure(error)}`, error);
    }
  }

  async close(): Promise<void> {
    await this.#channel.close();
  }

  async #openChannel(): Promise<ConfirmChannel> {
    try {
      return await this.#channel.whenOpen(OPEN_WAIT_MS);
    } catch (error) {
      throw failed('not_connected', 'no channel to publish on', error);
    }
  }

  /** A message to an exchange that is not there would close the channel: a sender waits until the owner declared it. */
  async #ensureDeclared(queue: QueueSpec): Promise<void> {
    const model = this.#model;
    if (!model) throw failed('not_connected', 'no channel to publish on');
    let declared = this.#declared.get(queue.name);
    if (!declared) {
      declared = this.isOwn(queue) ? declareTopology(model, queue) : requireDeclared(model, queue);
      this.#declared.set(queue.name, declared);
    }
    try {
      await declared;
    } catch (error) {
      if (this.#declared.get(queue.name) === declared) this.#declared.delete(queue.name);
      throw failed('refused', `queue ${queue.name} is not there: ${describeFailure(error)}`, error);
    }
  }

  #publishOn(channel: ConfirmChannel, message: OutgoingMessage): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const correlationId = randomUUID();
      const timer = setTimeout(() => this.#onTimeout(channel, pending), this.confirmTimeoutMs);
      const pending: Pending = {
        returned: false,
        settle: (failure) => {
          clearTimeout(timer);
          this.#pending.delete(correlationId);
          if (failure) reject(failure);
          else resolve();
        },
      };
      this.#pending.set(correlationId, pending);
      try {
        channel.publish(
          exchangeOf(message.queue),
          message.routingKey,
          message.content,
          propertiesOf(message, correlationId),
          (error: unknown) => this.#onConfirm(message, pending, error),
        );
        failpoint('job-published');
      } catch (error) {
        pending.settle(failed('not_connected', 'the channel closed before publishing', error));
      }
    });
  }

  #onConfirm(message: OutgoingMessage, pending: Pending, error: unknown): void {
    if (pending.returned) {
      this.#declared.delete(message.queue.name);
      pending.settle(failed('returned', 'no queue takes it'));
    } else if (error && this.#pendingLost(error)) {
      pending.settle(failed('not_connected', 'the channel closed before the confirm', error));
    } else if (error) {
      this.#onRefusal(message);
      pending.settle(failed('refused', 'the queue refuses it', error));
    } else {
      pending.settle();
    }
  }

  /** amqplib tells a nack of the broker from a lost channel by the text alone. */
  #pendingLost(error: unknown): boolean {
    return !(error instanceof Error) || error.message !== 'message nacked';
  }

  #onReturn(message: Message): void {
    const pending = this.#pending.get(String(message.properties.correlationId));
    if (pending) pending.returned = true;
  }

  #onTimeout(channel: ConfirmChannel, pending: Pending): void {
    pending.settle(failed('unconfirmed', `no confirm within ${this.confirmTimeoutMs} ms`));
    // The library remembers unconfirmed messages until their channel ends, so a silent channel is given up.
    if (!this.connection.isBlocked()) this.#channel.reopen(channel, new Error('the broker did not confirm in time'));
  }

  #onRefusal(message: OutgoingMessage): void {
    const refusals = (this.#refusals.get(message.routingKey) ?? 0) + 1;
    this.#refusals.set(message.routingKey, refusals);
    if (refusals !== REFUSALS_BEFORE_REPLACING || !this.isOwn(message.queue)) return;
    this.#refusals.delete(message.routingKey);
    this.#replace(message).catch((error: unknown) =>
      this.#logger.warn(
        `queue ${message.routingKey} refuses messages and cannot be replaced: ${describeFailure(error)}`,
      ),
    );
  }

  async #replace({ queue, routingKey }: OutgoingMessage): Promise<void> {
    const declaration = queueDeclarations(queue).find(({ name }) => name === routingKey);
    const model = this.#model;
    if (!declaration || !model) return;
    if (await replaceUnusableQueue(model, declaration)) {
      this.#logger.error(`queue ${routingKey} was unusable and has been replaced; messages in it are lost`);
    }
  }

  #failAllPending(): void {
    for (const pending of this.#pending.values()) {
      pending.settle(failed('not_connected', 'the channel was lost before the confirm'));
    }
  }
}

/** @throws where the owner of the queue has never run */
async function requireDeclared(model: ChannelModel, queue: QueueSpec): Promise<void> {
  const exchange = exchangeOf(queue);
  if (await exchangeExists(model, exchange)) return;
  throw new Error(`no exchange ${exchange}: ${queue.owner} has never run`);
}

function propertiesOf(message: OutgoingMessage, correlationId: string): object {
  return {
    persistent: true,
    mandatory: true,
    contentType: 'application/json',
    messageId: message.messageId,
    correlationId,
    headers: message.headers ?? {},
  };
}

const reasons = new WeakMap<Error, FailureReason>();
const AWAY: ReadonlySet<FailureReason | undefined> = new Set(['not_connected', 'blocked', 'overloaded']);

function failed(reason: FailureReason, internal: string, cause?: unknown): Error {
  publishFailuresTotal.inc({ reason });
  const failure = brokerFailure(internal, cause);
  reasons.set(failure, reason);
  return failure;
}

/** Returns true for a failure to publish that says nothing of the message: the broker would have taken no other. */
export function isBrokerAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const reason = reasons.get(thrown);
  return reason === undefined ? isBrokerAway(thrown.cause) : AWAY.has(reason);
}
