import { Logger } from '@nestjs/common';
import { describeFailure } from '../messaging/broker-failure';
import { counter } from '../telemetry/metrics';

export interface PeriodicTaskOptions {
  /** Label of the metric and of the log. */
  readonly name: string;
  readonly everyMs: number;
  /** True: the first run starts at once instead of after `everyMs`. */
  readonly isImmediate?: boolean;
  /** Lets only one process perform each run, for work that is the same in every process. */
  readonly runner?: TaskRunner;
}

/** Runs the work unless another process is running it, or some process ended it less than `everyMs` ago. */
export interface TaskRunner {
  run(task: string, turn: { readonly everyMs: number }, work: () => Promise<unknown>): Promise<unknown>;
}

/** How soon a process with a runner takes over from one that died. */
const LONGEST_TICK_MS = 60_000;

const failures = counter({
  name: 'sluice_task_failures_total',
  help: 'Runs of periodic tasks that failed as a whole, by task; the next run tries again',
  labelNames: ['task'],
});

/**
 * Runs something again and again, each time `everyMs` after the last run ended, so that no two runs overlap. A run
 * that throws is counted, and logged when it is the first in a row. The timer does not keep the process alive.
 */
export class PeriodicTask {
  readonly #logger = new Logger(PeriodicTask.name);
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;
  #failuresInARow = 0;

  constructor(
    private readonly options: PeriodicTaskOptions,
    private readonly run: () => Promise<unknown>,
  ) {}

  /** True after `stop` was called; a run with many steps must then stop between them. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  start(): void {
    if (this.options.isImmediate === true) this.#runAndWait();
    else this.#wait();
  }

  /** Resolves when the run in progress has ended; there is no other after it. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
  }

  /** Runs the task once, now, independent of the timer. Never throws. */
  async runOnce(): Promise<void> {
    try {
      const { name, everyMs, runner } = this.options;
      await (runner === undefined ? this.run() : runner.run(name, { everyMs }, this.run));
      this.#failuresInARow = 0;
    } catch (error) {
      this.#failed(error);
    }
  }

  #wait(): void {
    const { everyMs, runner } = this.options;
    const delayMs = runner === undefined ? everyMs : Math.min(everyMs, LONGEST_TICK_MS);
    this.#timer = setTimeout(() => this.#runAndWait(), delayMs).unref();
  }

  #runAndWait(): void {
    this.#running = this.runOnce().then(() => {
      if (!this.#isStopped) this.#wait();
    });
  }

  #failed(error: unknown): void {
    const { name: task } = this.options;
    this.#failuresInARow += 1;
    failures.inc({ task });
    if (this.#failuresInARow === 1) this.#logger.warn(`${task} failed and is tried again: ${describeFailure(error)}`);
  }
}
