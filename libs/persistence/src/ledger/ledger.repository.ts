import { Injectable } from '@nestjs/common';
import { Database, type Session } from '../database';
import type { LedgerFinding } from '../ledger-audit/ledger-finding';
import { LedgerAuditRepository } from '../ledger-audit/ledger-audit.repository';
import type { Tenant } from '../tenants/tenant';
import { chargeKeys, chargeWorkspaces, leftOfLimit, type KeyLimit } from './key-limit';
import { countsByok } from './key-limit-of';
import { refusalOf } from './room-to-spend';
import { setAside, type AmountToHold } from './set-aside';

/** Amounts are exact decimal strings in US dollars. */
export interface AccountState {
  readonly balanceUsd: string;
  readonly heldUsd: string;
  readonly availableUsd: string;
}

export interface HoldRequest extends AmountToHold {
  /** Id of the call, batch or video for which the money is held. */
  readonly id: string;
  /** Counted from PostgreSQL's `now()`. */
  readonly lifetimeMs: number;
  /** The list price, if it is known before the job is done. */
  readonly listUsd?: string;
}

/** Charges to a key, and charges of its owner's own providers, by periods of the UTC calendar. */
export interface KeySpending {
  readonly totalUsd: string;
  readonly dailyUsd: string;
  readonly weeklyUsd: string;
  readonly monthlyUsd: string;
  readonly byokTotalUsd: string;
  readonly byokDailyUsd: string;
  readonly byokWeeklyUsd: string;
  readonly byokMonthlyUsd: string;
}

const ASKED_LIMIT = { amount: 'asked.amount', reset: 'asked.reset', includesByok: 'asked.includes_byok' };

const PERIODS = [
  ['daily', 'today'],
  ['weekly', `date_trunc('week', today)::date`],
  ['monthly', `date_trunc('month', today)::date`],
] as const;

function inPeriod(name: (typeof PERIODS)[number][0], firstDay: string): string {
  const sum = (column: string): string => `coalesce(sum(${column}) FILTER (WHERE day >= ${firstDay}), 0)::text`;
  return `${sum('charged_usd')} AS "${name}Usd", ${sum('byok_usd')} AS "byok${name.replace(/^./, (letter) => letter.toUpperCase())}Usd"`;
}

export function organizationAccount(organizationId: string): string {
  return `org:${organizationId}`;
}

/**
 * The ledger: hold → settle or release, each in one guarded statement.
 *
 * Available to spend is balance − held. It is checked and taken in the same UPDATE, so concurrent callers cannot spend
 * the same dollar. Charges of a long job are collected on its hold (`settled_usd`) and reach the balance when the hold
 * is resolved; the audit counts them there until then.
 *
 * The limit of a key is checked in the same way, by the one row of the key. It is locked after the account of its
 * organization and never before it, so no two statements wait for each other.
 */
@Injectable()
export class LedgerRepository {
  constructor(private readonly database: Database) {}

  /**
   * Adds credits, within the caller's transaction if there is one. A reference counts once; returns false for a
   * repeated one.
   */
  async topUp(
    organizationId: string,
    amountUsd: string,
    reference: string,
    within: Pick<Session, 'execute'> = this.database,
  ): Promise<boolean> {
    const touched = await within.execute({
      sql: `
        WITH moved AS (
          INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd)
          VALUES ($3, 'top_up', 'funding', $1, $2::numeric)
          ON CONFLICT DO NOTHING
          RETURNING credit_account, amount_usd
        )
        INSERT INTO ledger_accounts AS a (id, balance_usd, credited_usd)
        SELECT credit_account, amount_usd, amount_usd FROM moved
        ON CONFLICT (id) DO UPDATE SET
          balance_usd = a.balance_usd + excluded.balance_usd, credited_usd = a.credited_usd + excluded.credited_usd`,
      values: [organizationAccount(organizationId), amountUsd, reference],
    });
    return touched === 1;
  }

  async accountOf(organizationId: string): Promise<AccountState> {
    const row = await this.database
      .asOrganization({ organizationId })
      .firstRow<{ balance: string; held: string; available: string }>({
        sql: `SELECT balance_usd::text AS balance, held_usd::text AS held, (balance_usd - held_usd)::text AS available
            FROM ledger_accounts WHERE id = $1`,
        values: [organizationAccount(organizationId)],
      });
    return { balanceUsd: row?.balance ?? '0', heldUsd: row?.held ?? '0', availableUsd: row?.available ?? '0' };
  }

  /**
   * Returns all credits ever bought and all charges less refunds, for `GET /credits`. Charges of a running batch are on
   * its hold. Reads the account and its open holds, never the history.
   */
  async creditsOf(organizationId: string): Promise<{ totalCreditsUsd: string; totalUsageUsd: string }> {
    const account = organizationAccount(organizationId);
    const row = await this.database.asOrganization({ organizationId }).firstRow<{ credits: string; usage: string }>({
      sql: `SELECT credited_usd::text AS credits, (credited_usd - balance_usd + (
                     SELECT coalesce(sum(h.settled_usd), 0) FROM ledger_holds h
                     WHERE h.account_id = a.id AND h.state = 'open'))::text AS usage
            FROM ledger_accounts a WHERE a.id = $1`,
      values: [account],
    });
    return { totalCreditsUsd: row?.credits ?? '0', totalUsageUsd: row?.usage ?? '0' };
  }

