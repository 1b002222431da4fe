/** A job that a committed transaction owes to the broker. */
export interface OutboxMessage {
  readonly id: string;
  /** Wire name of the job contract. */
  readonly contract: string;
  readonly payload: object;
}

/** Where the relay finds what is still to be sent. */
export abstract class OutboxSource {
  /**
   * Hands up to `limit` pending messages to `publish`, which says which ids the broker has confirmed and
   * never rejects, and forgets exactly those. While it runs no other relay may see the same messages.
   *
   * @returns how many messages were pending, at most `limit`
   */
  abstract relayPending(
    limit: number,
    publish: (messages: readonly OutboxMessage[]) => Promise<ReadonlySet<string>>,
  ): Promise<number>;
}
