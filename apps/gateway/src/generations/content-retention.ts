import type { GenerationContentsRepository } from '@libs/persistence';
import { counter, PeriodicTask, type TaskRunner } from '@libs/platform';

const EVERY_MS = 3_600_000;

const purged = counter({
  name: 'sluice_generation_contents_purged_total',
  help: 'Contents of calls that were deleted because their days were over',
});

/** Deletes stored contents after their retention time. Only one process at a time does this. */
export class ContentRetention {
  private readonly task: PeriodicTask;

  constructor(
    private readonly repository: Pick<GenerationContentsRepository, 'purgeOlderThan'>,
    private readonly days: number,
    runner: TaskRunner,
  ) {
    const name = 'generations.purge-contents';
    this.task = new PeriodicTask({ name, everyMs: EVERY_MS, isImmediate: true, runner }, () => this.purgeAll());
  }

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** Runs one pass. Never throws. */
  purge(): Promise<void> {
    return this.task.runOnce();
  }

  private async purgeAll(): Promise<void> {
    for (let isDone = false; !isDone && !this.task.isStopped;) {
      const part = await this.repository.purgeOlderThan(this.days);
      purged.inc(part.deleted);
      isDone = part.isDone;
    }
  }
}
