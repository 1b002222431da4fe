import { Injectable, Logger } from '@nestjs/common';
import { BatchEndingsRepository, type StoppingBatch } from '@libs/persistence';
import { EachAlone, PeriodicTask } from '@libs/platform';
import { toBatchUsage } from './batch-usage';
import { FinalizerService } from './finalizer.service';
import { reportInconsistent } from './inconsistent-batches';
import { ManagedLaneService } from './managed-lane.service';

/** Interval of every worker's check, so that a cancelled batch ends within seconds. */
const LOOK_MS = 1_000;
const BATCHES_PER_LOOK = 100;

/**
 * Ends batches that must stop before their last line. Every worker checks for them, because each may hold segments of
 * such a batch; the row lock lets one of them end it. If there is none, a check is one read of an empty index.
 */
@Injectable()
export class BatchStopperService {
  private readonly logger = new Logger(BatchStopperService.name);
  private readonly task = new PeriodicTask({ name: 'batches.wind-up', everyMs: LOOK_MS }, () => this.windUpAll());
  private readonly each = new EachAlone('batches.wind-up', this.logger);

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

  /** Runs one pass. Never throws. */
  look(): Promise<void> {
    return this.task.runOnce();
  }

  private async windUpAll(): Promise<void> {
    const stopping = await this.endings.findStopping(BATCHES_PER_LOOK, this.each.restingIds());
    // All lines are stopped before any batch is ended, because ending one may take until a timeout.
    for (const batch of stopping) this.stopLines(batch);
    await this.each.forEach(
      stopping,
      ({ id }) => id,
      (batch) => this.windUp(batch),
      ({ organizationId }) => organizationId,
    );
  }

  /** Ends a stopped batch. Safe to repeat and to run in several workers at once. */
  async windUp(batch: Pick<StoppingBatch, 'id' | 'number' | 'endsAs'>): Promise<void> {
    const { id, number } = batch;
    this.stopLines(batch);
    const report = (problem: string): void => reportInconsistent(this.logger, { id, foundAt: 'stop', problem });
    const ending = await this.endings.finish(number, toBatchUsage, report);
    if (ending === null) return;
    this.logger.log(`batch ${id} ${ending}`);
    if (ending === 'expired') await this.finalizer.compareWithQuote(id);
  }

  private stopLines({ number, endsAs }: Pick<StoppingBatch, 'number' | 'endsAs'>): void {
    this.lane.stopBatch(number, endsAs === 'cancelled');
  }
}
