export interface PeriodicTaskOptions {
  readonly everyMs: number;
  /** The first time comes at once instead of after `everyMs`. */
  readonly isImmediate?: boolean;
}

/**
 * Something that is done again and again: each time `everyMs` after the time before has ended, so that no two of
 * them overlap. It keeps no process alive.
 */
export class PeriodicTask {
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;

  /** @param run never rejects: what fails is its own to tell, and the next time tries again */
  constructor(
    private readonly options: PeriodicTaskOptions,
    private readonly run: () => Promise<void>,
  ) {}

  /** For a run that takes many steps: whether to take no more of them. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  start(): void {
    if (this.options.isImmediate === true) this.#runAndWait();
    else this.#wait();
  }

  /** Resolves when a run that is under way has ended; there is no other. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
  }

  #wait(): void {
    this.#timer = setTimeout(() => this.#runAndWait(), this.options.everyMs).unref();
  }

  #runAndWait(): void {
    this.#running = this.run().then(() => {
      if (!this.#isStopped) this.#wait();
    });
  }
}
