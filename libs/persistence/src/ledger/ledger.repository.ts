import { Injectable } from '@nestjs/common';
import { Database, type Session } from '../database';

/** Amounts are exact decimal strings in US dollars. */
export interface AccountState {
  readonly balanceUsd: string;
  readonly heldUsd: string;
  readonly availableUsd: string;
}

export interface HoldRequest {
  /** The id of what the money is held for. */
  readonly id: string;
  readonly organizationId: string;
  readonly amountUsd: string;
  readonly expiresAt: Date;
}

export interface AccountDrift {
  readonly accountId: string;
  readonly balanceDriftUsd: string;
  readonly heldDriftUsd: string;
}

export interface KeySpending {
  readonly totalUsd: string;
  readonly dailyUsd: string;
  readonly weeklyUsd: string;
  readonly monthlyUsd: string;
}

export function organizationAccount(organizationId: string): string {
  return `org:${organizationId}`;
}

/**
 * The books: hold → settle or release, each one guarded statement.
 *
 * Available to spend is balance − held, and it is checked and taken in the same UPDATE, so concurrent
 * callers cannot spend the same dollar. Charges of a long job collect on its hold (`settled_usd`) and
 * reach the balance when the hold is resolved; the audit counts them where they are.
 */
@Injectable()
export class LedgerRepository {
  constructor(private readonly database: Database) {}

  /** Adds credits. The same reference counts once; returns false for a repeated one. */
  async topUp(organizationId: string, amountUsd: string, reference: string): Promise<boolean> {
    const touched = await this.database.execute({
      sql: `
        WITH moved AS (
          INSERT INTO ledger_transfers (reference, kind, debit_account, credit_account, amount_usd)
          VALUES ($3, 'top_up', 'funding', $1, $2::numeric)
          ON CONFLICT DO NOTHING
          RETURNING credit_account, amount_usd
        )
        INSERT INTO ledger_accounts (id, balance_usd) SELECT credit_account, amount_usd FROM moved
        ON CONFLICT (id) DO UPDATE SET balance_usd = ledger_accounts.balance_usd + excluded.balance_usd`,
      values: [organizationAccount(organizationId), amountUsd, reference],
    });
    return touched === 1;
  }

  async accountOf(organizationId: string): Promise<AccountState> {
    const row = await this.database.firstRow<{ balance: string; held: string; available: string }>({
      sql: `SELECT balance_usd::text AS balance, held_usd::text AS held, (balance_usd - held_usd)::text AS available
            FROM ledger_accounts WHERE id = $1`,
      values: [organizationAccount(organizationId)],
    });
    return { balanceUsd: row?.balance ?? '0', heldUsd: row?.held ?? '0', availableUsd: row?.available ?? '0' };
  }

  /** What was ever bought and what was ever charged, for `GET /credits`. */
  async creditsOf(organizationId: string): Promise<{ totalCreditsUsd: string; totalUsageUsd: string }> {
    const account = organizationAccount(organizationId);
    const row = await this.database.firstRow<{ credits: string; usage: string }>({
      sql: `SELECT coalesce(sum(amount_usd) FILTER (WHERE kind = 'top_up'), 0)::text AS credits,
                   coalesce(sum(CASE kind WHEN 'charge' THEN amount_usd WHEN 'refund' THEN -amount_usd ELSE 0 END), 0)::text AS usage
            FROM ledger_transfers WHERE debit_account = $1 OR credit_account = $1`,
      values: [account],
    });
    return { totalCreditsUsd: row?.credits ?? '0', totalUsageUsd: row?.usage ?? '0' };
  }

  /** Sets money aside in the caller's transaction; false when the organization cannot cover it. */
  async openHold(session: Session, hold: HoldRequest): Promise<boolean> {
    const account = organizationAccount(hold.organizationId);
    await session.execute({
      name: 'ledger-account-exists',
      sql: 'INSERT INTO ledger_accounts (id) VALUES ($1) ON CONFLICT DO NOTHING',
      values: [account],
    });
    const touched = await session.execute({
      name: 'ledger-open-hold',
      sql: `
        WITH account AS (
          UPDATE ledger_accounts SET held_usd = held_usd + $3::numeric
          WHERE id = $2 AND balance_usd - held_usd >= $3::numeric
          RETURNING id
        )
        INSERT INTO ledger_holds (id, account_id, amount_usd, expires_at)
        SELECT $1, id, $3::numeric, $4::timestamptz FROM account`,
      values: [hold.id, account, hold.amountUsd, hold.expiresAt],
    });
    return touched === 1;
  }

