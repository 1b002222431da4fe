import { Injectable, Logger } from '@nestjs/common';
import { BatchEndingsRepository, BatchIntakeRepository, BatchesRepository } from '@libs/persistence';
import { PeriodicTask } from '@libs/platform';
import { BatchRunnerService } from './batch-runner.service';

const SWEEP_MS = 5_000;
const STALLED_PER_SWEEP = 100;
const UPLOADS_PER_SWEEP = 10;
const EXPIRED_PER_SWEEP = 100;

/**
 * Finds what no message will bring: batches whose nudge was lost or whose worker died, those whose time is over,
 * and uploads whose gateway died. It takes the same steps as a message would, so either may come first.
 */
@Injectable()
export class SweeperService {
  private readonly logger = new Logger(SweeperService.name);
  private readonly task = new PeriodicTask({ everyMs: SWEEP_MS }, () => this.sweep());

  constructor(
    private readonly batches: BatchesRepository,
    private readonly intake: BatchIntakeRepository,
    private readonly endings: BatchEndingsRepository,
    private readonly runner: BatchRunnerService,
  ) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async stopExpired(): Promise<void> {
    for (const { id } of await this.endings.stopExpired(EXPIRED_PER_SWEEP)) {
      this.logger.log(`batch ${id} has had its 24 hours`);
      await this.runner.advance(id);
    }
  }

  /** One pass. A failure is logged and the next pass tries again. */
  async sweep(): Promise<void> {
    try {
      this.runner.wakeLane();
      await this.stopExpired();
      const stalled = await this.batches.findStalled(STALLED_PER_SWEEP);
      for (const batch of stalled) {
        this.logger.log(`batch ${batch.id} stood still at ${batch.status}; taking it up`);
        await this.runner.advance(batch.id);
      }
      await this.intake.forgetOldKeys();
      const discarded = await this.intake.discardStale(UPLOADS_PER_SWEEP);
      if (discarded > 0) this.logger.log(`${discarded} uploads whose gateway died were discarded`);
    } catch (error) {
      this.logger.warn(`a sweep failed: ${error instanceof Error ? error.message : 'unknown error'}`);
    }
  }
}
