import type { LoggerService } from '@nestjs/common';
import type { GenerationContentsRepository } from '@libs/persistence';
import { counter, PeriodicTask } from '@libs/platform';

const EVERY_MS = 3_600_000;

const purged = counter({
  name: 'sluice_generation_contents_purged_total',
  help: 'Contents of calls that were deleted because their days were over',
});

/** Deletes contents when their days are over. Any number of processes may do so at once. */
export class ContentRetention {
  private readonly task = new PeriodicTask({ everyMs: EVERY_MS, isImmediate: true }, () => this.purge());

  constructor(
    private readonly repository: Pick<GenerationContentsRepository, 'purgeOlderThan'>,
    private readonly days: number,
    private readonly logger: LoggerService,
  ) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  async purge(): Promise<void> {
    try {
      for (let isDone = false; !isDone && !this.task.isStopped;) {
        const part = await this.repository.purgeOlderThan(this.days);
        purged.inc(part.deleted);
        isDone = part.isDone;
      }
    } catch (error) {
      // The next hour finds the same rows.
      this.logger.warn('Contents of calls could not be deleted', { err: error });
    }
  }
}
