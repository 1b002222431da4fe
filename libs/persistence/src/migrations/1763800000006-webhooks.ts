import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Events to send to receivers, the URLs of receivers, and the secrets that sign events.
 *
 * `webhook_secrets` belongs to the credentials app. Its secrets are encrypted like the keys of providers: the keys that
 * decrypt them are outside of the database.
 */
export class Webhooks1763800000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE webhook_deliveries (
        id text NOT NULL,
        organization_id uuid NOT NULL,
        workspace_id uuid NOT NULL,
        url text NOT NULL,
        host text NOT NULL,
        type text NOT NULL,
        payload json NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        attempts smallint NOT NULL DEFAULT 0,
        next_attempt_at timestamptz NOT NULL DEFAULT now(),
        lease_until timestamptz,
        fence bigint NOT NULL DEFAULT 0,
        last_attempt_at timestamptz,
        last_status smallint,
        last_error text,
        delivered_at timestamptz,
        given_up_at timestamptz,
        CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
        CONSTRAINT webhook_deliveries_one_end CHECK (num_nonnulls(delivered_at, given_up_at) <= 1),
        CONSTRAINT webhook_deliveries_attempts_count CHECK (attempts >= 0)
      )`);
    await runner.query(
      `CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (host, next_attempt_at)
       WHERE delivered_at IS NULL AND given_up_at IS NULL`,
    );
    await runner.query(
      `CREATE INDEX webhook_deliveries_ended ON webhook_deliveries ((coalesce(delivered_at, given_up_at)))
       WHERE delivered_at IS NOT NULL OR given_up_at IS NOT NULL`,
    );
    await runner.query(`
      CREATE TABLE webhook_secrets (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        workspace_id uuid NOT NULL,
        key_encryption_key_id text NOT NULL,
        wrapped_data_key bytea NOT NULL,
        sealed_key text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz,
        CONSTRAINT webhook_secrets_pkey PRIMARY KEY (id)
      )`);
    await runner.query(
      `CREATE UNIQUE INDEX webhook_secrets_one_current ON webhook_secrets (workspace_id) WHERE expires_at IS NULL`,
    );
    await runner.query(`CREATE INDEX webhook_secrets_by_workspace ON webhook_secrets (workspace_id)`);
    await runner.query(
      `CREATE INDEX webhook_secrets_by_key_encryption_key ON webhook_secrets (key_encryption_key_id, id)`,
    );
    await runner.query(`ALTER TABLE batches ADD COLUMN callback_url text`);
    await runner.query(
      `ALTER TABLE workspaces ADD COLUMN default_callback_url text,
         ADD CONSTRAINT workspaces_callback_url_length CHECK (char_length(default_callback_url) <= 2048)`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE workspaces DROP COLUMN default_callback_url');
    await runner.query('ALTER TABLE batches DROP COLUMN callback_url');
    await runner.query('DROP TABLE webhook_secrets');
    await runner.query('DROP TABLE webhook_deliveries');
  }
}
