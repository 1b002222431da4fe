import type { LoggerService } from '@nestjs/common';
import type { DelayedChargesRepository, GenerationsRepository } from '@libs/persistence';
import { EachAlone, PeriodicTask, type TaskRunner } from '@libs/platform';
import { storeCharges } from './store-charges';

const TASK = 'generations.delayed';
const EVERY_MS = 30_000;
const MOST_ROWS = 500;
/** A process that lives usually commits its charge by itself within this time. */
const LEFT_FOR_MS = 60_000;

/**
 * Commits charges that a gateway wrote down while their account was locked. The gateway may have died since; if it
 * committed them itself, committing them again changes nothing.
 */
export class DelayedSweep {
  private readonly task: PeriodicTask;
  private readonly each: EachAlone;

  constructor(
    private readonly generations: Pick<GenerationsRepository, 'settle'>,
    private readonly delayed: Pick<DelayedChargesRepository, 'find' | 'remove'>,
    private readonly logger: LoggerService,
    runner: TaskRunner,
  ) {
    this.each = new EachAlone(TASK, logger);
    this.task = new PeriodicTask({ name: TASK, everyMs: EVERY_MS, runner }, () => this.commit());
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

  private async commit(): Promise<void> {
    const charges = await this.delayed.find(LEFT_FOR_MS, MOST_ROWS, this.each.restingIds());
    if (charges.length === 0) return;
    const { done, stuck, error } = await storeCharges(this.generations, charges, this.logger);
    if (done.length > 0) await this.delayed.remove(done.map(({ id }) => id));
    for (const { row, error: why } of stuck) this.each.failed(row.id, why);
    if (error !== null) throw error;
  }
}
