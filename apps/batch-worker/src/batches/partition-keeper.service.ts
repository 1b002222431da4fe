import { Injectable, Logger } from '@nestjs/common';
import { PartitionsRepository } from '@libs/persistence';

const EVERY_MS = 6 * 3_600_000;

/** Keeps the weekly partitions of the coming month in place, so that rows never end in the default one. */
@Injectable()
export class PartitionKeeperService {
  private readonly logger = new Logger(PartitionKeeperService.name);
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly partitions: PartitionsRepository) {}

  start(): void {
    void this.ensure();
    this.timer = setInterval(() => void this.ensure(), EVERY_MS);
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  private async ensure(): Promise<void> {
    try {
      await this.partitions.ensureComingWeeks();
    } catch (error) {
      this.logger.warn(
        `partitions could not be prepared yet: ${error instanceof Error ? error.message : 'unknown error'}`,
      );
    }
  }
}
