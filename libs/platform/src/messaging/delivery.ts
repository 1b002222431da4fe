import { IllegalOperationError, type Channel, type ConsumeMessage } from 'amqplib';

/**
 * A message that the broker lent us. It is given back exactly once: a second word about the same message
 * would close the channel and take every other message on it along.
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

  /** Not done: the broker gives the message to a consumer again. */
  requeue(): void {
    this.#settle(() => this.channel.nack(this.message, false, true));
  }

  /** Never to be done: the broker moves the message to where the queue's dead letters go. */
  reject(): void {
    this.#settle(() => this.channel.nack(this.message, false, false));
  }

  #settle(tellBroker: () => void): void {
    if (this.#settled) return;
    this.#settled = true;
    try {
      tellBroker();
    } catch (error) {
      // The channel is gone, and the broker has taken the message back with it.
      if (!(error instanceof IllegalOperationError)) throw error;
    }
  }
}
