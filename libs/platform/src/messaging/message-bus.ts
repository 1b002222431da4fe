import type { CallContract, JobContract } from '@libs/contracts';

/** Sends calls and jobs to other processes. */
export abstract class MessageBus {
  /**
   * Calls the owner of a contract and waits for its answer, at most the contract's `timeoutMs`.
   * @throws the owner's AppError (with its code, message, metadata and retryAfterSeconds); `invalid_request` if the
   * owner finds the request invalid; `timeout` if no answer came in time, in which case the owner may still have
   * executed the request; `server` for an unexpected failure of the owner; `unavailable`, at once, if there is no owner
   * or no broker
   */
  abstract call<Q extends object, R extends object>(contract: CallContract<Q, R>, request: Q): Promise<R>;

  /**
   * Sends a job, and resolves once the broker has confirmed that it stores it. For a job that belongs to a change in
   * the database, write an outbox row in that transaction instead.
   * @throws AppError `unavailable` if it was not confirmed; it may have arrived nevertheless
   */
  abstract send<P extends object>(contract: JobContract<P>, payload: P): Promise<void>;
}
