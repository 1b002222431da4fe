import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The audit trail may be given up from its ninetieth day on, never before; an entry still cannot be changed. */
export class Retention1763800000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(keepAuditEntries(`
        IF TG_OP = 'DELETE' AND OLD.at < now() - interval '90 days' THEN
          RETURN OLD;
        END IF;`));
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(keepAuditEntries(''));
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
