import { Logger } from '@nestjs/common';
import type { Channel } from 'amqplib';
import type { BrokerConnection } from './broker-connection';
import { describeFailure } from './broker-failure';
import { ManagedChannel } from './managed-channel';
import { encodeReply, type Reply } from './message-codec';

/** Where an answer goes, and how long somebody waits for it there. */
export interface ReplyAddress {
  readonly replyTo: string;
  readonly correlationId: string;
  readonly contractName: string;
  /** How long to wait for a channel; the caller gives up after this time. */
  readonly waitMs: number;
}

/**
 * Sends the answers of calls. After the broker was away the connection that brings questions can be back
 * before the one for answers: an answer waits for it. One that cannot be sent in time is dropped, and its
 * caller gets a timeout.
 */
export class ReplySender {
  readonly #logger = new Logger(ReplySender.name);
  readonly #channel: ManagedChannel<Channel>;

  constructor(connection: BrokerConnection) {
    this.#channel = new ManagedChannel<Channel>(connection, {
      name: 'replies',
      open: (model) => model.createChannel(),
      setUp: async () => undefined,
    });
  }

  start(): void {
    this.#channel.start();
  }

  /** @throws AppError `server` when the answer is too large for a message */
  async send(reply: Reply, { replyTo, correlationId, contractName, waitMs }: ReplyAddress): Promise<void> {
    const content = encodeReply(reply, correlationId, contractName);
    try {
      const channel = this.#channel.current ?? (await this.#channel.whenOpen(waitMs));
      channel.publish('', replyTo, content, { persistent: false, correlationId, contentType: 'application/json' });
    } catch (error) {
      this.#logger.warn(`an answer to ${contractName} was dropped: ${describeFailure(error)}`);
    }
  }

  async close(): Promise<void> {
    await this.#channel.close();
  }
}
