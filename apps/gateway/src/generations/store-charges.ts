import type { LoggerService } from '@nestjs/common';
import {
  sqlStateOf,
  storeApart,
  type GenerationSettlement,
  type GenerationsRepository,
  type RefusedRow,
  type RowLocks,
  type StoredApart,
} from '@libs/persistence';
import { counter } from '@libs/platform';

const settled = counter({ name: 'sluice_generations_settled_total', help: 'Calls whose charge was committed' });
const refused = counter({
  name: 'sluice_generations_unsettled_total',
  help: 'Calls whose charge the database refused as invalid; each one is in the log',
});
const bare = counter({
  name: 'sluice_generations_settled_bare_total',
  help: 'Calls whose charge was committed without descriptive fields that the database refused',
});

export type ChargeStore = Pick<GenerationsRepository, 'settle' | 'lockedAmong'>;

/** The result of committing charges together. */
export interface StoredCharges {
  /** Committed, or finally refused. */
  readonly done: readonly GenerationSettlement[];
  /** Too slow by themselves, or of a locked account. */
  readonly stuck: readonly RefusedRow<GenerationSettlement>[];
  /** To be repeated, because of an error that need not be caused by them. */
  readonly left: readonly GenerationSettlement[];
  /** Null if none is left. */
  readonly error: unknown;
}

/**
 * Commits charges in as few groups as PostgreSQL accepts. Committing one twice changes nothing. A charge that
 * PostgreSQL refuses because of its data is committed without its descriptive fields; if it refuses that as well, the
 * charge is counted and logged.
 */
export async function storeCharges(
  repository: ChargeStore,
  charges: readonly GenerationSettlement[],
  logger: LoggerService,
): Promise<StoredCharges> {
  const settle = (some: readonly GenerationSettlement[]): Promise<number> => repository.settle(some);
  const locking: RowLocks<GenerationSettlement, string> = {
    payerOf: ({ organizationId }) => organizationId,
    lockedPayers: () => repository.lockedAmong('all'),
  };
  const full = await storeApart(charges, settle, locking);
  const plain = await storeApart(
    full.refused.map(({ row }) => withoutDescription(row)),
    settle,
    locking,
  );
  bare.inc(count(plain));
  settled.inc(count(full) + count(plain));
  for (const refusal of plain.refused) giveUp(refusal, logger);
  const failed = [full.failed, plain.failed].filter((one) => one !== null);
  return {
    done: [...[...full.stored, ...plain.stored].flatMap(({ rows }) => rows), ...plain.refused.map(({ row }) => row)],
    stuck: [...full.stuck, ...plain.stuck],
    left: failed.flatMap(({ rows }) => rows),
    error: failed[0]?.error ?? null,
  };
}

function count({ stored }: StoredApart<GenerationSettlement, number>): number {
  return stored.reduce((sum, { rows }) => sum + rows.length, 0);
}

/** The log has the ids and the amount, which is all that an operator needs to charge it manually. */
function giveUp({ row, error }: RefusedRow<GenerationSettlement>, logger: LoggerService): void {
  refused.inc();
  const { id, organizationId, workspaceId, costUsd, model } = row;
  const sqlState = sqlStateOf(error);
  const fields = { sqlState, generationId: id, organizationId, workspaceId, costUsd, model };
  logger.error('A charge was refused as invalid', fields);
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
