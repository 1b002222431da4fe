import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Quotes of a batch's cost and duration, and the speeds that workers report, from which quotes are made. */
export class BatchQuotes1763900000063 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE batches ADD COLUMN quote jsonb');
    await runner.query(`
      CREATE INDEX batches_quoted ON batches (provider, upstream_model, endpoint, finalized_at DESC)
      WHERE status = 'completed' AND quote IS NOT NULL`);
    await runner.query(`
      CREATE TABLE batch_workers (
        id uuid NOT NULL,
        concurrency integer NOT NULL,
        lanes jsonb NOT NULL,
        seen_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT batch_workers_pkey PRIMARY KEY (id)
      ) WITH (fillfactor = 50)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE batch_workers');
    await runner.query('DROP INDEX batches_quoted');
    await runner.query('ALTER TABLE batches DROP COLUMN quote');
  }
}
