import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The audit trail of management keys. Rows are added and, once, get their outcome: the database refuses any other
 * change and any deletion.
 */
export class Audit1763700000010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE audit_entries (
        id bigint GENERATED ALWAYS AS IDENTITY,
        at timestamptz NOT NULL DEFAULT now(),
        organization_id uuid NOT NULL,
        key_id uuid NOT NULL,
        action text NOT NULL,
        target text,
        request_id text NOT NULL,
        status smallint,
        CONSTRAINT audit_entries_pkey PRIMARY KEY (id)
      )`);
    await runner.query('CREATE INDEX audit_entries_by_organization ON audit_entries (organization_id, at)');
    await runner.query(`
      CREATE FUNCTION keep_audit_entries() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'UPDATE' AND OLD.status IS NULL AND NEW.status IS NOT NULL
           AND (to_jsonb(NEW) - 'status') = (to_jsonb(OLD) - 'status') THEN
          RETURN NEW;
        END IF;
        RAISE EXCEPTION 'audit entries are kept as they are';
      END $$`);
    await runner.query(`
      CREATE TRIGGER audit_entries_are_kept BEFORE UPDATE OR DELETE ON audit_entries
      FOR EACH ROW EXECUTE FUNCTION keep_audit_entries()`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE audit_entries');
    await runner.query('DROP FUNCTION keep_audit_entries');
  }
}
