import type { LoggerService } from '@nestjs/common';
import type { GenerationsRepository } from '@libs/persistence';
import { counter, PeriodicTask } from '@libs/platform';

const EVERY_MS = 30_000;
/** Longer than any call may last, so an open row of this age belongs to a process that died. */
const ABANDONED_AFTER_MS = 15 * 60_000;

const abandoned = counter({
  name: 'sluice_generations_abandoned_total',
  help: 'Accounts that got holds of dead processes back',
});

/** Gives back the holds of calls that nobody will settle any more. Any number of processes may sweep. */
export class AbandonedSweep {
  private readonly task = new PeriodicTask({ everyMs: EVERY_MS }, () => this.sweep());

  constructor(
    private readonly repository: Pick<GenerationsRepository, 'abandonOlderThan'>,
    private readonly logger: LoggerService,
  ) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  async sweep(): Promise<void> {
    try {
      const accounts = await this.repository.abandonOlderThan(ABANDONED_AFTER_MS);
      abandoned.inc(accounts);
      if (accounts > 0) this.logger.warn('Calls of a process that died were given up', { accounts });
    } catch (error) {
      // The next sweep finds the same rows.
      this.logger.warn('Abandoned calls could not be looked for', { err: error });
    }
  }
}
