import type { LoggerService } from '@nestjs/common';
import { GroupCommit, type GenerationSettlement, type GroupTry, type RefusedRow } from '@libs/persistence';
import type { DelayedCharges } from './delayed-charges';
import { storeCharges, type ChargeStore } from './store-charges';

const MOST_ROWS = 500;
/** How long charges are collected for one commit. No call waits for it. */
const GATHER_MS = 25;
const FIRST_RETRY_MS = 200;

export interface SettlementQueueOptions {
  /** Called when a charge is committed, or finally refused. */
  readonly onDone?: (settlement: GenerationSettlement) => void;
  /** Writes down what waits for long. */
  readonly delayed?: Pick<DelayedCharges, 'add' | 'done'> | undefined;
}

/**
 * Writes charges to the ledger in group commits: all charges that arrive during one commit form the next. While
 * PostgreSQL is unavailable they wait here and are retried for as long as the process lives. Committing one twice
 * changes nothing, so an unknown outcome is simply retried. A charge that PostgreSQL refuses because of its data does
 * not block others, see {@link storeCharges}. A charge that takes too long, or whose account is locked, waits
 * separately.
 */
export class SettlementQueue {
  private readonly group: GroupCommit<GenerationSettlement>;

  constructor(
    private readonly repository: ChargeStore,
    private readonly logger: LoggerService,
    private readonly options: SettlementQueueOptions = {},
  ) {
    this.group = new GroupCommit({
      gatherMs: GATHER_MS,
      mostRows: MOST_ROWS,
      firstRetryMs: FIRST_RETRY_MS,
      keyOf: ({ organizationId }) => organizationId,
      lockedOf: async (settlements) => {
        const locked = await repository.lockedAmong(settlements.map(({ organizationId }) => organizationId));
        return settlements.filter(({ organizationId }) => locked.has(organizationId));
      },
      store: (settlements) => this.settle(settlements),
      onTried: (tried, isFirstFailure) => this.onTried(tried, isFirstFailure),
    });
  }

  get size(): number {
    return this.group.size;
  }

  add(settlement: GenerationSettlement): void {
    this.options.delayed?.add(settlement);
    this.group.add(settlement);
  }

  /** A charge that will be added later, or withdrawn. It is written down if that takes long. */
  announce(settlement: GenerationSettlement): void {
    this.options.delayed?.add(settlement);
  }

  /** A charge that was announced is not to be made. */
  withdraw(settlement: GenerationSettlement): void {
    this.options.delayed?.done(settlement);
  }

  /** Resolves when everything has been committed. */
  flushed(): Promise<void> {
    return this.group.flush();
  }

  private onTried({ left, stuck, error }: GroupTry<GenerationSettlement>, isFirstFailure: boolean): void {
    if (stuck.length > 0) this.reportStuck(stuck);
    // Logged once per outage, because a line for every retry would add nothing.
    if (left.length > 0 && isFirstFailure) {
      this.logger.error('Charges wait for PostgreSQL', { err: error, waiting: this.size });
    }
  }

  private async settle(group: readonly GenerationSettlement[]): Promise<GroupTry<GenerationSettlement>> {
    const { done, stuck, left, error } = await storeCharges(this.repository, group, this.logger);
    for (const settlement of done) {
      this.options.delayed?.done(settlement);
      this.options.onDone?.(settlement);
    }
    return { left, stuck, error: error ?? stuck[0]?.error ?? null };
  }

  private reportStuck(stuck: readonly RefusedRow<GenerationSettlement>[]): void {
    const [{ row, error }] = stuck as [RefusedRow<GenerationSettlement>];
    const { id: generationId, organizationId } = row;
    this.logger.error('Charges wait apart', { err: error, charges: stuck.length, generationId, organizationId });
  }
}
