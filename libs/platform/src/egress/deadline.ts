import { AppError } from '@libs/errors';

/** The time limit of one exchange, combined with the caller's signal to end it earlier. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = (): void => this.#controller.abort();
  #isTimeUp = false;

  /** @param caller not yet aborted */
  constructor(
    timeoutMs: number,
    private readonly caller: AbortSignal | undefined,
  ) {
    this.#timer = setTimeout(() => {
      this.#isTimeUp = true;
      this.#controller.abort();
    }, timeoutMs);
    caller?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Settles like `work`, or rejects as soon as the time is up: for work that cannot be aborted. */
  async race<T>(work: Promise<T>): Promise<T> {
    const { signal } = this;
    return await new Promise<T>((resolve, reject) => {
      if (signal.aborted) reject(new Error('aborted'));
      const onAbort = (): void => reject(new Error('aborted'));
      signal.addEventListener('abort', onAbort, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  /** Returns the error to throw for an error during the exchange: if the time is up, that is the reason. */
  explain(error: unknown): unknown {
    if (this.#isTimeUp) return new AppError('timeout', 'The host did not answer in time', { cause: error });
    return this.caller?.aborted === true ? this.caller.reason : error;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.caller?.removeEventListener('abort', this.#onAbort);
  }
}
