import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Of a batch that only keys of its owner's may serve the fee is reserved, so it must stay one. */
export class OwnKeysOnly1763900000215 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches ADD own_keys_only boolean NOT NULL DEFAULT false');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches DROP own_keys_only');
  }
}
