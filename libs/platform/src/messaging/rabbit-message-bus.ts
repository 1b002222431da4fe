import { firstValueFrom, throwError, timeout } from 'rxjs';
import type { CallContract, JobContract } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { AskedCall, CallClient } from './call-client';
import type { JobSender } from './job-sender';
import { MessageBus } from './message-bus';
import { callSeconds } from './messaging-metrics';
import { OwnerClocks } from './owner-clock';

/** The message bus over RabbitMQ. */
export class RabbitMessageBus extends MessageBus {
  readonly #clocks = new OwnerClocks((question) => this.#send(question, {}));

  constructor(
    private readonly client: CallClient,
    private readonly jobs: JobSender,
  ) {
    super();
  }

  override async call<Q extends object, R extends object>(contract: CallContract<Q, R>, request: Q): Promise<R> {
    const stopTimer = callSeconds.startTimer({ contract: contract.name });
    try {
      const response = await this.#ask(contract, request);
      stopTimer({ outcome: 'ok' });
      return response;
    } catch (thrown) {
      const error = AppError.from(thrown);
      stopTimer({ outcome: error.code });
      throw error;
    }
  }

  override async send<P extends object>(contract: JobContract<P>, payload: P): Promise<void> {
    await this.jobs.send(contract, payload);
  }

  async #ask<Q extends object, R extends object>(contract: CallContract<Q, R>, request: Q): Promise<R> {
    const deadline = performance.now() + contract.timeoutMs;
    const remainingMs = (): number => Math.max(1, Math.ceil(deadline - performance.now()));
    // Without a channel a call fails at once; only the first channel of a process is awaited.
    if (!this.client.wasReady) await this.client.ready(contract.timeoutMs);
    if (contract.repeat === 'harmless') return this.#send({ ...contract, timeoutMs: remainingMs() }, request);
    const expiresAtMs = await this.#clocks.endOf(contract.queue, remainingMs);
    return this.#send({ ...contract, timeoutMs: remainingMs(), expiresAtMs }, request);
  }

  #send<Q extends object, R extends object>(question: AskedCall<Q, R>, request: Q): Promise<R> {
    const { timeoutMs } = question;
    return firstValueFrom(
      this.client
        .send<R>(question, request)
        .pipe(timeout({ first: timeoutMs, with: () => throwError(() => timedOut(question)) })),
    );
  }
}

function timedOut(contract: { readonly name: string; readonly timeoutMs: number }): AppError {
  return new AppError('timeout', 'The request took too long', {
    internal: `no answer to ${contract.name} within ${contract.timeoutMs} ms`,
  });
}
