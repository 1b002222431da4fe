import { Injectable } from '@nestjs/common';
import { Database } from '../database';
import { ByokAllowance, NO_ALLOWANCE } from '../ledger/byok-allowance';
import type { KeyLimit, SpendingLimit } from '../ledger/key-limit';
import { ensureWorkspaceRow, trackWorkspaces } from '../ledger/workspace-budgets';
import type { WorkspaceTenant } from '../tenants/tenant';
import {
  ABANDON_SQL,
  ENSURE_BYOK_SQL,
  OPEN_BUDGETED_SQL,
  OPEN_SQL,
  SETTLE_BYOK_SQL,
  SETTLE_SQL,
} from './generation-statements';

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
  /** Of the workspace, each of which must cover the hold; absent where it has none. */
  readonly budgets?: readonly SpendingLimit[] | undefined;
}

/** The members of an opening that only opening needs. */
export type OpeningTerms = 'holdUsd' | 'keyLimit' | 'budgets';

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
export interface GenerationSettlement extends Omit<GenerationOpening, OpeningTerms> {
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

/** What the money of a call is refused by: its organization's credits, its key's limit or its workspace's budget. */
export type HoldRefusal = 'credits' | 'key_limit' | 'budget';

/** What became of an opening. */
export type OpeningVerdict =
  | {
      readonly id: string;
      readonly refusedBy: null;
      /** What the organization can still spend after this hold. */
      readonly availableUsd: string;
      /** What is left of the key's limit after it; null without a limit. */
      readonly keyLeftUsd: string | null;
      /** What is left of the workspace's budgets, of the one with the least left; null or absent without budgets. */
      readonly workspaceLeftUsd?: string | null;
    }
  | { readonly id: string; readonly refusedBy: HoldRefusal };

interface VerdictRow {
  readonly id: string;
  readonly refused_by: HoldRefusal | 'new_key' | 'new_workspace' | null;
  readonly available: string;
  readonly key_left: string | null;
  readonly workspace_left: string | null;
}

/** One for a new key, one for its workspace, and the one that decides. */
const MOST_ROUNDS = 3;

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
   * Opens each generation and holds its money, all or nothing per key, per workspace with budgets and per
   * organization: those of a key whose limit does not cover their sum are refused, those of a workspace of which a
   * budget does not, and those of an organization whose balance does not cover the sum of the others.
   *
   * The row of a key is made when the key is first seen, that of a workspace when it first has a budget; only a row
   * that is there can be locked, so such calls are asked for again.
   */
  async open(openings: readonly GenerationOpening[]): Promise<OpeningVerdict[]> {
    const verdicts: OpeningVerdict[] = [];
    let asked = openings;
    for (let round = 1; asked.length > 0; round += 1) {
      const rows = await this.openKnown(asked);
      const again = new Map(round < MOST_ROUNDS ? rows.filter(isNew).map((row) => [row.id, row.refused_by]) : []);
      verdicts.push(...rows.filter(({ id }) => !again.has(id)).map(toVerdict));
      asked = again.size === 0 ? [] : asked.filter(({ id }) => again.has(id));
      await this.track(asked.filter(({ id }) => again.get(id) === 'new_workspace'));
    }
    return verdicts;
  }

  private async track(openings: readonly GenerationOpening[]): Promise<void> {
    const workspaces = new Map(openings.map(({ workspaceId, organizationId }) => [workspaceId, organizationId]));
    for (const [workspaceId, organizationId] of workspaces) {
      await this.database.transaction(async (session) => {
        await trackWorkspaces(session, organizationId);
        await ensureWorkspaceRow(session, organizationId, workspaceId);
      });
    }
  }

  private openKnown(openings: readonly GenerationOpening[]): Promise<VerdictRow[]> {
    const values = [JSON.stringify(openings)];
    const isBudgeted = openings.some(({ budgets }) => budgets !== undefined);
    return this.database.rows<VerdictRow>(
      isBudgeted
        ? { name: 'generations-open-budgeted', sql: OPEN_BUDGETED_SQL, values }
        : { name: 'generations-open', sql: OPEN_SQL, values },
    );
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

function isNew({ refused_by: refusedBy }: VerdictRow): boolean {
  return refusedBy === 'new_key' || refusedBy === 'new_workspace';
}

function toVerdict(row: VerdictRow): OpeningVerdict {
  const { id, refused_by: refusedBy } = row;
  switch (refusedBy) {
    case null:
      return {
        id,
        refusedBy,
        availableUsd: row.available,
        keyLeftUsd: row.key_left,
        workspaceLeftUsd: row.workspace_left,
      };
    case 'new_key':
      return { id, refusedBy: 'key_limit' };
    case 'new_workspace':
      return { id, refusedBy: 'budget' };
    default:
      return { id, refusedBy };
  }
}
