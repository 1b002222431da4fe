import { Logger } from '@nestjs/common';
import type { Channel } from 'amqplib';
import type { PartyName } from '@libs/contracts';
import type { BrokerConnection } from './broker-connection';
import type { BrokerIdentity } from './broker-identity';
import { describeFailure } from './broker-failure';
import { ManagedChannel } from './managed-channel';
import { encodeReply, type Reply } from './message-codec';
import { replyExchangeOf, signAnswer } from './signatures';

/** Where an answer is sent, and how long the caller waits for it. */
export interface ReplyAddress {
  readonly asker: PartyName;
  readonly replyTo: string;
  readonly correlationId: string;
  readonly contractName: string;
  /** How long to wait for a channel; the caller gives up after this time. */
  readonly waitMs: number;
}

/**
 * Sends the answers of calls. After the broker was unavailable, the connection for requests may be back before the one
 * for answers: an answer then waits. One that cannot be sent in time is dropped, and its caller gets a timeout. Each
 * calling app has a separate channel: if one deletes its exchange, the others are not affected.
 */
export class ReplySender {
  readonly #logger = new Logger(ReplySender.name);
  readonly #channels = new Map<PartyName, ManagedChannel<Channel>>();

  constructor(
    private readonly connection: BrokerConnection,
    private readonly identity: BrokerIdentity,
  ) {}

  /** @throws AppError `server` when the answer is too large for a message */
  async send(reply: Reply, { asker, replyTo, correlationId, contractName, waitMs }: ReplyAddress): Promise<void> {
    const content = encodeReply(reply, correlationId, contractName);
    try {
      const open = this.#channelTo(asker);
      const channel = open.current ?? (await open.whenOpen(waitMs));
      channel.publish(replyExchangeOf(asker), replyTo, content, {
        persistent: false,
        correlationId,
        contentType: 'application/json',
        headers: signAnswer(this.identity, asker, { contractName, id: correlationId }, content),
      });
    } catch (error) {
      this.#logger.warn(`an answer to ${contractName} was dropped: ${describeFailure(error)}`);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#channels.values()].map((channel) => channel.close()));
  }

  #channelTo(asker: PartyName): ManagedChannel<Channel> {
    const known = this.#channels.get(asker);
    if (known !== undefined) return known;
    const channel = new ManagedChannel<Channel>(this.connection, {
      name: `replies to ${asker}`,
      open: (model) => model.createChannel(),
      setUp: async () => undefined,
    });
    this.#channels.set(asker, channel);
    channel.start();
    return channel;
  }
}
