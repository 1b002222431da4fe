import type { CallContract, Contract, JobContract } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { MessageBus } from '../message-bus';

export interface Sent {
  readonly contract: Contract;
  readonly payload: object;
}

/** A bus that keeps what was sent and gives the answers that the test has set. */
export class FakeMessageBus extends MessageBus {
  readonly calls: Sent[] = [];
  readonly jobs: Sent[] = [];
  /** When set, every call and job fails with it. */
  failure: AppError | undefined;
  readonly #answers = new Map<string, (request: never) => object | Promise<object>>();

  answers<Q extends object, R extends object>(
    contract: CallContract<Q, R>,
    answer: (request: Q) => R | Promise<R>,
  ): this {
    this.#answers.set(contract.name, answer);
    return this;
  }

  override async call<Q extends object, R extends object>(contract: CallContract<Q, R>, request: Q): Promise<R> {
    this.calls.push({ contract, payload: request });
    if (this.failure) throw this.failure;
    const answer = this.#answers.get(contract.name) as ((request: Q) => R | Promise<R>) | undefined;
    if (!answer) throw new AppError('server', 'Internal error', { internal: `no answer given for ${contract.name}` });
    return answer(request);
  }

  override async send<P extends object>(contract: JobContract<P>, payload: P): Promise<void> {
    if (this.failure) throw this.failure;
    this.jobs.push({ contract, payload });
  }
}
