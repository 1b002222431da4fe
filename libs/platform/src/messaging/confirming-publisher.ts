import { randomUUID } from 'node:crypto';
import type { ChannelModel, ConfirmChannel, Message } from 'amqplib';
import type { QueueSpec } from '@libs/contracts';
import { failpoint } from '@libs/failpoints';
import type { BrokerConnection } from './broker-connection';
import { brokerFailure, describeFailure } from './broker-failure';
import { ManagedChannel } from './managed-channel';
import { publishFailuresTotal } from './messaging-metrics';
import { exchangeExists, exchangeOf } from './topology';

export interface OutgoingMessage {
  readonly queue: QueueSpec;
  readonly content: Buffer;
  readonly messageId: string;
}

interface Pending {
  readonly settle: (failure?: Error) => void;
  returned: boolean;
}

type FailureReason = 'not_connected' | 'blocked' | 'returned' | 'refused' | 'unconfirmed' | 'overloaded';

const OPEN_WAIT_MS = 2_000;
const CONFIRM_TIMEOUT_MS = 10_000;
const MAX_UNCONFIRMED = 4_096;

/**
 * Sends persistent messages to job queues and relies only on the broker's confirms.
 *
 * `publish` resolves when the broker has confirmed that it stores the message. A message that reaches no queue is
 * confirmed too, so every message is `mandatory`, and one that is returned counts as failed. Only consumers declare
 * queues. After a failure the message may have arrived nevertheless: receivers must tolerate duplicates.
 */
export class ConfirmingPublisher {
  readonly #channel: ManagedChannel<ConfirmChannel>;
  readonly #pending = new Map<string, Pending>();
  /** Queues known to exist, for as long as the channel lives and no message is returned. */
  readonly #declared = new Map<string, Promise<void>>();
  #model: ChannelModel | undefined;

  constructor(
    private readonly connection: BrokerConnection,
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
    } catch (error) {
      throw brokerFailure(`message to ${message.queue.name} not confirmed: ${describeFailure(error)}`, error);
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
      declared = requireDeclared(model, queue);
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
          message.queue.name,
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
      pending.settle(failed('refused', 'the queue refuses it', error));
    } else {
      pending.settle();
    }
  }

  /** True if the channel was lost: amqplib distinguishes that from a nack of the broker only by the error's text. */
  #pendingLost(error: unknown): boolean {
    return !(error instanceof Error) || error.message !== 'message nacked';
  }

  #onReturn(message: Message): void {
    const pending = this.#pending.get(String(message.properties.correlationId));
    if (pending) pending.returned = true;
  }

  #onTimeout(channel: ConfirmChannel, pending: Pending): void {
    pending.settle(failed('unconfirmed', `no confirm within ${this.confirmTimeoutMs} ms`));
    // The library keeps unconfirmed messages until their channel ends, so a silent channel is closed.
    if (!this.connection.isBlocked()) this.#channel.reopen(channel, new Error('the broker did not confirm in time'));
  }

  #failAllPending(): void {
    for (const pending of this.#pending.values()) {
      pending.settle(failed('not_connected', 'the channel was lost before the confirm'));
    }
  }
}

/** @throws if the owner of the queue has never run */
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

/**
 * Returns true for a publish failure that is not caused by the message: the broker would have accepted no other either.
 */
export function isBrokerAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const reason = reasons.get(thrown);
  return reason === undefined ? isBrokerAway(thrown.cause) : AWAY.has(reason);
}
