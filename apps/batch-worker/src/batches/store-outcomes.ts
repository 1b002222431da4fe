import type { LoggerService } from '@nestjs/common';
import { AppError } from '@libs/errors';
import {
  sqlStateOf,
  storeApart,
  type BatchResultsRepository,
  type GroupTry,
  type LineOutcome,
  type RefusedRow,
} from '@libs/persistence';
import { counter } from '@libs/platform';
import { failedInPlaceOf } from './line-outcome';

export type OutcomeStore = Pick<BatchResultsRepository, 'store'>;

export interface StoredOutcomes extends GroupTry<LineOutcome> {
  /** Outcomes that must not be stored again. */
  readonly done: readonly LineOutcome[];
  /** Number of outcomes that became results; the others had a lost lease or were stored before. */
  readonly stored: number;
  /** Batches with at least one segment that is now done. */
  readonly batchesWithDoneSegments: ReadonlySet<bigint>;
  /** Batches whose next lines need a reservation. */
  readonly batchesAheadOfHold: ReadonlySet<bigint>;
}

const refusals = counter({
  name: 'sluice_batch_results_refused_total',
  help: 'Results of batch lines that the database refused as invalid; each is in the log, and its line has an error',
});

/**
 * Stores outcomes together. If PostgreSQL refuses one because of its data, the others are stored, and its line gets an
 * error of type `server` instead, which is not charged.
 */
export async function storeOutcomes(
  results: OutcomeStore,
  outcomes: readonly LineOutcome[],
  logger: Pick<LoggerService, 'error'>,
): Promise<StoredOutcomes> {
  const first = await storeApart(outcomes, (some) => results.store(some), LOCKS);
  const failures = first.refused.map(({ row }) => failedInPlaceOf(row, new AppError('server', 'Internal error')));
  const second = await storeApart(failures, (some) => results.store(some), LOCKS);
  for (const refusal of first.refused) report(refusal, 'was refused; its line gets an error, uncharged', logger);
  for (const refusal of second.refused) report(refusal, 'and the error in its place were refused', logger);
  const parts = [...first.stored, ...second.stored];
  const reports = parts.map(({ result }) => result);
  const failed = [first.failed, second.failed].filter((one) => one !== null);
  const stuck = [...first.stuck, ...second.stuck];
  return {
    done: [...parts.flatMap(({ rows }) => rows), ...second.refused.map(({ row }) => row)],
    stored: reports.reduce((sum, { stored }) => sum + stored, 0),
    batchesWithDoneSegments: new Set(reports.flatMap((one) => one.batchesWithDoneSegments)),
    batchesAheadOfHold: new Set(reports.flatMap((one) => one.batchesAheadOfHold)),
    stuck,
    left: failed.flatMap(({ rows }) => rows),
    error: [...failed, ...stuck][0]?.error ?? null,
  };
}

/** Groups by batch: outcomes of one batch are charged to one row. */
export const batchOf = ({ lease }: LineOutcome): bigint => lease.batchNumber;

/** Groups by payer: outcomes of many batches may be charged to one API key and one account. */
export const payerOf = ({ lease }: LineOutcome): unknown => lease.organizationId ?? lease.batchNumber;

/** Stores all outcomes or throws; the caller retries all of them later. Returns how many became results. */
export async function storeAllOutcomes(...work: Parameters<typeof storeOutcomes>): Promise<number> {
  const { stored, error } = await storeOutcomes(...work);
  if (error !== null) throw error;
  return stored;
}

const LOCKS = { keyOf: batchOf, payerOf };

/** Logs ids and the amount only: the provider's answer is the caller's data. */
function report({ row, error }: RefusedRow<LineOutcome>, what: string, logger: Pick<LoggerService, 'error'>): void {
  refusals.inc();
  const { generationId, seq, lease, costUsd } = row;
  const line = `result ${generationId} of line ${seq} of batch number ${lease.batchNumber}, ${costUsd} USD,`;
  logger.error(`${line} ${what}: SQLSTATE ${sqlStateOf(error) ?? 'unknown'}`);
}
