import type { MigrationInterface, QueryRunner } from 'typeorm';

/** With whose key a batch is run, so that lines of one key wait for that key alone. */
export class BatchCredentials1763900000110 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches ADD COLUMN credential_id uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches DROP COLUMN credential_id');
  }
}
