import type { MigrationInterface, QueryRunner } from 'typeorm';
import { TENANT_ROLE } from '../tenants/tenant';

/** The id of what an action creates is known only at its end. So the end of an audit entry may add a missing target. */
export class AuditTargets1763900000350 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const isTargetKept = 'AND (OLD.target IS NULL OR NEW.target = OLD.target)';
    await runner.query(keepAuditEntries(`- 'status' - 'target'`, isTargetKept));
    await runner.query(`GRANT UPDATE (target) ON audit_entries TO ${TENANT_ROLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`REVOKE UPDATE (target) ON audit_entries FROM ${TENANT_ROLE}`);
    await runner.query(keepAuditEntries(`- 'status'`, ''));
  }
}

const keepAuditEntries = (changing: string, condition: string): string => `
  CREATE OR REPLACE FUNCTION keep_audit_entries() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < now() - interval '90 days' THEN
      RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.status IS NULL AND NEW.status IS NOT NULL
       AND (to_jsonb(NEW) ${changing}) = (to_jsonb(OLD) ${changing}) ${condition} THEN
      RETURN NEW;
    END IF;
    RAISE EXCEPTION 'audit entries are kept as they are';
  END $$`;
