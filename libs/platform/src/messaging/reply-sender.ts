import { Logger } from '@nestjs/common';
import type { Channel } from 'amqplib';
import type { BrokerConnection } from './broker-connection';
import { describeFailure } from './broker-failure';
import { ManagedChannel } from './managed-channel';
import { encodeReply, type Reply } from './message-codec';

/** Sends the answers of calls. An answer that cannot be sent is dropped: its caller learns by the timeout. */
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
  send(reply: Reply, replyTo: string, id: string, contractName: string): void {
    const content = encodeReply(reply, id, contractName);
    const options = { persistent: false, correlationId: id, contentType: 'application/json' };
    try {
      if (this.#channel.current) this.#channel.current.publish('', replyTo, content, options);
      else this.#logger.warn(`an answer to ${contractName} was dropped: no channel to the broker`);
    } catch (error) {
      this.#logger.warn(`an answer to ${contractName} was dropped: ${describeFailure(error)}`);
    }
  }

  async close(): Promise<void> {
    await this.#channel.close();
  }
}
