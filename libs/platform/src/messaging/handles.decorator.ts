import { Catch, UseFilters, type ExceptionFilter } from '@nestjs/common';
import { BaseRpcContext, Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { throwError, type Observable } from 'rxjs';
import type { CallContract, Contract, JobContract, PartyName } from '@libs/contracts';

/** Metadata that the decorator attaches to a handler for the queue server. */
export interface HandlerExtras extends Record<string, unknown> {
  readonly contract: Contract;
  /** `Class.method`, for messages to the developer. */
  readonly where: string;
}

/** About the message that a handler was called with. */
export class MessageContext extends BaseRpcContext<[string]> {
  constructor(
    contractName: string,
    /** The party that signed the question; undefined for a job. */
    readonly asker: PartyName | undefined,
  ) {
    super([contractName]);
  }
}

type HandlerDecorator<M> = <T extends M>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<T>,
) => void;

/** Rethrows errors of handlers, which the framework would replace by its own; the queue server needs the original. */
@Catch()
class RethrowFilter implements ExceptionFilter {
  catch(thrown: unknown): Observable<never> {
    return throwError(() => thrown);
  }
}

const rethrow = new RethrowFilter();

/**
 * Marks the method of a consumer class (`@Controller()`) that handles a contract. The method gets a validated instance
 * of the contract's request or payload class, and the context of the message.
 *
 * Call: its return value is the answer. An AppError that it throws reaches the caller unchanged, anything else as
 * `server`. Job: the job is done when the promise resolves. If it rejects, the job is delivered again after the next
 * retry delay of its queue, and is in the dead queue after the last.
 */
export function Handles<Q extends object, R extends object>(
  contract: CallContract<Q, R>,
): HandlerDecorator<(request: Q, context: MessageContext) => Promise<R> | R>;
export function Handles<P extends object>(contract: JobContract<P>): HandlerDecorator<(payload: P) => Promise<unknown>>;
export function Handles(contract: Contract): HandlerDecorator<(message: never, context: MessageContext) => unknown> {
  return (target, method, descriptor) => {
    const extras: HandlerExtras = { contract, where: `${target.constructor.name}.${String(method)}` };
    MessagePattern<string>(contract.name, extras)(target, method, descriptor);
    Payload()(target, method, 0);
    Ctx()(target, method, 1);
    UseFilters(rethrow)(target, method, descriptor);
  };
}
