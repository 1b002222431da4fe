import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Claims of a webhook whose workers did not come back: they say nothing of its receiver, so they are no attempts. */
export class UnfinishedAttempts1763900000290 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_deliveries ADD COLUMN unfinished smallint NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_deliveries DROP COLUMN unfinished');
  }
}
