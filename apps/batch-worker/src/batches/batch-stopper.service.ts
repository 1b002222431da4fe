import { Injectable, Logger } from '@nestjs/common';
import { BatchEndingsRepository, type StoppingBatch } from '@libs/persistence';
import { PeriodicTask } from '@libs/platform';
import { toBatchUsage } from './batch-usage';
import { FinalizerService } from './finalizer.service';
import { ManagedLaneService } from './managed-lane.service';

/** A cancelled batch is over within seconds, so whoever holds lines of it looks every second. */
const LOOK_MS = 1_000;
const BATCHES_PER_LOOK = 100;

/**
 * Winds batches up that are to end before their last line. Every worker looks, because each may hold segments of
 * such a batch; the row lock lets one of them end it. While there is none, a look is one read of an empty index.
 */
@Injectable()
export class BatchStopperService {
  private readonly logger = new Logger(BatchStopperService.name);
  private readonly task = new PeriodicTask({ everyMs: LOOK_MS }, () => this.look());

  constructor(
    private readonly endings: BatchEndingsRepository,
    private readonly lane: ManagedLaneService,
    private readonly finalizer: FinalizerService,
  ) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  /** One pass. A failure is logged and the next pass tries again. */
  async look(): Promise<void> {
    try {
      for (const batch of await this.endings.findStopping(BATCHES_PER_LOOK)) await this.windUp(batch);
    } catch (error) {
      this.logger.warn(`stopping batches wait: ${error instanceof Error ? error.message : 'unknown error'}`);
    }
  }

  /** Safe to repeat and to run in several workers at once. */
  async windUp({ id, number }: StoppingBatch): Promise<void> {
    this.lane.stopBatch(number);
    const ending = await this.endings.finish(number, toBatchUsage);
    if (ending === null) return;
    this.logger.log(`batch ${id} ${ending}`);
    if (ending === 'expired') await this.finalizer.compareWithQuote(id);
  }
}
