import type { PartyName } from './parties';
import type { QueueSpec } from './queues';

/** A class whose instances a contract carries; requests are validated against its class-validator decorators. */
export type MessageClass<T extends object> = new () => T;

/** A question: the caller waits for the answer, at most `timeoutMs`; the message expires with the wait. */
export interface CallContract<Request extends object, Response extends object> {
  readonly kind: 'call';
  readonly queue: QueueSpec;
  /** Wire name, `<noun>.<verb-noun>`. */
  readonly name: string;
  readonly timeoutMs: number;
  /** Who may ask. The owner refuses the question of any other party before it reads it. */
  readonly askedBy: readonly PartyName[];
  /**
   * What a second copy of one question does. `harmless`: it reads, or does again what has been done. `refused`: it could
   * undo what happened since, so the owner handles each question id once.
   */
  readonly repeat: 'harmless' | 'refused';
  /**
   * For a deletion by id that is `harmless`: the answer to a redelivered question that finds nothing (`not_found`). The
   * process that had it before has done it and died, or there was nothing to do.
   */
  readonly whenGone?: Response;
  /**
   * The feed in which what this call does is a change. Its owner publishes the change before it answers, and a process
   * that follows the feed knows of it before the caller has the answer.
   */
  readonly changes?: 'access' | 'credentials';
  readonly request: MessageClass<Request>;
  readonly response: MessageClass<Response>;
}

/**
 * A nudge, unsigned: the row in PostgreSQL is the truth and the payload only names it.
 * Delivered at least once; a handler must be able to meet the same job twice.
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
