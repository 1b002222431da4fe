import { Catch, UseFilters, type ExceptionFilter } from '@nestjs/common';
import { BaseRpcContext, Ctx, MessagePattern, Payload } from '@nestjs/microservices';
import { throwError, type Observable } from 'rxjs';
import type { CallContract, Contract, JobContract, PartyName } from '@libs/contracts';

/** What the decorator leaves on a handler for the queue server to find. */
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

/** The framework would replace what a handler throws by its own words; the queue server wants to see it. */
@Catch()
class RethrowFilter implements ExceptionFilter {
  catch(thrown: unknown): Observable<never> {
    return throwError(() => thrown);
  }
}

const rethrow = new RethrowFilter();

/**
 * Marks the method of a consumer class (`@Controller()`) that owns a contract. The method is given a
 * validated instance of the contract's request or payload class, and the context of the message.
 *
 * Call: what it returns is the answer; an AppError it throws reaches the caller as it is, anything else as
 * `server`. Job: the job is done when the promise resolves; if it rejects, the job comes again after the
 * next retry wait of its queue, and lies in the dead queue after the last.
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
