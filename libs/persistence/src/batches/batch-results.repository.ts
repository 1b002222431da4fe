import { Injectable } from '@nestjs/common';
import { plainArray, textArray } from '../array-literal';
import { Database, type SqlValue } from '../database';
import { ByokAllowance, NO_ALLOWANCE, waiveFees } from '../ledger/byok-allowance';
import { CHARGES } from './batch-charges';
import type { LineUsageDetails } from './line-usage';
import { isByok, listUsd } from './result-price-sql';
import { ONE_AT_A_TIME_FROM, type SegmentLease } from './segment-claims';

/** The error of a failed line, in the form of the API. */
export interface LineError {
  readonly type: string;
  readonly message: string;
  readonly param: string | null;
  readonly error_type?: string;
}

/** The outcome of one line: a body or an error, never both. Amounts are exact decimal strings in US dollars. */
export interface LineOutcome {
  readonly lease: SegmentLease;
  readonly seq: number;
  readonly customId: string;
  readonly generationId: string;
  readonly statusCode: number | null;
  readonly requestId: string | null;
  readonly body: Buffer | null;
  readonly error: LineError | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
  readonly promptCostUsd: string;
  readonly completionCostUsd: string;
  readonly costUsd: string;
  /**
   * The fee for a call with an own key, which an allowance may waive completely or in part; absent for shared capacity.
   */
  readonly byokFeeUsd?: string;
  /** The provider's tier that served; absent if it was not reported. */
  readonly serviceTier?: string;
  /** Absent if the provider reported only token counts. */
  readonly usageDetails?: LineUsageDetails;
}

export interface StoreReport {
  /** Number of outcomes that became results; the others had a lost lease or were stored before. */
  readonly stored: number;
  /** Batches with at least one segment that is now done. */
  readonly batchesWithDoneSegments: readonly bigint[];
  /** Batches that cost more than their hold: their next lines need a reservation (BatchFundsRepository). */
  readonly batchesAheadOfHold: readonly bigint[];
}

interface StoredRow {
  readonly stored: number;
  readonly done: string[] | null;
  readonly ahead: string[] | null;
}

@Injectable()
export class BatchResultsRepository {
  constructor(
    private readonly database: Database,
    private readonly allowance: ByokAllowance = NO_ALLOWANCE,
  ) {}

  /**
   * Stores a group of outcomes: result, usage, charge and progress in one commit.
   *
   * Safe to repeat: a line of a segment with a newer fence joins no `owned` row; a line that already has a result
   * conflicts with its primary key and is left out of `stored`. Only rows in `stored` are charged and counted. Segments
   * are locked in key order, so two groups cannot wait for each other.
   *
   * Charges beyond a hold raise it, so that this commit lowers available credit, key limit and budget. Rows are locked
   * in the same order as by all code that moves money: hold, account, key, workspace.
   */
  async store(outcomes: readonly LineOutcome[]): Promise<StoreReport> {
    const [row] = await this.write(outcomes);
    return {
      stored: row?.stored ?? 0,
      batchesWithDoneSegments: (row?.done ?? []).map((number) => BigInt(number)),
      batchesAheadOfHold: (row?.ahead ?? []).map((number) => BigInt(number)),
    };
  }

  /** Fees for own keys are charged as far as they exceed the organization's allowance. */
  private async write(outcomes: readonly LineOutcome[]): Promise<StoredRow[]> {
    const values = valuesOf(outcomes);
    const { freeUsdPerMonth } = this.allowance;
    if (freeUsdPerMonth === null || outcomes.every(({ byokFeeUsd }) => byokFeeUsd === undefined)) {
      return this.database.rows<StoredRow>({ name: 'results-store', sql: STORE_SQL, values });
    }
    return this.database.transaction(async (session) => {
      // Whether a line has a result is read under the lock.
      await session.execute({ name: 'results-lock-segments', sql: LOCK_SEGMENTS_SQL, values: values.slice(0, 3) });
      const fees = plainArray(outcomes.map((o) => o.byokFeeUsd ?? null));
      const sql = STORE_BYOK_SQL;
      return session.rows<StoredRow>({ name: 'results-store-byok', sql, values: [...values, fees, freeUsdPerMonth] });
    });
  }
}

