import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Organizations, their workspaces and the keys that act for them. The tables belong to the auth app.
 *
 * Workspaces and keys are marked as deleted and never removed: their spending keeps a name, and the hash of a deleted
 * key stays taken. A key refers to the pair of workspace and organization, so no key can belong to another tenant's
 * workspace.
 */
export class Accounts1763700000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE organizations (
        id uuid NOT NULL,
        name text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT organizations_pkey PRIMARY KEY (id),
        CONSTRAINT organizations_name_length CHECK (char_length(name) BETWEEN 1 AND 100)
      )`);
    await this.createWorkspaces(runner);
    await this.createKeys(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['api_keys', 'workspaces', 'organizations']) {
      await runner.query(`DROP TABLE ${table}`);
    }
  }

  private async createWorkspaces(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE workspaces (
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        name text NOT NULL,
        slug text NOT NULL,
        is_default boolean NOT NULL DEFAULT false,
        description text,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz,
        deleted_at timestamptz,
        CONSTRAINT workspaces_pkey PRIMARY KEY (id),
        CONSTRAINT workspaces_organization FOREIGN KEY (organization_id) REFERENCES organizations (id),
        CONSTRAINT workspaces_of_organization UNIQUE (id, organization_id),
        CONSTRAINT workspaces_name_length CHECK (char_length(name) BETWEEN 1 AND 100),
        CONSTRAINT workspaces_slug_shape CHECK (
          char_length(slug) <= 50 AND slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
        CONSTRAINT workspaces_description_length CHECK (char_length(description) <= 500),
        CONSTRAINT workspaces_default_is_kept CHECK (NOT (is_default AND deleted_at IS NOT NULL))
      )`);
    await runner.query(
      'CREATE UNIQUE INDEX workspaces_slug_once ON workspaces (organization_id, slug) WHERE deleted_at IS NULL',
    );
    await runner.query('CREATE UNIQUE INDEX workspaces_one_default ON workspaces (organization_id) WHERE is_default');
  }

  private async createKeys(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE api_keys (
        hash character(64) NOT NULL,
        id uuid NOT NULL,
        organization_id uuid NOT NULL,
        workspace_id uuid,
        kind text NOT NULL,
        name text NOT NULL,
        label text NOT NULL,
        limit_usd numeric(38,12),
        limit_reset text,
        include_byok_in_limit boolean NOT NULL DEFAULT false,
        disabled boolean NOT NULL DEFAULT false,
        expires_at timestamptz,
        creator_user_id text,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz,
        deleted_at timestamptz,
        CONSTRAINT api_keys_pkey PRIMARY KEY (hash),
        CONSTRAINT api_keys_id_once UNIQUE (id),
        CONSTRAINT api_keys_organization FOREIGN KEY (organization_id) REFERENCES organizations (id),
        CONSTRAINT api_keys_workspace FOREIGN KEY (workspace_id, organization_id)
          REFERENCES workspaces (id, organization_id),
        CONSTRAINT api_keys_hash_shape CHECK (hash ~ '^[0-9a-f]{64}$'),
        CONSTRAINT api_keys_kind_known CHECK (kind IN ('api', 'management')),
        CONSTRAINT api_keys_place_of_kind CHECK ((kind = 'api') = (workspace_id IS NOT NULL)),
        CONSTRAINT api_keys_management_spends_nothing CHECK (
          kind = 'api' OR (limit_usd IS NULL AND limit_reset IS NULL)),
        CONSTRAINT api_keys_name_length CHECK (char_length(name) BETWEEN 1 AND 200),
        CONSTRAINT api_keys_label_length CHECK (char_length(label) BETWEEN 1 AND 80),
        CONSTRAINT api_keys_limit_not_negative CHECK (limit_usd >= 0),
        CONSTRAINT api_keys_limit_reset_known CHECK (limit_reset IN ('daily', 'weekly', 'monthly'))
      )`);
    await runner.query(
      `CREATE INDEX api_keys_by_organization ON api_keys (organization_id, created_at DESC, hash)
       WHERE deleted_at IS NULL`,
    );
    await runner.query('CREATE INDEX api_keys_by_workspace ON api_keys (workspace_id) WHERE deleted_at IS NULL');
  }
}
