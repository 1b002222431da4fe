import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How often an order was sent to a provider that neither accepted nor refused it. */
export class NativeLosses1763900000111 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE native_batches ADD COLUMN losses integer NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE native_batches DROP COLUMN losses');
  }
}
