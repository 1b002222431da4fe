import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Video jobs: the request, the provider, the progress, and where the outputs are stored. */
export class Videos1763800000008 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE videos (
        id text NOT NULL,
        organization_id uuid NOT NULL,
        workspace_id uuid NOT NULL,
        api_key_hash character(64) NOT NULL,
        model text NOT NULL,
        provider text NOT NULL,
        upstream_model text NOT NULL,
        region text NOT NULL,
        credential_id uuid,
        request json,
        price_usd numeric(38,12) NOT NULL,
        list_price_usd numeric(38,12) NOT NULL,
        status text NOT NULL,
        step text NOT NULL,
        needs_review boolean NOT NULL DEFAULT false,
        attempts integer NOT NULL DEFAULT 0,
        output_attempts integer NOT NULL DEFAULT 0,
        operation json,
        callback_url text,
        next_at timestamptz NOT NULL DEFAULT now(),
        lease_until timestamptz,
        fence bigint NOT NULL DEFAULT 0,
        error_message text,
        outputs json,
        outputs_expire_at timestamptz,
        cost_usd numeric(38,12),
        idempotency_key text,
        request_hash character(64),
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        finished_at timestamptz,
        CONSTRAINT videos_pkey PRIMARY KEY (id),
        CONSTRAINT videos_status_known CHECK (
          status IN ('pending', 'in_progress', 'completed', 'failed', 'cancelled', 'expired')),
        CONSTRAINT videos_step_known CHECK (step IN ('submit', 'submitting', 'poll')),
        CONSTRAINT videos_terminal_is_finished CHECK (
          (status IN ('completed', 'failed', 'cancelled', 'expired')) = (finished_at IS NOT NULL)),
        CONSTRAINT videos_polled_by_operation CHECK ((step = 'poll') = (operation IS NOT NULL)),
        CONSTRAINT videos_request_until_submitted CHECK (
          (request IS NOT NULL) = (step <> 'poll' AND finished_at IS NULL)),
        CONSTRAINT videos_kept_until CHECK (outputs IS NULL OR outputs_expire_at IS NOT NULL)
      )`);
    // Pictures in base64 do not compress; trying costs more than it saves.
    await runner.query('ALTER TABLE videos ALTER COLUMN request SET STORAGE EXTERNAL');
    await runner.query('CREATE INDEX videos_due ON videos (next_at) WHERE finished_at IS NULL');
    await runner.query('CREATE INDEX videos_kept ON videos (outputs_expire_at) WHERE outputs IS NOT NULL');
    await runner.query('CREATE INDEX videos_in_review ON videos (id) WHERE needs_review');
    await runner.query(
      `CREATE UNIQUE INDEX videos_idempotency_key ON videos (workspace_id, idempotency_key)
       WHERE idempotency_key IS NOT NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE videos');
  }
}
