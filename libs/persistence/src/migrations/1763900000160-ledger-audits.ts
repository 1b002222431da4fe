import type { MigrationInterface, QueryRunner } from 'typeorm';
import { ROLE } from './tenant-policy';

const WRITTEN = ['generations', 'batch_results', 'ledger_transfers'];

/**
 * Columns for the incremental audit of the ledger: the transaction that wrote a charge or its source, and the state of
 * the last audit. Existing rows keep null, so no table is rewritten; null also marks the older rows.
 */
export class LedgerAudits1763900000160 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of WRITTEN) {
      await runner.query(`ALTER TABLE ${table} ADD COLUMN written_in bigint`);
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN written_in SET DEFAULT pg_current_xact_id()::text::bigint`);
    }
    await runner.query('ALTER TABLE ledger_accounts ADD COLUMN credited_usd numeric(38,12) NOT NULL DEFAULT 0');
    await runner.query(`
      CREATE TABLE ledger_audits (
        id smallint NOT NULL DEFAULT 1,
        watermark bigint NOT NULL,
        audited_at timestamptz NOT NULL,
        full_at timestamptz NOT NULL,
        drift_picousd numeric(50,0) NOT NULL,
        kept jsonb NOT NULL DEFAULT '[]',
        CONSTRAINT ledger_audits_pkey PRIMARY KEY (id),
        CONSTRAINT ledger_audits_one_row CHECK (id = 1)
      )`);
    await runner.query(`
      CREATE TABLE ledger_audit_totals (
        scope text NOT NULL,
        id text NOT NULL,
        amount_usd numeric(38,12) NOT NULL,
        CONSTRAINT ledger_audit_totals_pkey PRIMARY KEY (scope, id)
      )`);
    await runner.query(`CREATE INDEX ledger_holds_open_of_account ON ledger_holds (account_id) WHERE state = 'open'`);
    await runner.query(`GRANT SELECT ON ledger_holds TO ${ROLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`REVOKE SELECT ON ledger_holds FROM ${ROLE}`);
    await runner.query('DROP INDEX ledger_holds_open_of_account');
    await runner.query('DROP TABLE ledger_audit_totals');
    await runner.query('DROP TABLE ledger_audits');
    await runner.query('ALTER TABLE ledger_accounts DROP COLUMN credited_usd');
    for (const table of WRITTEN) await runner.query(`ALTER TABLE ${table} DROP COLUMN written_in`);
  }
}
