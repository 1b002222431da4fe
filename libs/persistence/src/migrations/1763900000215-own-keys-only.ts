import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Marks batches that only their owner's keys may serve: only the fee is reserved, so no other key may be used. */
export class OwnKeysOnly1763900000215 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches ADD own_keys_only boolean NOT NULL DEFAULT false');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches DROP own_keys_only');
  }
}