const EMPTY = Buffer.alloc(0);

function valuesOf(outcomes: readonly LineOutcome[]): SqlValue[] {
  const bodies = outcomes.map((outcome) => outcome.body ?? EMPTY);
  // Hundreds of lines share a few leases.
  const leases = [...new Set(outcomes.map(({ lease }) => lease))];
  return [
    plainArray(leases.map((lease) => lease.batchNumber)),
    plainArray(leases.map((lease) => lease.number)),
    plainArray(leases.map((lease) => lease.fence)),
    plainArray(outcomes.map((o) => o.lease.batchNumber)),
    plainArray(outcomes.map((o) => o.lease.number)),
    plainArray(outcomes.map((o) => o.seq)),
    textArray(outcomes.map((o) => o.customId)),
    plainArray(outcomes.map((o) => o.generationId)),
    plainArray(outcomes.map((o) => o.statusCode)),
    plainArray(outcomes.map((o) => o.requestId)),
    Buffer.concat(bodies),
    plainArray(offsetsOf(bodies)),
    plainArray(outcomes.map((o) => o.body?.length ?? null)),
    textArray(outcomes.map((o) => (o.error === null ? null : JSON.stringify(o.error)))),
    plainArray(outcomes.map((o) => o.promptTokens)),
    plainArray(outcomes.map((o) => o.completionTokens)),
    plainArray(outcomes.map((o) => o.cachedTokens)),
    plainArray(outcomes.map((o) => o.cacheWriteTokens)),
    plainArray(outcomes.map((o) => o.reasoningTokens)),
    plainArray(outcomes.map((o) => o.promptCostUsd)),
    plainArray(outcomes.map((o) => o.completionCostUsd)),
    plainArray(outcomes.map((o) => o.costUsd)),
    textArray(outcomes.map((o) => o.serviceTier ?? null)),
    textArray(outcomes.map((o) => (o.usageDetails === undefined ? null : JSON.stringify(o.usageDetails)))),
    plainArray(outcomes.map((o) => o.byokFeeUsd !== undefined)),
  ];
}

/** SQL counts bytes from one. */
function offsetsOf(bodies: readonly Buffer[]): number[] {
  let next = 1;
  return bodies.map((body) => {
    const offset = next;
    next += body.length;
    return offset;
  });
}

const HELD_SEGMENTS = `batch_segments s
    JOIN unnest($1::bigint[], $2::integer[], $3::bigint[]) AS held(batch_number, segment, fence)
      ON held.batch_number = s.batch_number AND held.segment = s.number AND held.fence = s.fence
    WHERE s.state IN ('open', 'parked')
    ORDER BY s.batch_number, s.number FOR UPDATE OF s`;

const LOCK_SEGMENTS_SQL = `SELECT s.number FROM ${HELD_SEGMENTS}`;

/**
 * A worker that stores a result did not die because of it. A segment that runs one line at a time continues to do so in
 * its next lease. So a line that kills workers is found after a few deaths, however many lines are stored between them.
 */
const ATTEMPTS_AFTER_PROGRESS = `attempts = CASE WHEN s.attempts < ${ONE_AT_A_TIME_FROM} THEN 0 ELSE ${ONE_AT_A_TIME_FROM - 1} END`;

