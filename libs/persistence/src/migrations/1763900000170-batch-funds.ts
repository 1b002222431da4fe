import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Columns with which batches reserve money for lines before they begin. Columns with constant defaults are added
 * without rewriting a table, and processes of the previous version ignore them.
 */
export class BatchFunds1763900000170 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE ledger_holds
        ADD COLUMN raised_usd numeric(38,12) NOT NULL DEFAULT 0,
        ADD COLUMN overage_usd numeric(38,12) NOT NULL DEFAULT 0,
        ADD COLUMN reserved jsonb,
        ADD COLUMN refused_since timestamptz`);
    await runner.query('ALTER TABLE batches ADD COLUMN is_metered boolean NOT NULL DEFAULT false');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches DROP COLUMN is_metered');
    await runner.query(
      'ALTER TABLE ledger_holds DROP COLUMN refused_since, DROP COLUMN reserved, DROP COLUMN overage_usd, DROP COLUMN raised_usd',
    );
  }
}
