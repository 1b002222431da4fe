import type { LoggerService } from '@nestjs/common';
import { EachAlone, PeriodicTask, type TaskRunner } from '@libs/platform';

const EVERY_MS = 30_000;

/** Finishes, twice a minute in one gateway of all, what processes that died have left of their calls. */
export abstract class CallSweep {
  private readonly task: PeriodicTask;
  /** What fails rests, so that it does not stop the others. */
  protected readonly each: EachAlone;

  constructor(
    name: string,
    protected readonly logger: LoggerService,
    runner: TaskRunner,
  ) {
    this.each = new EachAlone(name, logger);
    this.task = new PeriodicTask({ name, everyMs: EVERY_MS, runner }, () => this.pass());
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** Runs one pass. Never throws. */
  sweep(): Promise<void> {
    return this.task.runOnce();
  }

  protected abstract pass(): Promise<void>;
}
