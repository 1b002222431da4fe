import { Injectable } from '@nestjs/common';
import { Database } from '../database';

/** A synchronous call that is about to go upstream. Money as exact decimal strings in US dollars. */
export interface GenerationOpening {
  readonly id: string;
  /** UTC day named by the id, `YYYY-MM-DD`. */
  readonly createdOn: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly apiKeyHash: string;
  readonly api: string;
  readonly model: string;
  readonly streamed: boolean;
  readonly holdUsd: string;
}

/** One call to a provider. */
export interface GenerationAttempt {
  /** Slugs. */
  readonly model: string;
  readonly provider: string;
  /** 200, or the status of the error. */
  readonly status: number;
  readonly latencyMs: number;
  readonly isByok?: true | undefined;
}

/**
 * What else is known of a call once it is over. A member that is not known, is nothing or is false is absent, so
 * that a plain call is a short line. Texts hold no NUL, which PostgreSQL could not store.
 */
export interface GenerationDetails {
  readonly requestId?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly origin?: string | undefined;
  readonly httpReferer?: string | undefined;
  readonly appTitle?: string | undefined;
  readonly sessionId?: string | undefined;
  /** SHA-256 of what the caller calls its end user, in hexadecimal. */
  readonly externalUser?: string | undefined;
  /** Parts of the prompt that are no text, and how many of them are sound. */
  readonly mediaParts?: number | undefined;
  readonly audioParts?: number | undefined;
  /** All calls to providers, in their order. */
  readonly attempts: readonly GenerationAttempt[];
  readonly nativeFinishReason?: string | undefined;
  readonly serviceTier?: string | undefined;
  readonly isByok?: true | undefined;
  /** What the caller's own provider charges for it. Amounts are decimal strings in US dollars. */
  readonly upstreamCostUsd?: string | undefined;
  readonly cacheDiscountUsd?: string | undefined;
  /** Pages that a tool of ours read for the model; absent where it had no tools of ours. */
  readonly fetches?: number | undefined;
}

/** What became of it. */
export interface GenerationSettlement extends Omit<GenerationOpening, 'holdUsd'> {
  readonly provider: string | null;
  readonly upstreamModel: string | null;
  readonly upstreamId: string | null;
  readonly statusCode: number;
  readonly outcome: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  readonly finishReason: string | null;
  readonly usageProvenance: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly costUsd: string;
  readonly latencyMs: number | null;
  readonly generationMs: number | null;
  readonly details: GenerationDetails;
}

export interface OpenedGeneration {
  readonly id: string;
  /** What the organization can still spend after this hold. */
  readonly availableUsd: string;
}

/** A call as its workspace sees it. Money as exact decimal strings in US dollars. */
export interface GenerationView {
  readonly id: string;
  readonly workspaceId: string;
  readonly api: string;
  readonly model: string;
  readonly streamed: boolean;
  readonly state: 'open' | 'settled' | 'abandoned';
  /** Slug; null while the call is open and where no provider answered. */
  readonly provider: string | null;
  readonly upstreamModel: string | null;
  readonly upstreamId: string | null;
  readonly statusCode: number | null;
  readonly outcome: GenerationSettlement['outcome'] | null;
  readonly finishReason: string | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  readonly costUsd: string;
  readonly latencyMs: number | null;
  readonly generationMs: number | null;
  /** Null while the call is open, and where nobody saw its end. */
  readonly details: GenerationDetails | null;
  readonly createdAt: Date;
}

/** The members of a GenerationOpening that are rows of `generations` and nothing else, for `json_to_recordset`. */
const OPENING_MEMBERS =
  'id text, "createdOn" date, "organizationId" uuid, "workspaceId" uuid, "apiKeyHash" text, api text, model text, ' +
  'streamed boolean';

