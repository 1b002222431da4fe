import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Providers' batch APIs store files for days, so batches of callers with zero data retention run as single calls. */
export class BatchesThatLeaveNothing1763900000216 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches ADD leaves_nothing boolean NOT NULL DEFAULT false');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches DROP leaves_nothing');
  }
}
