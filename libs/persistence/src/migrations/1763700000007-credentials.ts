import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Callers' own provider keys, encrypted. The table belongs to the credentials app, and no other app can read the keys:
 * the keys that decrypt them are outside of the database.
 *
 * A deleted credential keeps its row and loses its key: both the ciphertext and the data key that encrypted it.
 */
export class Credentials1763700000007 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE credentials (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        workspace_id uuid NOT NULL,
        provider text NOT NULL,
        name text,
        label text NOT NULL,
        disabled boolean NOT NULL DEFAULT false,
        is_byok_only boolean NOT NULL DEFAULT false,
        is_fallback boolean NOT NULL DEFAULT false,
        is_required boolean NOT NULL DEFAULT false,
        allowed_api_key_hashes text[],
        allowed_models text[],
        allowed_user_ids text[],
        declared_region text,
        declared_zdr boolean,
        key_region text,
        sort_order integer NOT NULL,
        key_encryption_key_id text,
        wrapped_data_key bytea,
        sealed_key text,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz,
        deleted_at timestamptz,
        CONSTRAINT credentials_pkey PRIMARY KEY (id),
        CONSTRAINT credentials_name_length CHECK (char_length(name) BETWEEN 1 AND 255),
        CONSTRAINT credentials_region_known CHECK (declared_region IN ('global', 'europe', 'us')),
        CONSTRAINT credentials_sections_apart CHECK (NOT (is_fallback AND is_byok_only)),
        CONSTRAINT credentials_sort_order_counts CHECK (sort_order >= 0),
        CONSTRAINT credentials_key_while_living CHECK ((deleted_at IS NULL) = (sealed_key IS NOT NULL)),
        CONSTRAINT credentials_key_is_whole CHECK (
          num_nulls(key_encryption_key_id, wrapped_data_key, sealed_key) IN (0, 3))
      )`);
    await runner.query(
      `CREATE UNIQUE INDEX credentials_order_once ON credentials (workspace_id, provider, is_fallback, sort_order)
       WHERE deleted_at IS NULL`,
    );
    await runner.query(
      `CREATE INDEX credentials_by_key_encryption_key ON credentials (key_encryption_key_id, id)
       WHERE deleted_at IS NULL`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE credentials');
  }
}
