import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How often the file of an order was sent to a provider that neither accepted nor refused it. */
export class UnansweredUploads1763900000380 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE native_batches ADD COLUMN unanswered_uploads integer NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE native_batches DROP COLUMN unanswered_uploads');
  }
}
