import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Seeds for managed key-encryption keys. Also allows the audit trail to be deleted from its ninetieth day on, never
 * before; an entry still cannot be changed.
 */
export class VaultUpkeep1763800000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE intake_seeds (
        key_encryption_key_id text NOT NULL,
        wrapped_seed bytea NOT NULL,
        CONSTRAINT intake_seeds_pkey PRIMARY KEY (key_encryption_key_id)
      )`);
    await runner.query(
      keepAuditEntries(`
        IF TG_OP = 'DELETE' AND OLD.at < now() - interval '90 days' THEN
          RETURN OLD;
        END IF;`),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(keepAuditEntries(''));
    await runner.query('DROP TABLE intake_seeds');
  }
}

const keepAuditEntries = (exception: string): string => `
  CREATE OR REPLACE FUNCTION keep_audit_entries() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN${exception}
    IF TG_OP = 'UPDATE' AND OLD.status IS NULL AND NEW.status IS NOT NULL
       AND (to_jsonb(NEW) - 'status') = (to_jsonb(OLD) - 'status') THEN
      RETURN NEW;
    END IF;
    RAISE EXCEPTION 'audit entries are kept as they are';
  END $$`;
