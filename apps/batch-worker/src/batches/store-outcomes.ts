import type { LoggerService } from '@nestjs/common';
import { AppError } from '@libs/errors';
import {
  sqlStateOf,
  storeApart,
  type BatchResultsRepository,
  type LineOutcome,
  type RefusedRow,
} from '@libs/persistence';
import { counter } from '@libs/platform';
import { failedInPlaceOf } from './line-outcome';

export type OutcomeStore = Pick<BatchResultsRepository, 'store'>;

export interface StoredOutcomes {
  /** Outcomes that are now results; the others came from a stale lease or were stored before. */
  readonly stored: number;
  /** Batches with at least one segment that is done now. */
  readonly batchesWithDoneSegments: ReadonlySet<bigint>;
  /** Batches whose next lines need a reservation. */
  readonly batchesAheadOfHold: ReadonlySet<bigint>;
  /** What took too long without the others. */
  readonly stuck: readonly RefusedRow<LineOutcome>[];
  /** What is to be stored again, and why; null when nothing is. */
  readonly left: { readonly outcomes: readonly LineOutcome[]; readonly error: unknown } | null;
}

const refusals = counter({
  name: 'sluice_batch_results_refused_total',
  help: 'Results of batch lines that the database refused as invalid; each is in the log, and its line has an error',
});

/**
 * Stores outcomes together. Where PostgreSQL refuses one for its data, the others are stored, and the line gets an
 * error of type `server` in its place, which is not charged.
 */
export async function storeOutcomes(
  results: OutcomeStore,
  outcomes: readonly LineOutcome[],
  logger: Pick<LoggerService, 'error'>,
): Promise<StoredOutcomes> {
  const first = await storeApart(outcomes, (some) => results.store(some), batchOf, payerOf);
  const failures = first.refused.map(({ row }) => failedInPlaceOf(row, new AppError('server', 'Internal error')));
  const second = await storeApart(failures, (some) => results.store(some), batchOf, payerOf);
  for (const refusal of first.refused) report(refusal, 'was refused; its line gets an error, uncharged', logger);
  for (const refusal of second.refused) report(refusal, 'and the error in its place were refused', logger);
  const reports = [...first.stored, ...second.stored].map(({ result }) => result);
  const failed = [first.failed, second.failed].filter((one) => one !== null);
  return {
    stored: reports.reduce((sum, { stored }) => sum + stored, 0),
    batchesWithDoneSegments: new Set(reports.flatMap((one) => one.batchesWithDoneSegments)),
    batchesAheadOfHold: new Set(reports.flatMap((one) => one.batchesAheadOfHold)),
    stuck: [...first.stuck, ...second.stuck],
    left: failed.length === 0 ? null : { outcomes: failed.flatMap(({ rows }) => rows), error: failed[0]!.error },
  };
}

/** Outcomes of one batch are charged to one row. */
export const batchOf = ({ lease }: LineOutcome): bigint => lease.batchNumber;

/** Outcomes of many batches may be charged to one API key and one account. */
export const payerOf = ({ lease }: LineOutcome): unknown => lease.organizationId ?? lease.batchNumber;

/** Stores all outcomes or throws; the caller tries all of them again later. Returns how many are results now. */
export async function storeAllOutcomes(...work: Parameters<typeof storeOutcomes>): Promise<number> {
  const { stored, stuck, left } = await storeOutcomes(...work);
  if (left !== null) throw left.error;
  if (stuck.length > 0) throw stuck[0]!.error;
  return stored;
}

/** Logs ids and the amount only: the provider's answer is the caller's data. */
function report({ row, error }: RefusedRow<LineOutcome>, what: string, logger: Pick<LoggerService, 'error'>): void {
  refusals.inc();
  const { generationId, seq, lease, costUsd } = row;
  const line = `result ${generationId} of line ${seq} of batch number ${lease.batchNumber}, ${costUsd} USD,`;
  logger.error(`${line} ${what}: SQLSTATE ${sqlStateOf(error) ?? 'unknown'}`);
}
