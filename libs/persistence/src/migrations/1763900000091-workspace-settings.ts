import type { MigrationInterface, QueryRunner } from 'typeorm';
import { guardTenantRows, OF_ORGANIZATION_OR_WORKSPACE } from './tenant-policy';

/** Settings, budgets and members of workspaces. */
export class WorkspaceSettings1763900000091 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE workspaces ADD COLUMN settings jsonb NOT NULL DEFAULT '{}',
        ADD COLUMN include_byok_in_budgets boolean NOT NULL DEFAULT false`);
    await runner.query(`
      CREATE TABLE workspace_budgets (
        workspace_id uuid NOT NULL,
        organization_id uuid NOT NULL,
        interval text NOT NULL,
        id uuid NOT NULL,
        limit_usd numeric(38,12) NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT workspace_budgets_pkey PRIMARY KEY (workspace_id, interval),
        CONSTRAINT workspace_budgets_interval_known CHECK (interval IN ('daily', 'weekly', 'monthly', 'lifetime')),
        CONSTRAINT workspace_budgets_limit_positive CHECK (limit_usd > 0),${ofWorkspace('workspace_budgets')}
      )`);
    await runner.query(`
      CREATE TABLE workspace_members (
        workspace_id uuid NOT NULL,
        organization_id uuid NOT NULL,
        user_id text NOT NULL,
        id uuid NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT workspace_members_pkey PRIMARY KEY (workspace_id, user_id),
        CONSTRAINT workspace_members_user_id_length CHECK (char_length(user_id) BETWEEN 1 AND 200),${ofWorkspace('workspace_members')}
      )`);
    const rules = { owned: OF_ORGANIZATION_OR_WORKSPACE };
    await guardTenantRows(runner, 'workspace_budgets', { ...rules, granted: 'SELECT, INSERT, UPDATE, DELETE' });
    await guardTenantRows(runner, 'workspace_members', { ...rules, granted: 'SELECT, INSERT, DELETE' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE workspace_members');
    await runner.query('DROP TABLE workspace_budgets');
    await runner.query('ALTER TABLE workspaces DROP COLUMN include_byok_in_budgets, DROP COLUMN settings');
  }
}

function ofWorkspace(table: string): string {
  return `
        CONSTRAINT ${table}_workspace FOREIGN KEY (workspace_id, organization_id) REFERENCES workspaces (id, organization_id)`;
}
