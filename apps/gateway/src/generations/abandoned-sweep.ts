import type { LoggerService } from '@nestjs/common';
import { storeApart, type GenerationsRepository } from '@libs/persistence';
import { counter, type TaskRunner } from '@libs/platform';
import { CallSweep } from './call-sweep';

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
    private readonly repository: Pick<GenerationsRepository, 'findAbandoned' | 'abandon'>,
    logger: LoggerService,
    runner: TaskRunner,
  ) {
    super('generations.abandon', logger, runner);
  }

  protected override async pass(): Promise<void> {
    const stale = await this.repository.findAbandoned(ABANDONED_AFTER_MS, MOST_ROWS, this.each.restingIds());
    const { stored, refused, stuck, failed } = await storeApart(stale, (calls) => this.repository.abandon(calls));
    const calls = stored.reduce((sum, { result }) => sum + result, 0);
    abandoned.inc(calls);
    if (calls > 0) this.logger.warn('Calls of a process that died were given up', { calls });
    for (const { row, error } of [...refused, ...stuck]) this.each.failed(row.id, error);
    if (failed !== null) throw failed.error;
  }
}
