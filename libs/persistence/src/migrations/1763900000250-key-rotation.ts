import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the secrets of a key. `hash` stays the name of the key; until the first rotation it is also the hash of its secret.
 * The change feed reports the new columns, because it reports every column that is not on its list of exceptions.
 */
export class KeyRotation1763900000250 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE api_keys
        ADD COLUMN secret_hash character(64),
        ADD COLUMN previous_secret_hash character(64),
        ADD COLUMN previous_secret_until timestamptz,
        ADD COLUMN rotation_id uuid`);
    await runner.query(
      'CREATE UNIQUE INDEX api_keys_by_secret ON api_keys (secret_hash) WHERE secret_hash IS NOT NULL',
    );
    await runner.query(
      'CREATE INDEX api_keys_by_previous_secret ON api_keys (previous_secret_hash) WHERE previous_secret_hash IS NOT NULL',
    );
  }

  /** A key that was rotated would work again with its first secret, which may have leaked, so it is disabled. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('UPDATE api_keys SET disabled = true WHERE secret_hash IS NOT NULL');
    await runner.query('SET CONSTRAINTS ALL IMMEDIATE');
    await runner.query(`
      ALTER TABLE api_keys DROP COLUMN rotation_id, DROP COLUMN previous_secret_until, DROP COLUMN previous_secret_hash,
        DROP COLUMN secret_hash`);
  }
}
