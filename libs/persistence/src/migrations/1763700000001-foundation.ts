import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Outbox, batches, generations and the ledger.
 *
 * The large tables are partitioned by the UTC day on which their batch (or call) began, in weekly partitions, so that
 * retention drops partitions instead of deleting rows. A default partition takes rows that no weekly one covers, so an
 * installation whose maintenance did not run loses nothing.
 */
export class Foundation1763700000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE outbox (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        contract text NOT NULL,
        payload jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      )`);
    await this.createBatches(runner);
    await this.createBulkTables(runner);
    await this.createLedger(runner);
    await this.createPartitions(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION ensure_weekly_partitions(text, date, date)');
    for (const table of [
      'ledger_key_days',
      'ledger_transfers',
      'ledger_holds',
      'ledger_accounts',
      'generations',
      'batch_results',
      'batch_segments',
      'batch_lines',
      'batches',
      'outbox',
    ]) {
      await runner.query(`DROP TABLE ${table}`);
    }
  }

  private async createBatches(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE batches (
        id text PRIMARY KEY,
        number bigserial NOT NULL,
        created_on date NOT NULL,
        organization_id uuid NOT NULL,
        workspace_id uuid NOT NULL,
        api_key_hash character(64) NOT NULL,
        endpoint text NOT NULL,
        model text NOT NULL,
        provider text,
        upstream_model text,
        completion_window text NOT NULL DEFAULT '24h',
        status text NOT NULL,
        total integer NOT NULL DEFAULT 0,
        completed integer,
        failed integer,
        usage jsonb,
        error_message text,
        idempotency_key text,
        request_hash character(64),
        fence bigint NOT NULL DEFAULT 0,
        lease_until timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        in_progress_at timestamptz,
        finalizing_at timestamptz,
        finalized_at timestamptz,
        expires_at timestamptz NOT NULL,
        CONSTRAINT batches_number_key UNIQUE (number),
        CONSTRAINT batches_status_known CHECK (status IN ('receiving', 'validating', 'in_progress', 'finalizing',
          'completed', 'failed', 'expired', 'cancelling', 'cancelled')),
        CONSTRAINT batches_terminal_is_finalized CHECK (
          (status IN ('completed', 'failed', 'expired', 'cancelled')) = (finalized_at IS NOT NULL)
          AND (finalized_at IS NULL OR (completed IS NOT NULL AND failed IS NOT NULL)))
      )`);
    await runner.query('CREATE INDEX batches_by_workspace ON batches (workspace_id, created_at DESC, id DESC)');
    await runner.query(
      `CREATE UNIQUE INDEX batches_idempotency_key ON batches (workspace_id, idempotency_key)
       WHERE idempotency_key IS NOT NULL`,
    );
    await runner.query(`CREATE INDEX batches_unfinished ON batches (status, expires_at) WHERE finalized_at IS NULL`);
  }

  private async createBulkTables(runner: QueryRunner): Promise<void> {
    // Bodies are stored outside the row and uncompressed: compressing 200 MB costs more than it saves.
    await runner.query(`
      CREATE TABLE batch_lines (
        created_on date NOT NULL,
        batch_number bigint NOT NULL,
        seq integer NOT NULL,
        custom_id text NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (batch_number, seq, created_on),
        CONSTRAINT batch_lines_custom_id_once UNIQUE (batch_number, custom_id, created_on)
      ) PARTITION BY RANGE (created_on)`);
    await runner.query('ALTER TABLE batch_lines ALTER COLUMN body SET STORAGE EXTERNAL');

    // A work queue: rows are added and deleted with their batch, so vacuum runs by number of rows and not by share.
    await runner.query(`
      CREATE TABLE batch_segments (
        batch_number bigint NOT NULL,
        number integer NOT NULL,
        created_on date NOT NULL,
        first_seq integer NOT NULL,
        last_seq integer NOT NULL,
        state text NOT NULL DEFAULT 'waiting',
        available_at timestamptz NOT NULL DEFAULT now(),
        fence bigint NOT NULL DEFAULT 0,
        attempts integer NOT NULL DEFAULT 0,
        completed integer NOT NULL DEFAULT 0,
        failed integer NOT NULL DEFAULT 0,
        PRIMARY KEY (batch_number, number),
        CONSTRAINT batch_segments_state_known CHECK (state IN ('waiting', 'open', 'done')),
        CONSTRAINT batch_segments_not_overfull CHECK (completed + failed <= last_seq - first_seq + 1)
      ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)`);
    await runner.query(
      `CREATE INDEX batch_segments_open ON batch_segments (batch_number, number) WHERE state = 'open'`,
    );

    await runner.query(`
      CREATE TABLE batch_results (
        created_on date NOT NULL,
        batch_number bigint NOT NULL,
        seq integer NOT NULL,
        custom_id text NOT NULL,
        generation_id text,
        status_code smallint,
        request_id text,
        body bytea,
        error json,
        prompt_tokens bigint NOT NULL DEFAULT 0,
        completion_tokens bigint NOT NULL DEFAULT 0,
        cached_tokens bigint NOT NULL DEFAULT 0,
        cache_write_tokens bigint NOT NULL DEFAULT 0,
        reasoning_tokens bigint NOT NULL DEFAULT 0,
        prompt_cost_usd numeric(38,12) NOT NULL DEFAULT 0,
        completion_cost_usd numeric(38,12) NOT NULL DEFAULT 0,
        cost_usd numeric(38,12) NOT NULL DEFAULT 0,
        PRIMARY KEY (batch_number, seq, created_on),
        CONSTRAINT batch_results_one_outcome CHECK ((body IS NULL) <> (error IS NULL))
      ) PARTITION BY RANGE (created_on)`);
    await runner.query('ALTER TABLE batch_results ALTER COLUMN body SET STORAGE EXTERNAL');

    await runner.query(`
      CREATE TABLE generations (
        id text NOT NULL,
        created_on date NOT NULL,
        organization_id uuid NOT NULL,
        workspace_id uuid NOT NULL,
        api_key_hash character(64) NOT NULL,
        api text NOT NULL,
        model text NOT NULL,
        streamed boolean NOT NULL,
        state text NOT NULL,
        hold_usd numeric(38,12) NOT NULL,
        provider text,
        upstream_model text,
        upstream_id text,
        status_code smallint,
        outcome text,
        finish_reason text,
        usage_provenance text,
        prompt_tokens bigint NOT NULL DEFAULT 0,
        completion_tokens bigint NOT NULL DEFAULT 0,
        cached_tokens bigint NOT NULL DEFAULT 0,
        reasoning_tokens bigint NOT NULL DEFAULT 0,
        cost_usd numeric(38,12) NOT NULL DEFAULT 0,
        latency_ms integer,
        generation_ms integer,
        created_at timestamptz NOT NULL DEFAULT now(),
        settled_at timestamptz,
        PRIMARY KEY (id, created_on),
        CONSTRAINT generations_state_known CHECK (state IN ('open', 'settled', 'abandoned')),
        CONSTRAINT generations_settled_at_set CHECK ((state = 'open') = (settled_at IS NULL))
      ) PARTITION BY RANGE (created_on)`);
    await runner.query(`CREATE INDEX generations_open ON generations (created_at) WHERE state = 'open'`);
  }

  private async createLedger(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE ledger_accounts (
        id text PRIMARY KEY,
        balance_usd numeric(38,12) NOT NULL DEFAULT 0,
        held_usd numeric(38,12) NOT NULL DEFAULT 0,
        overage_usd numeric(38,12) NOT NULL DEFAULT 0,
        CONSTRAINT ledger_accounts_held_not_negative CHECK (held_usd >= 0)
      )`);
    await runner.query(`
      CREATE TABLE ledger_holds (
        id text PRIMARY KEY,
        account_id text NOT NULL,
        amount_usd numeric(38,12) NOT NULL,
        settled_usd numeric(38,12) NOT NULL DEFAULT 0,
        state text NOT NULL DEFAULT 'open',
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        resolved_at timestamptz,
        CONSTRAINT ledger_holds_state_known CHECK (state IN ('open', 'resolved')),
        CONSTRAINT ledger_holds_resolved_at_set CHECK ((state = 'resolved') = (resolved_at IS NOT NULL)),
        CONSTRAINT ledger_holds_account FOREIGN KEY (account_id) REFERENCES ledger_accounts (id)
      )`);
    await runner.query(`CREATE INDEX ledger_holds_open ON ledger_holds (expires_at) WHERE state = 'open'`);
    await runner.query(`
      CREATE TABLE ledger_transfers (
        reference text NOT NULL,
        kind text NOT NULL,
        debit_account text NOT NULL,
        credit_account text NOT NULL,
        amount_usd numeric(38,12) NOT NULL,
        workspace_id uuid,
        api_key_hash character(64),
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (reference, kind),
        CONSTRAINT ledger_transfers_amount_positive CHECK (amount_usd > 0),
        CONSTRAINT ledger_transfers_kind_known CHECK (kind IN ('top_up', 'charge', 'refund')),
        CONSTRAINT ledger_transfers_two_sides CHECK (debit_account <> credit_account)
      )`);
    await runner.query(`
      CREATE TABLE ledger_key_days (
        api_key_hash character(64) NOT NULL,
        day date NOT NULL,
        charged_usd numeric(38,12) NOT NULL,
        PRIMARY KEY (api_key_hash, day)
      ) WITH (fillfactor = 50)`);
  }

  private async createPartitions(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION ensure_weekly_partitions(parent text, from_day date, to_day date) RETURNS void
      LANGUAGE plpgsql AS $$
      DECLARE
        monday date := date_trunc('week', from_day)::date;
      BEGIN
        WHILE monday <= to_day LOOP
          EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
            parent || '_' || to_char(monday, 'IYYY"w"IW'), parent, monday, monday + 7);
          monday := monday + 7;
        END LOOP;
      END $$`);
    for (const table of ['batch_lines', 'batch_results', 'generations']) {
      await runner.query(`CREATE TABLE ${table}_default PARTITION OF ${table} DEFAULT`);
      await runner.query(
        `SELECT ensure_weekly_partitions($1, (now() AT TIME ZONE 'UTC')::date, (now() AT TIME ZONE 'UTC')::date + 28)`,
        [table],
      );
    }
  }
}
