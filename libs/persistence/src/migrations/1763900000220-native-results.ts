import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Stores for each line whether an order at the provider ran it. A column without a default: no row is rewritten. */
export class NativeResults1763900000220 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batch_results ADD COLUMN is_native boolean');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batch_results DROP COLUMN is_native');
  }
}
