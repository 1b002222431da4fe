import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The total that was ever credited to each account, for rows from before the column. These are the transfers without
 * `written_in`, and there can be no new ones, so no lock is needed: credits that are added meanwhile update the total
 * themselves.
 */
export class CreditedAccounts1763900000162 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE ledger_accounts a SET credited_usd = a.credited_usd + t.amount_usd
      FROM (SELECT credit_account, sum(amount_usd) AS amount_usd FROM ledger_transfers
            WHERE kind = 'top_up' AND written_in IS NULL GROUP BY credit_account) t
      WHERE a.id = t.credit_account`);
  }

  /** The migration that created the column removes it. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('UPDATE ledger_accounts SET credited_usd = 0');
  }
}
