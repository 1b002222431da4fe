import type { PartyName } from './parties';
import type { QueueSpec } from './queues';

/** A class whose instances a contract carries; requests are validated by its class-validator decorators. */
export type MessageClass<T extends object> = new () => T;

/** A call: the caller waits for the response at most `timeoutMs`; the message expires with the wait. */
export interface CallContract<Request extends object, Response extends object> {
  readonly kind: 'call';
  readonly queue: QueueSpec;
  /** Wire name, `<noun>.<verb-noun>`. */
  readonly name: string;
  readonly timeoutMs: number;
  /** Apps that may call. The owner refuses a call of any other app before it reads it. */
  readonly askedBy: readonly PartyName[];
  /**
   * What a duplicate of a call does. `harmless`: it reads, or repeats what was already done. `refused`: it could undo
   * later changes, so the owner handles each call id once.
   */
  readonly repeat: 'harmless' | 'refused';
  /**
   * For a deletion by id that is `harmless`: the response to a redelivered call that finds nothing (`not_found`). The
   * process that had the call before has deleted the object and died, or there was nothing to delete.
   */
  readonly whenGone?: Response;
  /**
   * The feed to which this call's effect belongs. The owner publishes the change before it responds, and a process that
   * follows the feed knows of it before the caller has the response.
   */
  readonly changes?: 'access' | 'credentials';
  readonly request: MessageClass<Request>;
  readonly response: MessageClass<Response>;
}

/**
 * A job, unsigned: the row in PostgreSQL is authoritative and the payload only names it. Delivered at least once; a
 * handler must tolerate duplicates.
 */
export interface JobContract<Payload extends object> {
  readonly kind: 'job';
  readonly queue: QueueSpec;
  readonly name: string;
  readonly payload: MessageClass<Payload>;
}

export type Contract = CallContract<object, object> | JobContract<object>;

export function call<Request extends object, Response extends object>(
  contract: Omit<CallContract<Request, Response>, 'kind'>,
): CallContract<Request, Response> {
  return { kind: 'call', ...contract };
}

export function job<Payload extends object>(contract: Omit<JobContract<Payload>, 'kind'>): JobContract<Payload> {
  return { kind: 'job', ...contract };
}
