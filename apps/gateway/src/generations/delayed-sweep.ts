import type { LoggerService } from '@nestjs/common';
import type { DelayedChargesRepository, GenerationsRepository } from '@libs/persistence';
import type { TaskRunner } from '@libs/platform';
import { CallSweep } from './call-sweep';
import { storeCharges } from './store-charges';

const MOST_ROWS = 500;
/** More charges than a process keeps in memory. */
const MOST_ROUNDS = 40;
/** A process that lives usually commits its charge by itself within this time. */
const LEFT_FOR_MS = 60_000;

/**
 * Commits charges that a gateway wrote down because it could not commit them at once. The gateway may have died since;
 * if it lives and commits them itself, committing them twice changes nothing.
 */
export class DelayedSweep extends CallSweep {
  constructor(
    private readonly generations: Pick<GenerationsRepository, 'settle'>,
    private readonly delayed: Pick<DelayedChargesRepository, 'find' | 'remove'>,
    logger: LoggerService,
    runner: TaskRunner,
  ) {
    super('generations.delayed', logger, runner);
  }

  protected override async pass(): Promise<void> {
    for (let round = 1; round <= MOST_ROUNDS; round += 1) {
      const charges = await this.delayed.find(LEFT_FOR_MS, MOST_ROWS, this.each.restingIds());
      if (charges.length === 0) return;
      const { done, stuck, error } = await storeCharges(this.generations, charges, this.logger);
      if (done.length > 0) await this.delayed.remove(done.map(({ id }) => id));
      // The others of an organization whose account is locked would only wait for the lock as well.
      const locked = new Map(stuck.map(({ row, error: why }) => [row.organizationId, why]));
      for (const [organizationId, why] of locked) this.each.failed(organizationId, why);
      if (error !== null) throw error;
    }
  }
}
