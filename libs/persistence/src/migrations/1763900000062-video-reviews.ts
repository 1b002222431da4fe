import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Video jobs that their provider may or may not have accepted stay open until an operator decides or their time in
 * review is over. Searches for a job at its provider are counted separately from its submissions. The audit trail also
 * records actions of operators at the command line, with a name instead of a key.
 */
export class VideoReviews1763900000062 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE videos ADD COLUMN searches integer NOT NULL DEFAULT 0');
    await runner.query('DROP INDEX videos_in_review');
    await runner.query(
      'CREATE INDEX videos_in_review ON videos (created_at) WHERE needs_review AND finished_at IS NULL',
    );
    await runner.query('ALTER TABLE audit_entries ALTER COLUMN key_id DROP NOT NULL, ADD COLUMN operator text');
    await runner.query(`
      ALTER TABLE audit_entries ADD CONSTRAINT audit_entries_by_one CHECK ((key_id IS NULL) = (operator IS NOT NULL))`);
  }

  /** Entries that only the newer form can hold are lost. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE audit_entries DISABLE TRIGGER audit_entries_are_kept');
    await runner.query('DELETE FROM audit_entries WHERE key_id IS NULL');
    await runner.query('ALTER TABLE audit_entries ENABLE TRIGGER audit_entries_are_kept');
    await runner.query('ALTER TABLE audit_entries DROP COLUMN operator, ALTER COLUMN key_id SET NOT NULL');
    await runner.query('DROP INDEX videos_in_review');
    await runner.query('CREATE INDEX videos_in_review ON videos (id) WHERE needs_review');
    await runner.query('ALTER TABLE videos DROP COLUMN searches');
  }
}
