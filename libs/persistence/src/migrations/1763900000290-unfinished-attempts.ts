import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Counts claims of a webhook whose workers died. These are not attempts, because the receiver did not fail. */
export class UnfinishedAttempts1763900000290 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_deliveries ADD COLUMN unfinished smallint NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_deliveries DROP COLUMN unfinished');
  }
}
