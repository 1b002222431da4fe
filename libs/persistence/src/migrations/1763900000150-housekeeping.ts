import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Leases and tries of outbox messages, the end of tasks that run once per installation, and indexes for the statements
 * that find old idempotency keys and stalled batches.
 */
export class Housekeeping1763900000150 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE outbox
        ADD COLUMN available_at timestamptz NOT NULL DEFAULT now(),
        ADD COLUMN attempts integer NOT NULL DEFAULT 0`);
    await runner.query('CREATE INDEX outbox_available ON outbox (available_at, id)');
    await runner.query(`
      CREATE TABLE task_runs (
        task text NOT NULL,
        ended_at timestamptz NOT NULL,
        CONSTRAINT task_runs_pkey PRIMARY KEY (task)
      ) WITH (fillfactor = 50)`);
    await runner.query('CREATE INDEX batches_keyed ON batches (created_at) WHERE idempotency_key IS NOT NULL');
    await runner.query('CREATE INDEX videos_keyed ON videos (created_at) WHERE idempotency_key IS NOT NULL');
    await runner.query(`CREATE INDEX batch_segments_unfinished ON batch_segments (batch_number) WHERE state <> 'done'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX batch_segments_unfinished');
    await runner.query('DROP INDEX videos_keyed');
    await runner.query('DROP INDEX batches_keyed');
    await runner.query('DROP TABLE task_runs');
    await runner.query('ALTER TABLE outbox DROP COLUMN attempts, DROP COLUMN available_at');
  }
}
