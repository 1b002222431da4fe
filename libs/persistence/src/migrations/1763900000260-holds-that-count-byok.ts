import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Holds of batches also cover own providers' charges if a limit counts these. Open holds cover only the fee. */
export class HoldsThatCountByok1763900000260 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE ledger_holds ADD counts_byok boolean NOT NULL DEFAULT false');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE ledger_holds DROP counts_byok');
  }
}