  /**
   * Sets money aside in the caller's transaction, which must end with it when it is refused.
   *
   * @throws AppError payment_required when the organization's credits, the key's limit or a budget of the workspace
   *   do not cover it
   */
  async openHold(session: Session, hold: HoldRequest): Promise<void> {
    const account = organizationAccount(hold.organizationId);
    await session.execute({
      name: 'ledger-account-exists',
      sql: 'INSERT INTO ledger_accounts (id) VALUES ($1) ON CONFLICT DO NOTHING',
      values: [account],
    });
    const refusedBy = await setAside(session, hold);
    if (refusedBy !== null) throw await refusalOf(session, hold, { by: refusedBy, amountUsd: hold.amountUsd });
    await session.execute({
      name: 'ledger-open-hold',
      sql: `
        INSERT INTO ledger_holds (id, account_id, amount_usd, expires_at, api_key_hash, workspace_id, counts_byok,
          list_usd)
        VALUES ($1, $2, $3::numeric, now() + $4::bigint * interval '1 millisecond', $5, $6::uuid, $7, $8::numeric)`,
      values: [
        hold.id,
        account,
        hold.amountUsd,
        hold.lifetimeMs,
        hold.apiKeyHash,
        hold.workspaceId,
        countsByok(hold),
        hold.listUsd ?? null,
      ],
    });
  }

  /** Charges what was spent and returns the rest. A second call finds nothing open and changes nothing. */
  async resolveHold(session: Session, id: string): Promise<void> {
    await session.execute({
      name: 'ledger-resolve-hold',
      sql: `
        WITH hold AS (
          UPDATE ledger_holds SET state = 'resolved', resolved_at = now()
          WHERE id = $1 AND state = 'open'
          RETURNING account_id, api_key_hash, workspace_id, amount_usd, settled_usd, settled_byok_usd
        ), account AS (
          UPDATE ledger_accounts a
          SET held_usd = a.held_usd - hold.amount_usd,
              balance_usd = a.balance_usd - hold.settled_usd,
              overage_usd = a.overage_usd + greatest(0, hold.settled_usd - hold.amount_usd)
          FROM hold WHERE a.id = hold.account_id
          RETURNING a.id, a.tracks_workspaces
        ), spent_in AS (
          SELECT workspace_id, substr(account_id, 5)::uuid AS organization_id, amount_usd AS hold, settled_usd AS cost,
                 settled_byok_usd AS byok
          FROM hold JOIN account ON account.id = account_id
          WHERE account.tracks_workspaces AND workspace_id IS NOT NULL
        ), workspace AS (${chargeWorkspaces('spent_in')}
        ), spent AS (
          SELECT api_key_hash, amount_usd AS hold, settled_usd AS cost, settled_byok_usd AS byok
          FROM hold WHERE api_key_hash IS NOT NULL AND EXISTS (SELECT FROM account)
        )
        ${chargeKeys('spent')}`,
      values: [id],
    });
  }

  /** Returns the charges of each key in total and in the current UTC day, week (from Monday) and month. */
  async spendingOf(tenant: Tenant, apiKeyHashes: readonly string[]): Promise<Map<string, KeySpending>> {
    const rows = await this.database.asTenant(tenant).rows<KeySpending & { hash: string }>({
      sql: `
        SELECT api_key_hash AS hash, sum(charged_usd)::text AS "totalUsd", sum(byok_usd)::text AS "byokTotalUsd",
               ${PERIODS.map(([name, days]) => inPeriod(name, days)).join(', ')}
        FROM ledger_key_days, (SELECT (now() AT TIME ZONE 'UTC')::date AS today) clock
        WHERE api_key_hash = ANY($1::character(64)[]) GROUP BY api_key_hash`,
      values: [apiKeyHashes],
    });
    return new Map(rows.map(({ hash, ...spending }) => [hash, spending]));
  }

  /** Returns what is left of keys' limits; amounts held for running calls and batches count as spent. */
  async leftOf(tenant: Tenant, limits: ReadonlyMap<string, KeyLimit>): Promise<Map<string, string>> {
    const given = [...limits.values()];
    const rows = await this.database.asTenant(tenant).rows<{ hash: string; left: string }>({
      sql: `
        SELECT k.api_key_hash AS hash, greatest(0, ${leftOfLimit('k', ASKED_LIMIT)})::numeric(38,12)::text AS left
        FROM unnest($1::character(64)[], $2::numeric[], $3::text[], $4::boolean[])
               AS asked(api_key_hash, amount, reset, includes_byok)
        JOIN ledger_keys k USING (api_key_hash)`,
      values: [
        [...limits.keys()],
        given.map(({ amountUsd }) => amountUsd),
        given.map(({ reset }) => reset),
        given.map(({ includesByok }) => includesByok),
      ],
    });
    const left = new Map([...limits].map(([hash, { amountUsd }]) => [hash, amountUsd]));
    for (const row of rows) left.set(row.hash, row.left);
    return left;
  }

  /**
   * Compares every transfer and every open hold with the rows that show balances and by which limits are checked. Only
   * LedgerAuditRepository.audit compares the sources of charges.
   * @returns an empty list if the ledger balances to the last digit
   */
  async audit(): Promise<readonly LedgerFinding[]> {
    return new LedgerAuditRepository(this.database).balances();
  }
}
