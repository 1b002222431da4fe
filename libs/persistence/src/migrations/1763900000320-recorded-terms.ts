import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Facts about jobs that had to be deduced before, or were unknown: whose key ran a line, the list price for which a
 * hold was opened, and the size of a video. Columns without defaults: no row is rewritten, and null means that the fact
 * was not recorded.
 */
export class RecordedTerms1763900000320 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batch_results ADD COLUMN is_byok boolean');
    await runner.query('ALTER TABLE ledger_holds ADD COLUMN list_usd numeric(38,12)');
    await runner.query('ALTER TABLE videos ADD COLUMN dimensions json');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE videos DROP COLUMN dimensions');
    await runner.query('ALTER TABLE ledger_holds DROP COLUMN list_usd');
    await runner.query('ALTER TABLE batch_results DROP COLUMN is_byok');
  }
}
