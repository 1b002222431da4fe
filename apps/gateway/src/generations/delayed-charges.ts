import type { LoggerService } from '@nestjs/common';
import {
  GroupCommit,
  storeApart,
  type DelayedChargesRepository,
  type GenerationSettlement,
  type GroupTry,
} from '@libs/persistence';
import { counter } from '@libs/platform';

const MOST_ROWS = 500;
const GATHER_MS = 25;
const FIRST_RETRY_MS = 200;

const delayed = counter({
  name: 'sluice_generations_delayed_total',
  help: 'Charges that were written down because their account was locked, or because they took too long',
});

/**
 * Writes down the charges that wait for a lock, so that they outlive the process: `DelayedSweep` of any gateway commits
 * them. Nothing waits for this, and a charge that is committed meanwhile need not be written down.
 */
export class DelayedCharges {
  private readonly waiting = new Set<string>();
  private readonly group: GroupCommit<GenerationSettlement>;

  constructor(
    private readonly repository: Pick<DelayedChargesRepository, 'keep'>,
    private readonly logger: LoggerService,
  ) {
    this.group = new GroupCommit({
      gatherMs: GATHER_MS,
      mostRows: MOST_ROWS,
      firstRetryMs: FIRST_RETRY_MS,
      store: (charges) => this.keep(charges.filter(({ id }) => this.waiting.has(id))),
      onTried: ({ error }, isFirstFailure) => {
        if (isFirstFailure && error !== null) this.logger.error('Delayed charges stay in memory', { err: error });
      },
    });
  }

  /** Writes the charge down soon, unless that was done before. */
  add(charge: GenerationSettlement): void {
    if (this.waiting.has(charge.id)) return;
    this.waiting.add(charge.id);
    this.group.add(charge);
  }

  /** The charge is committed, or finally refused. */
  done({ id }: GenerationSettlement): void {
    if (this.waiting.size > 0) this.waiting.delete(id);
  }

  private async keep(charges: readonly GenerationSettlement[]): Promise<GroupTry<GenerationSettlement>> {
    const { stored, refused, stuck, failed } = await storeApart(charges, (some) => this.repository.keep(some));
    delayed.inc(stored.reduce((sum, { rows }) => sum + rows.length, 0));
    for (const { row, error } of refused) {
      this.logger.error('A delayed charge stays in memory', { err: error, generationId: row.id });
    }
    return { left: failed?.rows ?? [], stuck, error: failed?.error ?? stuck[0]?.error ?? null };
  }
}
