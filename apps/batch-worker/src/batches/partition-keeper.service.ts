import { Injectable, Logger } from '@nestjs/common';
import { PartitionsRepository } from '@libs/persistence';
import { PeriodicTask } from '@libs/platform';

const EVERY_MS = 6 * 3_600_000;

/**
 * Keeps the weekly partitions of the coming month in place, so that rows never end in the default one, and drops
 * those of batches whose results are older than they are kept.
 */
@Injectable()
export class PartitionKeeperService {
  private readonly logger = new Logger(PartitionKeeperService.name);
  private readonly task = new PeriodicTask({ everyMs: EVERY_MS, isImmediate: true }, () => this.keep());

  constructor(private readonly partitions: PartitionsRepository) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async keep(): Promise<void> {
    try {
      await this.partitions.ensureComingWeeks();
      const dropped = await this.partitions.dropExpiredWeeks();
      if (dropped > 0) this.logger.log(`${dropped} partitions of expired batches were dropped`);
    } catch (error) {
      this.logger.warn(`partitions could not be kept yet: ${error instanceof Error ? error.message : 'unknown error'}`);
    }
  }
}
