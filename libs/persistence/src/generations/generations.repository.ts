import { Injectable } from '@nestjs/common';
import type { AppError } from '@libs/errors';
import { Database } from '../database';
import { ByokAllowance, NO_ALLOWANCE } from '../ledger/byok-allowance';
import { keptLocks } from '../ledger/kept-locks';
import { refusalOf } from '../ledger/room-to-spend';
import { setAside, type HoldRefusal } from '../ledger/set-aside';
import { ensureWorkspaceRow, trackWorkspaces } from '../ledger/workspace-budgets';
import type { WorkspaceTenant } from '../tenants/tenant';
import type { GenerationDetails, GenerationOpening, GenerationSettlement } from './generation-records';
import {
  ABANDON_SQL,
  ENSURE_BYOK_SQL,
  OPEN_BUDGETED_SQL,
  OPEN_SQL,
  SETTLE_BYOK_SQL,
  SETTLE_SQL,
} from './generation-statements';
import { openingValues, payersOf, settlementValues, type Payer, type PayerGroups } from './generation-values';

/** The result for the openings of one payer, which are opened together or not at all. */
export type OpeningVerdict =
  | {
      readonly refusedBy: null;
      /** What the organization can still spend after these holds. */
      readonly availableUsd: string;
      /** What is left of the key's limit after them; null without a limit. */
      readonly keyLeftUsd: string | null;
      /** What is left of the workspace's budgets, of the one with the least left; null or absent without budgets. */
      readonly workspaceLeftUsd?: string | null;
    }
  | { readonly refusedBy: HoldRefusal }
  /** The opening had to be tried again, which failed, after others of its group were opened. */
  | { readonly refusedBy: 'failure'; readonly error: unknown };

interface VerdictRow {
  readonly refused_by: HoldRefusal | 'new_key' | 'new_workspace' | null;
  readonly available: string;
  readonly key_left: string | null;
  readonly workspace_left: string | null;
}

/** One round for a new key, one for its workspace, and the one that decides. */
const MOST_ROUNDS = 3;

/** A call as its workspace sees it. Amounts are exact decimal strings in US dollars. */
export interface GenerationView {
  readonly id: string;
  readonly workspaceId: string;
  readonly api: string;
  readonly model: string;
  readonly streamed: boolean;
  readonly state: 'open' | 'settled' | 'abandoned';
  /** Slug of the provider; null while the call is open and if no provider answered. */
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
  /** Null while the call is open, and if its end was never recorded. */
  readonly details: GenerationDetails | null;
  readonly createdAt: Date;
}

/** Names the row of a call. */
export type OpenCall = Pick<GenerationOpening, 'id' | 'createdOn'>;

export type AbandonedCall = OpenCall & Pick<GenerationOpening, 'organizationId'>;

/** Calls are opened and settled in groups: one statement and one commit for all that waited together. */
@Injectable()
export class GenerationsRepository {
  constructor(
    private readonly database: Database,
    private readonly allowance: ByokAllowance = NO_ALLOWANCE,
  ) {}

  /**
   * Opens each generation and holds its money, all or nothing per key, per workspace with budgets and per organization.
   * Refuses the openings of a key whose limit does not cover their sum, those of a workspace if one of its budgets does
   * not, and those of an organization whose balance does not cover the sum of the rest.
   *
   * The row of a key is created at its first call, that of a workspace at its first budget. Only an existing row can be
   * locked, so such calls are tried again.
   * @returns a verdict for each opening, in their order; calls of one payer have the same one
   */
  open(openings: readonly GenerationOpening[]): Promise<OpeningVerdict[]> {
    return this.openInRounds(openings, 1);
  }

  private async openInRounds(openings: readonly GenerationOpening[], round: number): Promise<OpeningVerdict[]> {
    const groups = payersOf(openings);
    const { payers, numbers } = groups;
    const rows = await this.openKnown(openings, groups);
    const verdicts = rows.map(toVerdict);
    const isAgain = rows.map((row) => round < MOST_ROUNDS && isNew(row));
    const again = openings.filter((_, index) => isAgain[numbers[index]!]);
    if (again.length === 0) return numbers.map((number) => verdicts[number]!);
    const newWorkspaces = payers.filter((_, number) => rows[number]!.refused_by === 'new_workspace');
    // What this round has opened stays so, whatever becomes of the next.
    const retried = await this.openAgain(again, newWorkspaces, round).catch((error: unknown) =>
      toFailures(again, error),
    );
    const later = retried.values();
    return numbers.map((number) => (isAgain[number] ? later.next().value! : verdicts[number]!));
  }

  private async openAgain(
    openings: readonly GenerationOpening[],
    newWorkspaces: readonly Payer[],
    round: number,
  ): Promise<OpeningVerdict[]> {
    await this.track(newWorkspaces);
    return this.openInRounds(openings, round + 1);
  }

  private async track(payers: readonly Payer[]): Promise<void> {
    const workspaces = new Map(payers.map(({ workspaceId, organizationId }) => [workspaceId, organizationId]));
    for (const [workspaceId, organizationId] of workspaces) {
      await this.database.transaction(async (session) => {
        await trackWorkspaces(session, organizationId);
        await ensureWorkspaceRow(session, organizationId, workspaceId);
      });
    }
  }