// All bodies are sent as one binary parameter, which SQL splits: an array of bytea would be sent as hex text.
/** `fees` are expressions for the waived amount, `cost` is what a line is charged. */
const storeSql = (fees: string, cost: string): string => `
  WITH line AS (
    SELECT * FROM unnest($4::bigint[], $5::integer[], $6::integer[], $7::text[], $8::text[], $9::smallint[],
        $10::text[], $12::integer[], $13::integer[], $14::text[], $15::bigint[], $16::bigint[], $17::bigint[],
        $18::bigint[], $19::bigint[], $20::numeric[], $21::numeric[], $22::numeric[], $23::text[], $24::text[],
        $25::boolean[])
      AS t(batch_number, segment, seq, custom_id, generation_id, status_code, request_id, body_start, body_length,
        error, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, prompt_cost_usd,
        completion_cost_usd, cost_usd, service_tier, usage_details, is_byok)
  ), owned AS (
    SELECT s.batch_number, s.number, s.created_on, s.state = 'parked' AS is_native FROM ${HELD_SEGMENTS}
  ), ${fees} stored AS (
    INSERT INTO batch_results (created_on, batch_number, seq, custom_id, generation_id, status_code, request_id, body,
      error, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, prompt_cost_usd,
      completion_cost_usd, cost_usd, service_tier, usage_details, is_native, is_byok)
    SELECT owned.created_on, line.batch_number, line.seq, line.custom_id, line.generation_id, line.status_code,
      line.request_id, substring($11::bytea FROM line.body_start FOR line.body_length), line.error::json,
      line.prompt_tokens, line.completion_tokens, line.cached_tokens, line.cache_write_tokens, line.reasoning_tokens,
      line.prompt_cost_usd, line.completion_cost_usd, ${cost},
      line.service_tier, line.usage_details::jsonb, owned.is_native, line.is_byok
    FROM line JOIN owned ON owned.batch_number = line.batch_number AND owned.number = line.segment
    ON CONFLICT DO NOTHING
    RETURNING batch_number, seq, generation_id, cost_usd, error IS NOT NULL AS failed,
      CASE WHEN ${isByok('batch_results')} THEN ${listUsd('batch_results')} ELSE 0 END AS byok_usd
  ), ${CHARGES}, progress AS (
    SELECT line.batch_number, line.segment,
      count(*) FILTER (WHERE NOT stored.failed) AS completed, count(*) FILTER (WHERE stored.failed) AS failed
    FROM stored JOIN (SELECT DISTINCT batch_number, seq, segment FROM line) line
      ON line.batch_number = stored.batch_number AND line.seq = stored.seq
    GROUP BY line.batch_number, line.segment
  ), counted AS (
    UPDATE batch_segments s
    SET completed = s.completed + progress.completed, failed = s.failed + progress.failed, ${ATTEMPTS_AFTER_PROGRESS},
        state = CASE WHEN s.completed + s.failed + progress.completed + progress.failed = s.last_seq - s.first_seq + 1
                THEN 'done' ELSE s.state END
    FROM progress WHERE s.batch_number = progress.batch_number AND s.number = progress.segment
    RETURNING s.batch_number, s.state
  )
  SELECT (SELECT count(*)::integer FROM stored) AS stored,
         (SELECT array_agg(DISTINCT batch_number) FROM counted WHERE state = 'done') AS done,
         (SELECT array_agg(batch_number) FROM settled WHERE is_ahead) AS ahead,
         (SELECT count(*) FROM raised_account), (SELECT count(*) FROM raised_key),
         (SELECT count(*) FROM raised_workspace)`;

const STORE_SQL = storeSql('', 'line.cost_usd');

const STORE_BYOK_SQL = storeSql(
  `due AS (
    SELECT DISTINCT ON (line.generation_id) line.generation_id AS id, b.organization_id, fee.usd AS fee_usd,
      ${listUsd('line')} AS list_usd
    FROM line
    JOIN unnest($8::text[], $26::numeric[]) AS fee(id, usd) ON fee.id = line.generation_id AND fee.usd IS NOT NULL
    JOIN owned ON owned.batch_number = line.batch_number AND owned.number = line.segment
    JOIN batches b ON b.number = line.batch_number
    WHERE ${listUsd('line')} > 0 AND NOT EXISTS (
      SELECT FROM batch_results r
      WHERE r.created_on = owned.created_on AND r.batch_number = line.batch_number AND r.seq = line.seq)
  ), ${waiveFees('due', '$27::numeric')},`,
  'line.cost_usd - coalesce((SELECT waived_usd FROM waived WHERE waived.id = line.generation_id), 0)',
);
