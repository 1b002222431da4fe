import type { MigrationInterface, QueryRunner } from 'typeorm';
import { guardTenantRows, OF_ORGANIZATION_OR_WORKSPACE } from './tenant-policy';

const FIGURES = ['total', 'day', 'week', 'month'].flatMap((figure) => [`${figure}_usd`, `byok_${figure}_usd`]);

/**
 * Spending of workspaces, in one row each, for organizations that have a budget on one of them. The rows are created
 * when the first budget is set, from what the keys have spent.
 */
export class WorkspaceSpending1763900000090 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE ledger_accounts ADD COLUMN tracks_workspaces boolean NOT NULL DEFAULT false');
    await runner.query('ALTER TABLE ledger_holds ADD COLUMN workspace_id uuid');
    for (const jobs of ['batches', 'videos']) {
      await runner.query(
        `UPDATE ledger_holds h SET workspace_id = j.workspace_id FROM ${jobs} j WHERE j.id = h.id AND h.state = 'open'`,
      );
    }
    await runner.query(`
      CREATE TABLE ledger_workspaces (
        workspace_id uuid NOT NULL,
        organization_id uuid NOT NULL,
        held_usd numeric(38,12) NOT NULL DEFAULT 0,
        spent_on date NOT NULL DEFAULT '1970-01-01',
        ${FIGURES.map((name) => `${name} numeric(38,12) NOT NULL DEFAULT 0`).join(',\n        ')},
        CONSTRAINT ledger_workspaces_pkey PRIMARY KEY (workspace_id),
        CONSTRAINT ledger_workspaces_held_not_negative CHECK (held_usd >= 0)
      ) WITH (fillfactor = 50)`);
    await guardTenantRows(runner, 'ledger_workspaces', { owned: OF_ORGANIZATION_OR_WORKSPACE });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE ledger_workspaces');
    await runner.query('ALTER TABLE ledger_holds DROP COLUMN workspace_id');
    await runner.query('ALTER TABLE ledger_accounts DROP COLUMN tracks_workspaces');
  }
}
