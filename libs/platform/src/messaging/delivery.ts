import { IllegalOperationError, type Channel, type ConsumeMessage } from 'amqplib';

/**
 * A message delivered by the broker. It must be settled exactly once: a second settlement would close the channel and
 * return every other message on it.
 */
export class Delivery {
  #settled = false;

  constructor(
    private readonly channel: Channel,
    readonly message: ConsumeMessage,
  ) {}

  get isSettled(): boolean {
    return this.#settled;
  }

  isFrom(channel: Channel): boolean {
    return this.channel === channel;
  }

  /** Done: the broker forgets the message. */
  ack(): void {
    this.#settle(() => this.channel.ack(this.message));
  }

  /** Not done: the broker delivers the message to a consumer again. */
  requeue(): void {
    this.#settle(() => this.channel.nack(this.message, false, true));
  }

  /** Can never be done: the broker moves the message to the dead-letter queue. */
  reject(): void {
    this.#settle(() => this.channel.nack(this.message, false, false));
  }

  #settle(tellBroker: () => void): void {
    if (this.#settled) return;
    this.#settled = true;
    try {
      tellBroker();
    } catch (error) {
      // The channel is lost, and the broker has taken the message back.
      if (!(error instanceof IllegalOperationError)) throw error;
    }
  }
}
