import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The credential with which a batch is run, so that lines wait only for their own key. */
export class BatchCredentials1763900000110 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches ADD COLUMN credential_id uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches DROP COLUMN credential_id');
  }
}
