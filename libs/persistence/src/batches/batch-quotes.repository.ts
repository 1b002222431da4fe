import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import type { BatchLane, CostBasis, FinishBasis } from './batch-quote';
import { ACCOUNT, type AccountModel } from './segment-claims';

/** Batches of one kind have similar cost and duration relative to their estimates. */
export interface BatchKind {
  readonly provider: string;
  readonly upstreamModel: string;
  readonly endpoint: string;
}

/** Cost and duration of a finished batch, relative to the expected values. */
export interface QuotedBatch {
  readonly workspaceId: string;
  readonly lane: BatchLane;
  readonly ownKey: boolean;
  /** Bill divided by estimate; null if the estimate was 0. */
  readonly costRatio: number | null;
  /** Duration divided by expected duration; null if none was expected. */
  readonly finishRatio: number | null;
}

/** Whether the result was inside, below or above the quoted interval. */
export type QuoteVerdict = 'inside' | 'below' | 'above';

/** How a quote compares with the batch. */
export interface QuoteOutcome {
  /** Null if the batch did not run to its last line. */
  readonly cost: { readonly verdict: QuoteVerdict; readonly basis: CostBasis } | null;
  readonly finish: { readonly verdict: QuoteVerdict; readonly basis: FinishBasis };
}

interface OutcomeRow {
  status: string;
  cost_verdict: QuoteVerdict;
  cost_basis: CostBasis;
  finish_verdict: QuoteVerdict;
  finish_basis: FinishBasis;
}

/** Reads the data from which quotes are made, and how quotes compared with their batches. */
@Injectable()
export class BatchQuotesRepository {
  constructor(private readonly database: Database) {}

  /** Returns the newest `limit` completed batches of a kind that had a quote. */
  async finished({ provider, upstreamModel, endpoint }: BatchKind, limit: number): Promise<QuotedBatch[]> {
    const rows = await this.database.rows<{
      workspace_id: string;
      lane: BatchLane;
      own_key: boolean;
      cost_ratio: number | null;
      finish_ratio: number | null;
    }>({
      name: 'batch-quotes-finished',
      sql: `
        SELECT b.workspace_id, b.quote ->> 'lane' AS lane, (b.quote ->> 'own_key')::boolean AS own_key,
          (h.settled_usd / nullif((b.quote #>> '{cost,estimate}')::numeric, 0))::float8 AS cost_ratio,
          extract(epoch FROM b.finalized_at - b.created_at)::float8 * 1000
            / nullif((b.quote #>> '{finish,expected_ms}')::float8, 0) AS finish_ratio
        FROM (
          SELECT id, workspace_id, quote, created_at, finalized_at FROM batches
          WHERE provider = $1 AND upstream_model = $2 AND endpoint = $3 AND status = 'completed' AND quote IS NOT NULL
          ORDER BY finalized_at DESC LIMIT $4
        ) b JOIN ledger_holds h ON h.id = b.id`,
      values: [provider, upstreamModel, endpoint, limit],
    });
    return rows.map((row) => ({
      workspaceId: row.workspace_id,
      lane: row.lane,
      ownKey: row.own_key,
      costRatio: row.cost_ratio,
      finishRatio: row.finish_ratio,
    }));
  }

  /** Returns the lines of these models of accounts that our workers still have to run, by workspace. */
  async backlog(models: readonly AccountModel[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.database.rows<{ workspace_id: string; lines: number }>({
      name: 'batch-quotes-backlog',
      sql: `
        SELECT b.workspace_id, sum(b.total - p.ended)::float8 AS lines
        FROM batches b CROSS JOIN LATERAL (
          SELECT coalesce(sum(s.completed + s.failed), 0) AS ended FROM batch_segments s WHERE s.batch_number = b.number
        ) p
        WHERE b.finalized_at IS NULL AND b.status IN ('validating', 'in_progress') AND b.stop_by IS NULL
          AND b.quote ->> 'lane' IS DISTINCT FROM 'native'
          AND EXISTS (SELECT 1 FROM unnest($1::text[], $2::text[]) AS of_quota(account, upstream_model)
            WHERE of_quota.account = ${ACCOUNT} AND of_quota.upstream_model = b.upstream_model)
        GROUP BY b.workspace_id`,
      values: [models.map(({ account }) => account), models.map(({ upstreamModel }) => upstreamModel)],
    });
    return new Map(rows.map(({ workspace_id: workspaceId, lines }) => [workspaceId, lines]));
  }

  /**
   * Returns how the quote of a batch compares with its end. Null if it had none, or if its caller or an invalid line
   * ended it.
   */
  async outcome(id: string): Promise<QuoteOutcome | null> {
    const row = await this.database.firstRow<OutcomeRow>({
      name: 'batch-quotes-outcome',
      // Times are compared as they were shown, in whole seconds.
      sql: `
        SELECT b.status, b.quote #>> '{cost,basis}' AS cost_basis, b.quote #>> '{finish,basis}' AS finish_basis,
          CASE WHEN h.settled_usd < (b.quote #>> '{cost,low}')::numeric THEN 'below'
               WHEN h.settled_usd > (b.quote #>> '{cost,high}')::numeric THEN 'above' ELSE 'inside' END AS cost_verdict,
          CASE WHEN b.status = 'expired' OR f.ended > ceil(f.began + (b.quote #>> '{finish,high_ms}')::float8 / 1000)
               THEN 'above'
               WHEN f.ended < floor(f.began + (b.quote #>> '{finish,low_ms}')::float8 / 1000) THEN 'below'
               ELSE 'inside' END AS finish_verdict
        FROM batches b JOIN ledger_holds h ON h.id = b.id CROSS JOIN LATERAL (
          SELECT extract(epoch FROM b.created_at)::float8 AS began, extract(epoch FROM b.finalized_at)::float8 AS ended
        ) f
        WHERE b.id = $1 AND b.quote IS NOT NULL AND b.status IN ('completed', 'expired')`,
      values: [id],
    });
    if (row === null) return null;
    const finish = { verdict: row.finish_verdict, basis: row.finish_basis };
    if (row.status !== 'completed') return { cost: null, finish };
    return { cost: { verdict: row.cost_verdict, basis: row.cost_basis }, finish };
  }
}
