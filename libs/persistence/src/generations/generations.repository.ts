import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import { ByokAllowance, NO_ALLOWANCE } from '../ledger/byok-allowance';
import type { KeyLimit } from '../ledger/key-limit';
import type { WorkspaceTenant } from '../tenants/tenant';
import { ABANDON_SQL, ENSURE_BYOK_SQL, OPEN_SQL, SETTLE_BYOK_SQL, SETTLE_SQL } from './generation-statements';

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
  /** Null: the key may spend what its organization has. */
  readonly keyLimit: KeyLimit | null;
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
export interface GenerationSettlement extends Omit<GenerationOpening, 'holdUsd' | 'keyLimit'> {
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
  /** What of `costUsd` is the fee for a call on an own key, of which an allowance may spare all or a part. */
  readonly byokFeeUsd?: string | undefined;
  readonly latencyMs: number | null;
  readonly generationMs: number | null;
  readonly details: GenerationDetails;
}

/** What the money of a call is refused by: the credits of its organization, or the limit of its key. */
export type HoldRefusal = 'credits' | 'key_limit';

/** What became of an opening. */
export type OpeningVerdict =
  | {
      readonly id: string;
      readonly refusedBy: null;
      /** What the organization can still spend after this hold. */
      readonly availableUsd: string;
      /** What is left of the key's limit after it; null without a limit. */
      readonly keyLeftUsd: string | null;
    }
  | { readonly id: string; readonly refusedBy: HoldRefusal };

interface VerdictRow {
  readonly id: string;
  readonly refused_by: HoldRefusal | 'new_key' | null;
  readonly available: string;
  readonly key_left: string | null;
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

/** Calls are opened and settled in groups: one statement and one commit for all that waited together. */
@Injectable()
export class GenerationsRepository {
  constructor(
    private readonly database: Database,
    private readonly allowance: ByokAllowance = NO_ALLOWANCE,
  ) {}

  /**
   * Opens each generation and holds its money, all or nothing per key and per organization: those of a key whose
   * limit does not cover their sum are refused, and those of an organization whose balance does not cover the sum
   * of the others.
   */
  async open(openings: readonly GenerationOpening[]): Promise<OpeningVerdict[]> {
    const rows = await this.openKnown(openings);
    const news = new Set(rows.filter((row) => row.refused_by === 'new_key').map(({ id }) => id));
    // The row of a key is made when the key is first seen; only a row that is there can be locked.
    const again = news.size === 0 ? [] : await this.openKnown(openings.filter(({ id }) => news.has(id)));
    return [...rows.filter(({ id }) => !news.has(id)), ...again].map(toVerdict);
  }

  private openKnown(openings: readonly GenerationOpening[]): Promise<VerdictRow[]> {
    return this.database.rows<VerdictRow>({
      name: 'generations-open',
      sql: OPEN_SQL,
      values: [JSON.stringify(openings)],
    });
  }

  /**
   * Settles each generation: its row, its charge and the account, in one commit. A row that was never
   * opened (the answer came first) is written as settled; one that is no longer open is left as it is. Fees for
   * own keys are charged as far as they are beyond the organization's allowance.
   */
  async settle(settlements: readonly GenerationSettlement[]): Promise<number> {
    const rows = JSON.stringify(settlements);
    const { freeUsdPerMonth } = this.allowance;
    if (freeUsdPerMonth === null || settlements.every(({ byokFeeUsd }) => byokFeeUsd === undefined)) {
      return this.database.execute({ name: 'generations-settle', sql: SETTLE_SQL, values: [rows] });
    }
    return this.database.transaction(async (session) => {
      await session.execute({ name: 'generations-ensure-byok', sql: ENSURE_BYOK_SQL, values: [rows] });
      const values = [rows, freeUsdPerMonth];
      return session.execute({ name: 'generations-settle-byok', sql: SETTLE_BYOK_SQL, values });
    });
  }

  /** The call, if it belongs to the workspace. `createdOn` is the day that its id names. */
  async find(id: string, createdOn: string, tenant: WorkspaceTenant): Promise<GenerationView | null> {
    return this.database.asTenant(tenant).firstRow<GenerationView>({
      name: 'generations-find',
      sql: `
        SELECT id, workspace_id AS "workspaceId", api, model, streamed, state, provider,
          upstream_model AS "upstreamModel", upstream_id AS "upstreamId", status_code AS "statusCode", outcome,
          finish_reason AS "finishReason", prompt_tokens::float8 AS "promptTokens",
          completion_tokens::float8 AS "completionTokens", cached_tokens::float8 AS "cachedTokens",
          reasoning_tokens::float8 AS "reasoningTokens", cost_usd::text AS "costUsd", latency_ms AS "latencyMs",
          generation_ms AS "generationMs", details, created_at AS "createdAt"
        FROM generations WHERE id = $1 AND created_on = $2 AND workspace_id = $3`,
      values: [id, createdOn, tenant.workspaceId],
    });
  }

  /**
   * Marks calls that nobody settled within `olderThanMs` (their process died) and gives their holds back. A
   * settlement that comes later all the same is still charged.
   */
  async abandonOlderThan(olderThanMs: number): Promise<number> {
    return this.database.execute({
      sql: ABANDON_SQL,
      values: [olderThanMs],
    });
  }
}

function toVerdict({ id, refused_by: refusedBy, available, key_left: keyLeftUsd }: VerdictRow): OpeningVerdict {
  if (refusedBy === null) return { id, refusedBy, availableUsd: available, keyLeftUsd };
  return { id, refusedBy: refusedBy === 'new_key' ? 'key_limit' : refusedBy };
}
