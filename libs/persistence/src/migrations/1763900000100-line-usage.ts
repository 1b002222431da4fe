import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Usage that providers report of a line in addition to token counts. Null if they report none, and on lines stored
 * before this migration, so no row is rewritten.
 */
export class LineUsage1763900000100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batch_results ADD COLUMN service_tier text, ADD COLUMN usage_details jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batch_results DROP COLUMN service_tier, DROP COLUMN usage_details');
  }
}