  /** A row for each payer, in their order. */
  private openKnown(openings: readonly GenerationOpening[], groups: PayerGroups): Promise<VerdictRow[]> {
    const values = openingValues(openings, groups);
    const isBudgeted = groups.payers.some(({ budgets }) => budgets !== undefined);
    return this.database.rows<VerdictRow>(
      isBudgeted
        ? { name: 'generations-open-budgeted', sql: OPEN_BUDGETED_SQL, values }
        : { name: 'generations-open', sql: OPEN_SQL, values },
    );
  }

  /**
   * Increases the hold of an open call by `amountUsd`; its settlement releases the whole hold.
   * @returns the reason for a refusal, `closed` if the call is not, or no longer, open, or null if the amount is held
   */
  async extend(call: Omit<GenerationOpening, 'holdUsd'>, amountUsd: string): Promise<HoldRefusal | 'closed' | null> {
    const tried = this.database.transaction(async (session) => {
      // Locked before the account, as settlements and the sweep of abandoned calls do.
      const raised = await session.execute({
        name: 'generations-extend',
        sql: `UPDATE generations SET hold_usd = hold_usd + $3::numeric
              WHERE id = $1 AND created_on = $2 AND state = 'open'`,
        values: [call.id, call.createdOn, amountUsd],
      });
      const refusedBy = raised === 0 ? 'closed' : await setAside(session, { ...call, amountUsd });
      if (refusedBy !== null) throw new NotExtended(refusedBy);
      return null;
    });
    return tried.catch((error: unknown) => {
      if (error instanceof NotExtended) return error.refusedBy;
      throw error;
    });
  }

  /** Returns the error for a caller whose payment was refused, with the amounts that are left now. */
  async refusal(call: Omit<GenerationOpening, 'holdUsd'>, by: HoldRefusal, amountUsd: string): Promise<AppError> {
    return refusalOf(this.database, call, { by, amountUsd });
  }

  /**
   * Settles each generation: its row, its charge and the account, in one commit. A row that was never opened (the
   * answer came first) is written as settled; one that is no longer open is not changed. Fees for own keys are charged
   * as far as they exceed the organization's allowance.
   */
  async settle(settlements: readonly GenerationSettlement[]): Promise<number> {
    const values = settlementValues(settlements);
    const { freeUsdPerMonth } = this.allowance;
    if (freeUsdPerMonth === null || settlements.every(({ byokFeeUsd }) => byokFeeUsd === undefined)) {
      return this.database.execute({ name: 'generations-settle', sql: SETTLE_SQL, values });
    }
    return this.database.transaction(async (session) => {
      await session.execute({ name: 'generations-ensure-byok', sql: ENSURE_BYOK_SQL, values });
      const sql = SETTLE_BYOK_SQL;
      return session.execute({ name: 'generations-settle-byok', sql, values: [...values, freeUsdPerMonth] });
    });
  }

  /** Returns those organizations whose account one session keeps locked, see {@link keptLocks}. */
  lockedAmong(organizationIds: readonly string[] | 'all'): Promise<ReadonlySet<string>> {
    return keptLocks(this.database, organizationIds);
  }

  /** Returns the call, if it belongs to the workspace. `createdOn` is the day in its id. */
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
   * Returns calls that were not settled within `olderThanMs`, the oldest first.
   * @param exceptIds ids of calls and organizations to leave out
   */
  async findAbandoned(olderThanMs: number, limit: number, exceptIds: readonly string[] = []): Promise<AbandonedCall[]> {
    return this.database.rows<AbandonedCall>({
      name: 'generations-find-abandoned',
      sql: `
        SELECT id, created_on::text AS "createdOn", organization_id AS "organizationId" FROM generations
        WHERE state = 'open' AND created_at < now() - $1 * interval '1 millisecond' AND id <> ALL($3::text[])
          AND organization_id::text <> ALL($3::text[])
        ORDER BY created_at LIMIT $2`,
      values: [olderThanMs, limit, exceptIds],
    });
  }

  /**
   * Marks calls that are still open as abandoned and releases their holds. A later settlement is still charged.
   * @returns how many were marked
   */
  async abandon(calls: readonly OpenCall[]): Promise<number> {
    return this.database.execute({
      name: 'generations-abandon',
      sql: ABANDON_SQL,
      values: [calls.map(({ id }) => id), calls.map(({ createdOn }) => createdOn)],
    });
  }
}

/** Ends the transaction of an extension without a trace. */
class NotExtended extends Error {
  constructor(readonly refusedBy: HoldRefusal | 'closed') {
    super(refusedBy);
  }
}

function toFailures(openings: readonly GenerationOpening[], error: unknown): OpeningVerdict[] {
  return openings.map(() => ({ refusedBy: 'failure', error }));
}

function isNew({ refused_by: refusedBy }: VerdictRow): boolean {
  return refusedBy === 'new_key' || refusedBy === 'new_workspace';
}

function toVerdict(row: VerdictRow): OpeningVerdict {
  const { refused_by: refusedBy } = row;
  switch (refusedBy) {
    case null:
      return {
        refusedBy,
        availableUsd: row.available,
        keyLeftUsd: row.key_left,
        workspaceLeftUsd: row.workspace_left,
      };
    case 'new_key':
      return { refusedBy: 'key_limit' };
    case 'new_workspace':
      return { refusedBy: 'budget' };
    default:
      return { refusedBy };
  }
}
