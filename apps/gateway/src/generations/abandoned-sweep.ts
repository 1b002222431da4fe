import type { LoggerService } from '@nestjs/common';
import { isLocked, storeApart, type GenerationsRepository } from '@libs/persistence';
import { counter, type TaskRunner } from '@libs/platform';
import { CallSweep, type SweepRound } from './call-sweep';

const MOST_ROWS = 1_000;
/** Longer than any call may last, so an open row of this age belongs to a process that died. */
const ABANDONED_AFTER_MS = 15 * 60_000;

const abandoned = counter({
  name: 'sluice_generations_abandoned_total',
  help: 'Calls of dead processes whose holds were given back',
});

/** Releases the holds of calls whose process died. A hold that PostgreSQL fails to release does not stop the others. */
export class AbandonedSweep extends CallSweep {
  constructor(
    private readonly repository: Pick<GenerationsRepository, 'findAbandoned' | 'abandon' | 'lockedAmong'>,
    logger: LoggerService,
    runner: TaskRunner,
  ) {
    super('generations.abandon', logger, runner);
  }

  protected override async round(exceptIds: readonly string[]): Promise<SweepRound> {
    const stale = await this.repository.findAbandoned(ABANDONED_AFTER_MS, MOST_ROWS, exceptIds);
    const { stored, refused, stuck, failed } = await storeApart(stale, (calls) => this.repository.abandon(calls), {
      payerOf: ({ organizationId }) => organizationId,
      lockedPayers: () => this.repository.lockedAmong('all'),
    });
    const calls = stored.reduce((sum, { result }) => sum + result, 0);
    abandoned.inc(calls);
    if (calls > 0) this.logger.warn('Calls of a process that died were given up', { calls });
    const apart = [...refused, ...stuck];
    if (failed !== null && stored.length + apart.length === 0) throw failed.error;
    // The others of an organization whose account is locked would only wait for the lock as well.
    const idOf = ({ row, error }: (typeof apart)[number]): string => (isLocked(error) ? row.organizationId : row.id);
    return { isOver: stale.length < MOST_ROWS, failed: new Map(apart.map((one) => [idOf(one), one.error])) };
  }
}
