import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds which keys their providers refused, when, and until when calls skip them. */
export class RefusedKeys1763900000042 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE credentials
        ADD COLUMN key_version integer NOT NULL DEFAULT 1,
        ADD COLUMN refusals integer NOT NULL DEFAULT 0,
        ADD COLUMN last_error_status smallint,
        ADD COLUMN last_error_at timestamptz,
        ADD COLUMN skipped_until timestamptz,
        ADD CONSTRAINT credentials_error_is_whole CHECK (
          num_nulls(last_error_status, last_error_at, skipped_until) = CASE WHEN refusals = 0 THEN 3 ELSE 0 END)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE credentials
        DROP CONSTRAINT credentials_error_is_whole,
        DROP COLUMN key_version,
        DROP COLUMN refusals,
        DROP COLUMN last_error_status,
        DROP COLUMN last_error_at,
        DROP COLUMN skipped_until`);
  }
}
