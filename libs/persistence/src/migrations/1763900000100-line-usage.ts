import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What providers report of a line beside its token counts. Null on lines of which they report nothing, and on those
 * that were stored before, so no row is written again.
 */
export class LineUsage1763900000100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batch_results ADD COLUMN service_tier text, ADD COLUMN usage_details jsonb');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batch_results DROP COLUMN service_tier, DROP COLUMN usage_details');
  }
}
