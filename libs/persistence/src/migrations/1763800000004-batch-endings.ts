import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Columns for batches that end before their last line: cancelled, expired, failed midway; and for what remains of a
 * batch that its owner deleted or whose retention is over.
 */
export class BatchEndings1763800000004 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE batches
        ADD COLUMN ends_as text,
        ADD COLUMN stop_by timestamptz,
        ADD COLUMN deleted_at timestamptz,
        ADD COLUMN upstream_deletion text,
        ADD CONSTRAINT batches_ends_as_known CHECK (ends_as IN ('cancelled', 'expired', 'failed')),
        ADD CONSTRAINT batches_stop_has_an_end CHECK ((ends_as IS NULL) = (stop_by IS NULL)),
        ADD CONSTRAINT batches_cancelling_ends_cancelled CHECK (status <> 'cancelling' OR coalesce(ends_as, '') = 'cancelled'),
        ADD CONSTRAINT batches_deleted_is_finalized CHECK (deleted_at IS NULL OR finalized_at IS NOT NULL),
        ADD CONSTRAINT batches_upstream_deletion_known CHECK (
          upstream_deletion IN ('due', 'requested', 'deleted', 'unsupported', 'refused'))`);
    await runner.query(
      `CREATE INDEX batches_stopping ON batches (stop_by) WHERE stop_by IS NOT NULL AND finalized_at IS NULL`,
    );
    await runner.query(`
      CREATE FUNCTION drop_weekly_partitions(parent text, until_day date) RETURNS integer
      LANGUAGE plpgsql AS $$
      DECLARE
        partition_name text;
        dropped integer := 0;
      BEGIN
        FOR partition_name IN
          SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = parent::regclass AND c.relname ~ '_[0-9]{4}w[0-9]{2}$'
            AND to_date(right(c.relname, 7), 'IYYY"w"IW') + 7 <= until_day
          ORDER BY c.relname
        LOOP
          EXECUTE format('DROP TABLE IF EXISTS %I', partition_name);
          dropped := dropped + 1;
        END LOOP;
        RETURN dropped;
      END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION drop_weekly_partitions(text, date)');
    await runner.query('DROP INDEX batches_stopping');
    await runner.query(`
      ALTER TABLE batches DROP COLUMN ends_as, DROP COLUMN stop_by, DROP COLUMN deleted_at, DROP COLUMN upstream_deletion`);
  }
}