/** Calls are opened and settled in groups: one statement and one commit for all that waited together. */
@Injectable()
export class GenerationsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Opens each generation and holds its money, all or nothing per organization.
   *
   * @returns the opened ones; those of an organization whose balance does not cover their sum are missing
   */
  async open(openings: readonly GenerationOpening[]): Promise<OpenedGeneration[]> {
    const rows = await this.database.rows<{ id: string; available: string }>({
      name: 'generations-open',
      sql: `
        WITH asked AS (
          SELECT id, "createdOn" AS created_on, "organizationId" AS organization_id, "workspaceId" AS workspace_id,
                 "apiKeyHash" AS api_key_hash, api, model, streamed, "holdUsd" AS hold_usd
          FROM json_to_recordset($1) AS t(${OPENING_MEMBERS}, "holdUsd" numeric)
        ), total AS (
          SELECT 'org:' || organization_id AS id, sum(hold_usd) AS hold FROM asked GROUP BY organization_id
        ), locked AS (
          SELECT a.id FROM ledger_accounts a WHERE a.id IN (SELECT id FROM total) ORDER BY a.id FOR UPDATE
        ), funded AS (
          UPDATE ledger_accounts a SET held_usd = a.held_usd + total.hold
          FROM total JOIN locked USING (id)
          WHERE a.id = total.id AND a.balance_usd - a.held_usd >= total.hold
          RETURNING a.id, a.balance_usd - a.held_usd AS available
        ), opened AS (
          INSERT INTO generations (id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed,
                                   hold_usd, state)
          SELECT asked.*, 'open' FROM asked JOIN funded ON funded.id = 'org:' || asked.organization_id
          RETURNING id, organization_id
        )
        SELECT opened.id, funded.available::text AS available
        FROM opened JOIN funded ON funded.id = 'org:' || opened.organization_id`,
      values: [JSON.stringify(openings)],
    });
    return rows.map((row) => ({ id: row.id, availableUsd: row.available }));
  }

  /**
   * Settles each generation: its row, its charge and the account, in one commit. A row that was never
   * opened (the answer came first) is written as settled; one that is no longer open is left as it is.
   */
  async settle(settlements: readonly GenerationSettlement[]): Promise<number> {
    return this.database.execute({
      name: 'generations-settle',
      sql: SETTLE_SQL,
      values: [JSON.stringify(settlements)],
    });
  }

  /** The call, if it belongs to the workspace. `createdOn` is the day that its id names. */
  async find(id: string, createdOn: string, workspaceId: string): Promise<GenerationView | null> {
    return this.database.firstRow<GenerationView>({
      name: 'generations-find',
      sql: `
        SELECT id, workspace_id AS "workspaceId", api, model, streamed, state, provider,
          upstream_model AS "upstreamModel", upstream_id AS "upstreamId", status_code AS "statusCode", outcome,
          finish_reason AS "finishReason", prompt_tokens::float8 AS "promptTokens",
          completion_tokens::float8 AS "completionTokens", cached_tokens::float8 AS "cachedTokens",
          reasoning_tokens::float8 AS "reasoningTokens", cost_usd::text AS "costUsd", latency_ms AS "latencyMs",
          generation_ms AS "generationMs", details, created_at AS "createdAt"
        FROM generations WHERE id = $1 AND created_on = $2 AND workspace_id = $3`,
      values: [id, createdOn, workspaceId],
    });
  }

  /**
   * Marks calls that nobody settled within `olderThanMs` (their process died) and gives their holds back. A
   * settlement that comes later all the same is still charged.
   */
  async abandonOlderThan(olderThanMs: number): Promise<number> {
    return this.database.execute({
      sql: `
        WITH stale AS (
          SELECT id, created_on, organization_id, hold_usd FROM generations
          WHERE state = 'open' AND created_at < now() - $1 * interval '1 millisecond'
          ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED
        ), abandoned AS (
          UPDATE generations g SET state = 'abandoned', settled_at = now(), hold_usd = 0
          FROM stale WHERE g.id = stale.id AND g.created_on = stale.created_on
          RETURNING stale.organization_id, stale.hold_usd
        ), total AS (
          SELECT 'org:' || organization_id AS id, sum(hold_usd) AS hold FROM abandoned GROUP BY organization_id
        )
        UPDATE ledger_accounts a SET held_usd = a.held_usd - total.hold FROM total WHERE a.id = total.id`,
      values: [olderThanMs],
    });
  }
}

const SETTLE_SQL = `
  WITH settled AS (
    INSERT INTO generations AS g (id, created_on, organization_id, workspace_id, api_key_hash, api, model, streamed,
      hold_usd, provider, upstream_model, upstream_id, status_code, outcome, finish_reason, usage_provenance,
      prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_usd, latency_ms, generation_ms,
      details, state, settled_at)
    SELECT id, "createdOn", "organizationId", "workspaceId", "apiKeyHash", api, model, streamed, 0, provider,
      "upstreamModel", "upstreamId", "statusCode", outcome, "finishReason", "usageProvenance", "promptTokens",
      "completionTokens", "cachedTokens", "reasoningTokens", "costUsd", "latencyMs", "generationMs", details,
      'settled', now()
    FROM json_to_recordset($1) AS t(${OPENING_MEMBERS}, provider text, "upstreamModel" text, "upstreamId" text,
      "statusCode" smallint, outcome text, "finishReason" text, "usageProvenance" text, "promptTokens" bigint,
      "completionTokens" bigint, "cachedTokens" bigint, "reasoningTokens" bigint, "costUsd" numeric,
      "latencyMs" integer, "generationMs" integer, details json)
    ON CONFLICT (id, created_on) DO UPDATE SET
      state = 'settled', settled_at = now(), provider = excluded.provider, upstream_model = excluded.upstream_model,
      upstream_id = excluded.upstream_id, status_code = excluded.status_code, outcome = excluded.outcome,
      finish_reason = excluded.finish_reason, usage_provenance = excluded.usage_provenance,
      prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens,
      cached_tokens = excluded.cached_tokens, reasoning_tokens = excluded.reasoning_tokens,
      cost_usd = excluded.cost_usd, latency_ms = excluded.latency_ms, generation_ms = excluded.generation_ms,
      details = excluded.details
      WHERE g.state <> 'settled'
    RETURNING g.id, g.organization_id, g.workspace_id, g.api_key_hash, g.hold_usd, g.cost_usd
  ), charged AS (
    INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd, workspace_id, api_key_hash)
    SELECT id, 'charge', 'org:' || organization_id, 'revenue', cost_usd, workspace_id, api_key_hash
    FROM settled WHERE cost_usd > 0
  ), spent AS (
    INSERT INTO ledger_key_days AS k (api_key_hash, day, charged_usd)
    SELECT api_key_hash, (now() AT TIME ZONE 'UTC')::date, sum(cost_usd)
    FROM settled GROUP BY api_key_hash ORDER BY api_key_hash
    ON CONFLICT (api_key_hash, day) DO UPDATE SET charged_usd = k.charged_usd + excluded.charged_usd
  ), total AS (
    SELECT 'org:' || organization_id AS id, sum(hold_usd) AS hold, sum(cost_usd) AS cost,
           sum(greatest(0, cost_usd - hold_usd)) AS overage
    FROM settled GROUP BY organization_id
  )
  INSERT INTO ledger_accounts AS a (id, balance_usd, overage_usd) SELECT id, -cost, overage FROM total ORDER BY id
  ON CONFLICT (id) DO UPDATE SET
    balance_usd = a.balance_usd + excluded.balance_usd,
    overage_usd = a.overage_usd + excluded.overage_usd,
    held_usd = a.held_usd - (SELECT hold FROM total WHERE total.id = a.id)`;
