import type { LoggerService } from '@nestjs/common';
import type { DelayedChargesRepository } from '@libs/persistence';
import type { TaskRunner } from '@libs/platform';
import { CallSweep, type SweepRound } from './call-sweep';
import { storeCharges, type ChargeStore } from './store-charges';

const MOST_ROWS = 500;
/** A process that lives usually commits its charge by itself within this time. */
const LEFT_FOR_MS = 60_000;

/**
 * Commits charges that a gateway wrote down because it could not commit them at once. The gateway may have died since;
 * if it lives and commits them itself, committing them twice changes nothing.
 */
export class DelayedSweep extends CallSweep {
  constructor(
    private readonly generations: ChargeStore,
    private readonly delayed: Pick<DelayedChargesRepository, 'find' | 'remove'>,
    logger: LoggerService,
    runner: TaskRunner,
  ) {
    super('generations.delayed', logger, runner);
  }

  protected override async round(exceptIds: readonly string[]): Promise<SweepRound> {
    const charges = await this.delayed.find(LEFT_FOR_MS, MOST_ROWS, exceptIds);
    const { done, stuck, left, error } = await storeCharges(this.generations, charges, this.logger);
    if (done.length > 0) await this.delayed.remove(done.map(({ id }) => id));
    if (left.length > 0 && done.length + stuck.length === 0) throw error;
    // The others of an organization whose account is locked would only wait for the lock as well.
    const failed = new Map(stuck.map(({ row, error: why }) => [row.organizationId, why]));
    return { isOver: charges.length < MOST_ROWS, failed };
  }
}
