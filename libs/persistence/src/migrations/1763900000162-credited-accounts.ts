import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What was ever credited to each account, for rows from before the column. These are the transfers without
 * `written_in`, and no more of them can come, so nothing needs a lock: credits that are added meanwhile add themselves.
 */
export class CreditedAccounts1763900000162 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE ledger_accounts a SET credited_usd = a.credited_usd + t.amount_usd
      FROM (SELECT credit_account, sum(amount_usd) AS amount_usd FROM ledger_transfers
            WHERE kind = 'top_up' AND written_in IS NULL GROUP BY credit_account) t
      WHERE a.id = t.credit_account`);
  }

  /** The column goes with the migration that made it. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('UPDATE ledger_accounts SET credited_usd = 0');
  }
}
