import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Batches of providers' own keep files there for days, so those of callers with zero retention run in our lane. */
export class BatchesThatLeaveNothing1763900000216 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches ADD leaves_nothing boolean NOT NULL DEFAULT false');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches DROP leaves_nothing');
  }
}
