import type { CallContract, JobContract } from '@libs/contracts';

/** Sends calls and jobs to other processes. */
export abstract class MessageBus {
  /**
   * Asks the owner of a contract and waits for its answer, at most the contract's `timeoutMs`.
   *
   * @throws the owner's AppError (code, message, metadata and retryAfterSeconds as it threw them);
   *   `invalid_request` when the owner finds the request invalid; `timeout` when no answer came in time,
   *   in which case the owner may still have done what was asked; `server` when the owner failed in a way
   *   it did not foresee; `unavailable`, at once, when there is no owner or no broker
   */
  abstract call<Q extends object, R extends object>(contract: CallContract<Q, R>, request: Q): Promise<R>;

  /**
   * Hands over a job, and resolves once the broker has confirmed that it keeps it. For a job that belongs
   * to a change in the database write an outbox row in that transaction instead.
   *
   * @throws AppError `unavailable` when it was not confirmed; it may have arrived all the same
   */
  abstract send<P extends object>(contract: JobContract<P>, payload: P): Promise<void>;
}
