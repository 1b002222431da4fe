import type { LoggerService } from '@nestjs/common';
import type { GenerationContentsRepository } from '@libs/persistence';
import { counter } from '@libs/platform';

const EVERY_MS = 3_600_000;

const purged = counter({
  name: 'sluice_generation_contents_purged_total',
  help: 'Contents of calls that were deleted because their days were over',
});

/** Deletes contents when their days are over. Any number of processes may do so at once. */
export class ContentRetention {
  private timer: NodeJS.Timeout | null = null;
  private isStopped = false;

  constructor(
    private readonly repository: Pick<GenerationContentsRepository, 'purgeOlderThan'>,
    private readonly days: number,
    private readonly logger: LoggerService,
  ) {}

  start(): void {
    void this.purge();
    this.timer = setInterval(() => void this.purge(), EVERY_MS).unref();
  }

  stop(): void {
    this.isStopped = true;
    if (this.timer !== null) clearInterval(this.timer);
  }

  async purge(): Promise<void> {
    try {
      for (let isDone = false; !isDone && !this.isStopped;) {
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
