import { randomUUID } from 'node:crypto';
import type { Database } from '../database';
import type { WorkspaceTenant } from '../tenants/tenant';

/** Makes the key one of the organization, whosever it was, in a workspace made for it. */
export async function storeKey(database: Database, organizationId: string, apiKeyHash: string): Promise<void> {
  await storeKeyIn(database, { organizationId, workspaceId: randomUUID() }, apiKeyHash);
}

/** Makes the key one of the workspace, whosever it was; the workspace, too, where there is none yet. */
export async function storeKeyIn(
  database: Database,
  { organizationId, workspaceId }: WorkspaceTenant,
  apiKeyHash: string,
): Promise<void> {
  await database.execute({
    sql: `INSERT INTO organizations (id, name) VALUES ($1, 'A tenant') ON CONFLICT DO NOTHING`,
    values: [organizationId],
  });
  await database.execute({
    sql: `INSERT INTO workspaces (id, organization_id, name, slug) VALUES ($1, $2, 'Of a key', $3) ON CONFLICT DO NOTHING`,
    values: [workspaceId, organizationId, workspaceId],
  });
  await database.execute({
    sql: `INSERT INTO api_keys (hash, id, organization_id, workspace_id, kind, name, label)
          VALUES ($1, $2, $3, $4, 'api', 'A key', 'sk-…')
          ON CONFLICT (hash) DO UPDATE SET organization_id = excluded.organization_id, workspace_id = excluded.workspace_id`,
    values: [apiKeyHash, randomUUID(), organizationId, workspaceId],
  });
}
