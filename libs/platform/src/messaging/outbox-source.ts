/** A job that a committed transaction owes to the broker. */
export interface OutboxMessage {
  readonly id: string;
  /** Wire name of the job contract. */
  readonly contract: string;
  readonly payload: object;
  /** How often the broker did not confirm it, for a reason of the message or its queue. */
  readonly attempts: number;
}

/** A message that is tried again later. */
export interface OutboxDelay {
  readonly id: string;
  readonly delayMs: number;
  /** False if the broker was unavailable, which does not count against the message. */
  readonly isAttempt: boolean;
}

export interface OutboxState {
  /** 0 when there is none. */
  readonly oldestSeconds: number;
  readonly stuck: number;
}

/** Storage of the messages to send. Each call is a separate short transaction. */
export abstract class OutboxSource {
  /** Returns up to `limit` messages that are due, and hides them from every relay for `leaseMs`. */
  abstract claim(limit: number, leaseMs: number): Promise<readonly OutboxMessage[]>;

  /** Deletes messages that the broker has confirmed. */
  abstract forget(ids: readonly string[]): Promise<void>;

  /** Ends the leases of messages that were not confirmed; each is due again after its delay. */
  abstract postpone(delays: readonly OutboxDelay[]): Promise<void>;

  /** Returns the age of the oldest message, and how many (up to 1,000) failed `stuckAttempts` times or more. */
  abstract measure(stuckAttempts: number): Promise<OutboxState>;
}
