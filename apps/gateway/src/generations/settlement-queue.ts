import { setTimeout as delay } from 'node:timers/promises';
import type { LoggerService } from '@nestjs/common';
import {
  sqlStateOf,
  storeApart,
  StuckRows,
  type GenerationSettlement,
  type GenerationsRepository,
  type RefusedRow,
  type StoredApart,
} from '@libs/persistence';
import { counter } from '@libs/platform';

const MOST_ROWS = 500;
/** Nobody waits for a charge; a commit that gathers them for a moment is shared by many. */
const GATHER_MS = 25;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

const settled = counter({ name: 'sluice_generations_settled_total', help: 'Calls whose charge was committed' });
const refused = counter({
  name: 'sluice_generations_unsettled_total',
  help: 'Calls whose charge the database refused as invalid; each one is in the log',
});

const bare = counter({
  name: 'sluice_generations_settled_bare_total',
  help: 'Calls whose charge was committed without descriptive fields that the database refused',
});

/**
 * Charges on their way to the books, committed in groups: whatever waits when a commit is through makes the
 * next one. While PostgreSQL is away they wait here and are tried again for as long as the process lives;
 * committing one twice changes nothing, so an unknown outcome is simply tried again. A charge that PostgreSQL refuses
 * for its data holds up no other: it is committed without what only describes the call, or counted and logged. Nor does
 * one that takes too long, or whose account is locked: it waits apart.
 */
export class SettlementQueue {
  private waiting: GenerationSettlement[] = [];
  private readonly stuck: StuckRows<GenerationSettlement>;
  private running: Promise<void> | null = null;
  private isHurried = false;

  constructor(
    private readonly repository: Pick<GenerationsRepository, 'settle'>,
    private readonly logger: LoggerService,
  ) {
    this.stuck = new StuckRows({
      keyOf: ({ organizationId }) => organizationId,
      store: async (row) => (await this.settle([row])).error,
      onFree: (rows) => rows.forEach((row) => this.add(row)),
    });
  }

  get size(): number {
    return this.waiting.length + this.stuck.size;
  }

  add(settlement: GenerationSettlement): void {
    if (this.stuck.keepIfLocked(settlement)) return;
    this.waiting.push(settlement);
    this.running ??= this.run();
  }

  /** Resolves when everything has been committed. */
  async flushed(): Promise<void> {
    this.isHurried = true;
    while (this.size > 0 || this.running !== null) {
      await this.running;
      await this.stuck.settled();
    }
    this.isHurried = false;
  }

  private async run(): Promise<void> {
    let failures = 0;
    while (this.waiting.length > 0) {
      if (!this.isHurried && this.waiting.length < MOST_ROWS) await delay(GATHER_MS);
      const isCommitted = await this.commit(this.waiting.slice(0, MOST_ROWS), failures === 0);
      if (isCommitted) {
        failures = 0;
      } else {
        failures += 1;
        const longestMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10));
        await delay(longestMs * (0.5 + Math.random() / 2));
      }
    }
    this.running = null;
  }

  /** Returns false when some of the group, which is the head of the queue, must be tried again: that stays. */
  private async commit(group: readonly GenerationSettlement[], isFirstTry: boolean): Promise<boolean> {
    const { left, stuck, error } = await this.settle(group);
    this.waiting.splice(0, group.length, ...left);
    if (stuck.length > 0) this.setApart(stuck);
    if (left.length === 0) return true;
    // Once per outage: a line for every retry would say nothing new.
    if (isFirstTry) this.logger.error('Charges wait for PostgreSQL', { err: error, waiting: this.size });
    return false;
  }

  private async settle(group: readonly GenerationSettlement[]): Promise<{
    readonly left: readonly GenerationSettlement[];
    readonly stuck: readonly RefusedRow<GenerationSettlement>[];
    /** Null when nothing is left or stuck. */
    readonly error: unknown;
  }> {
    const full = await this.store(group);
    const plain = await this.store(full.refused.map(({ row }) => withoutDescription(row)));
    bare.inc(plain.stored.reduce((sum, { rows }) => sum + rows.length, 0));
    for (const refusal of plain.refused) this.giveUp(refusal);
    const stuck = [...full.stuck, ...plain.stuck];
    const failed = [full.failed, plain.failed].filter((one) => one !== null);
    const left = failed.flatMap(({ rows }) => rows);
    return { left, stuck, error: failed[0]?.error ?? stuck[0]?.error ?? null };
  }

  private async store(group: readonly GenerationSettlement[]): Promise<StoredApart<GenerationSettlement, number>> {
    const settle = (some: readonly GenerationSettlement[]): Promise<number> => this.repository.settle(some);
    const outcome = await storeApart(group, settle, ({ organizationId }) => organizationId);
    settled.inc(outcome.stored.reduce((sum, { rows }) => sum + rows.length, 0));
    return outcome;
  }

  private setApart(stuck: readonly RefusedRow<GenerationSettlement>[]): void {
    const [{ row, error }] = stuck as [RefusedRow<GenerationSettlement>];
    const { id: generationId, organizationId } = row;
    this.logger.error('Charges wait apart', { err: error, charges: stuck.length, generationId, organizationId });
    this.stuck.add(stuck);
    const { waiting } = this;
    this.waiting = [];
    for (const settlement of waiting) this.add(settlement);
  }

  /** With ids and the amount, which is all that an operator needs to charge it by hand. */
  private giveUp({ row, error }: RefusedRow<GenerationSettlement>): void {
    refused.inc();
    const { id, organizationId, workspaceId, costUsd, model } = row;
    const sqlState = sqlStateOf(error);
    const fields = { sqlState, generationId: id, organizationId, workspaceId, costUsd, model };
    this.logger.error('A charge was refused as invalid', fields);
  }
}

/** Keeps whose call it was, what it cost and how it ended. */
function withoutDescription(settlement: GenerationSettlement): GenerationSettlement {
  const { isByok, upstreamCostUsd } = settlement.details;
  return {
    ...settlement,
    upstreamId: null,
    upstreamModel: null,
    finishReason: null,
    usageProvenance: null,
    latencyMs: null,
    generationMs: null,
    details: { attempts: [], isByok, upstreamCostUsd },
  };
}