  /** Applies what was charged and gives back the rest. A second call finds nothing open and changes nothing. */
  async resolveHold(session: Session, id: string): Promise<void> {
    await session.execute({
      name: 'ledger-resolve-hold',
      sql: `
        WITH hold AS (
          UPDATE ledger_holds SET state = 'resolved', resolved_at = now()
          WHERE id = $1 AND state = 'open'
          RETURNING account_id, amount_usd, settled_usd
        )
        UPDATE ledger_accounts a
        SET held_usd = a.held_usd - hold.amount_usd,
            balance_usd = a.balance_usd - hold.settled_usd,
            overage_usd = a.overage_usd + greatest(0, hold.settled_usd - hold.amount_usd)
        FROM hold WHERE a.id = hold.account_id`,
      values: [id],
    });
  }

  /** Charges of each key since ever and in the current UTC day, week (Monday first) and month. */
  async spendingOf(apiKeyHashes: readonly string[]): Promise<Map<string, KeySpending>> {
    const rows = await this.database.rows<{ hash: string; total: string; day: string; week: string; month: string }>({
      sql: `
        SELECT api_key_hash AS hash, sum(charged_usd)::text AS total,
               coalesce(sum(charged_usd) FILTER (WHERE day = today), 0)::text AS day,
               coalesce(sum(charged_usd) FILTER (WHERE day >= date_trunc('week', today)::date), 0)::text AS week,
               coalesce(sum(charged_usd) FILTER (WHERE day >= date_trunc('month', today)::date), 0)::text AS month
        FROM ledger_key_days, (SELECT (now() AT TIME ZONE 'UTC')::date AS today) clock
        WHERE api_key_hash = ANY($1::text[]) GROUP BY api_key_hash`,
      values: [apiKeyHashes],
    });
    return new Map(
      rows.map((row) => [
        row.hash,
        { totalUsd: row.total, dailyUsd: row.day, weeklyUsd: row.week, monthlyUsd: row.month },
      ]),
    );
  }

  /**
   * Replays every transfer and every open hold and compares with what the accounts and the days of keys say.
   *
   * @returns the accounts that differ; an empty list means the books balance to the last digit
   */
  async audit(): Promise<AccountDrift[]> {
    const rows = await this.database.rows<{ id: string; balance: string; held: string }>({
      sql: `
        WITH movement AS (
          SELECT credit_account AS id, amount_usd AS amount FROM ledger_transfers
          UNION ALL
          SELECT debit_account, -amount_usd FROM ledger_transfers
        ), replayed AS (
          SELECT id, sum(amount) AS balance FROM movement WHERE id LIKE 'org:%' GROUP BY id
        ), open_hold AS (
          SELECT account_id AS id, sum(amount_usd) AS held, sum(settled_usd) AS unapplied
          FROM ledger_holds WHERE state = 'open' GROUP BY account_id
        ), open_generation AS (
          SELECT 'org:' || organization_id AS id, sum(hold_usd) AS held
          FROM generations WHERE state = 'open' GROUP BY organization_id
        ), key_charges AS (
          SELECT api_key_hash, sum(amount_usd) AS charged FROM ledger_transfers WHERE kind = 'charge' GROUP BY api_key_hash
        ), key_days AS (
          SELECT api_key_hash, sum(charged_usd) AS charged FROM ledger_key_days GROUP BY api_key_hash
        ), compared AS (
          SELECT coalesce(a.id, r.id) AS id,
                 coalesce(a.balance_usd, 0) - coalesce(r.balance, 0) - coalesce(h.unapplied, 0) AS balance,
                 coalesce(a.held_usd, 0) - coalesce(h.held, 0) - coalesce(g.held, 0) AS held
          FROM ledger_accounts a
          FULL JOIN replayed r ON r.id = a.id
          LEFT JOIN open_hold h ON h.id = coalesce(a.id, r.id)
          LEFT JOIN open_generation g ON g.id = coalesce(a.id, r.id)
          UNION ALL
          SELECT 'key:' || api_key_hash, coalesce(d.charged, 0) - coalesce(c.charged, 0), 0
          FROM key_charges c FULL JOIN key_days d USING (api_key_hash)
        )
        SELECT id, balance::text AS balance, held::text AS held FROM compared WHERE balance <> 0 OR held <> 0 ORDER BY id`,
    });
    return rows.map((row) => ({ accountId: row.id, balanceDriftUsd: row.balance, heldDriftUsd: row.held }));
  }
}
