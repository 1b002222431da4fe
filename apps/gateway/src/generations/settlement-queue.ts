import type { LoggerService } from '@nestjs/common';
import {
  GroupCommit,
  sqlStateOf,
  storeApart,
  type GenerationSettlement,
  type GenerationsRepository,
  type GroupTry,
  type RefusedRow,
  type StoredApart,
} from '@libs/persistence';
import { counter } from '@libs/platform';

const MOST_ROWS = 500;
/** How long charges are collected for one commit. No call waits for it. */
const GATHER_MS = 25;
const FIRST_RETRY_MS = 200;

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
 * Writes charges to the ledger in group commits: all charges that arrive during one commit form the next. While
 * PostgreSQL is unavailable they wait here and are retried for as long as the process lives. Committing one twice
 * changes nothing, so an unknown outcome is simply retried. A charge that PostgreSQL refuses because of its data does
 * not block others: it is committed without its descriptive fields, or counted and logged. A charge that takes too
 * long, or whose account is locked, waits separately.
 */
export class SettlementQueue {
  private readonly group: GroupCommit<GenerationSettlement>;

  constructor(
    private readonly repository: Pick<GenerationsRepository, 'settle'>,
    private readonly logger: LoggerService,
    /** Called when a charge is committed, or finally refused. */
    private readonly onDone: (settlement: GenerationSettlement) => void = () => undefined,
  ) {
    this.group = new GroupCommit({
      gatherMs: GATHER_MS,
      mostRows: MOST_ROWS,
      firstRetryMs: FIRST_RETRY_MS,
      keyOf: ({ organizationId }) => organizationId,
      store: (settlements) => this.settle(settlements),
      onTried: (tried, isFirstFailure) => this.onTried(tried, isFirstFailure),
    });
  }

  get size(): number {
    return this.group.size;
  }

  add(settlement: GenerationSettlement): void {
    this.group.add(settlement);
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
    const full = await this.store(group);
    const plain = await this.store(full.refused.map(({ row }) => withoutDescription(row)));
    bare.inc(plain.stored.reduce((sum, { rows }) => sum + rows.length, 0));
    for (const refusal of plain.refused) this.giveUp(refusal);
    for (const { rows } of [...full.stored, ...plain.stored]) rows.forEach(this.onDone);
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

  private reportStuck(stuck: readonly RefusedRow<GenerationSettlement>[]): void {
    const [{ row, error }] = stuck as [RefusedRow<GenerationSettlement>];
    const { id: generationId, organizationId } = row;
    this.logger.error('Charges wait apart', { err: error, charges: stuck.length, generationId, organizationId });
  }

  /** The log has the ids and the amount, which is all that an operator needs to charge it manually. */
  private giveUp({ row, error }: RefusedRow<GenerationSettlement>): void {
    refused.inc();
    this.onDone(row);
    const { id, organizationId, workspaceId, costUsd, model } = row;
    const sqlState = sqlStateOf(error);
    const fields = { sqlState, generationId: id, organizationId, workspaceId, costUsd, model };
    this.logger.error('A charge was refused as invalid', fields);
  }
}

/** Keeps only the owner of the call, its cost and how it ended. */
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
