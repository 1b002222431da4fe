import { Injectable } from '@nestjs/common';
import { LedgerHoldsRepository } from '@libs/persistence';
import { gauge, PeriodicTask } from '@libs/platform';

const EVERY_MS = 5 * 60_000;

const orphans = gauge({
  name: 'sluice_ledger_orphan_holds',
  help: 'Open holds past their time whose batch or video is over or gone, up to 1000',
});

/** Counts holds that nothing will resolve. An operator must release them, because it may be unknown what was spent. */
@Injectable()
export class HoldWatchService {
  private readonly task = new PeriodicTask({ name: 'ledger.count-holds', everyMs: EVERY_MS, isImmediate: true }, () =>
    this.count(),
  );

  constructor(private readonly holds: LedgerHoldsRepository) {}

  start(): void {
    this.task.start();
  }

  stop(): Promise<void> {
    return this.task.stop();
  }

  private async count(): Promise<void> {
    orphans.set(await this.holds.countOrphans());
  }
}
