import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Parts of batches that run at a provider's own batch API: one row is one order, before and after the provider has it.
 */
export class NativeBatches1763800000005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE native_batches (
        reference text NOT NULL,
        batch_id text NOT NULL,
        batch_number bigint NOT NULL,
        created_on date NOT NULL,
        part integer NOT NULL,
        first_segment integer NOT NULL,
        last_segment integer NOT NULL,
        first_seq integer NOT NULL,
        last_seq integer NOT NULL,
        endpoint text NOT NULL,
        model text NOT NULL,
        provider text NOT NULL,
        upstream_model text NOT NULL,
        organization_id uuid NOT NULL,
        workspace_id uuid NOT NULL,
        api_key_hash character(64) NOT NULL,
        finish_by timestamptz NOT NULL,
        state text NOT NULL DEFAULT 'planned',
        credential_id uuid,
        input_file_id text,
        upstream_id text,
        adopted boolean NOT NULL DEFAULT false,
        output_ids text[] NOT NULL DEFAULT '{}',
        sent_lines integer,
        submitted_at timestamptz,
        looks integer NOT NULL DEFAULT 0,
        not_ours text[] NOT NULL DEFAULT '{}',
        failures integer NOT NULL DEFAULT 0,
        problem text,
        cancelled_at timestamptz,
        available_at timestamptz NOT NULL DEFAULT now(),
        is_leased boolean NOT NULL DEFAULT false,
        fence bigint NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT native_batches_pkey PRIMARY KEY (reference),
        CONSTRAINT native_batches_part_once UNIQUE (batch_number, part),
        CONSTRAINT native_batches_state_known CHECK (state IN ('planned', 'uploaded', 'submitting', 'running', 'done')),
        CONSTRAINT native_batches_running_is_known CHECK (state <> 'running' OR upstream_id IS NOT NULL),
        CONSTRAINT native_batches_submitting_is_dated CHECK (state <> 'submitting' OR submitted_at IS NOT NULL)
      )`);
    await runner.query(`CREATE INDEX native_batches_due ON native_batches (available_at) WHERE state <> 'done'`);
    await runner.query(
      `CREATE UNIQUE INDEX native_batches_upstream_once ON native_batches (provider, upstream_id) WHERE upstream_id IS NOT NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE native_batches');
  }
}
