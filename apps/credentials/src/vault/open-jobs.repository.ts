import { Injectable } from '@nestjs/common';
import { Database } from '@libs/persistence';

export interface Tenant {
  readonly organizationId: string;
  readonly workspaceId: string;
}

export interface KeyOfTenant extends Tenant {
  /** Id of the credential. */
  readonly id: string;
  readonly apiKeyHash: string | null;
}

/**
 * Checks whether there is work for which a worker needs a key: a worker under an attacker's control gets only the keys
 * of workspaces with open jobs. The tables are read and never written here.
 */
@Injectable()
export class OpenJobsRepository {
  constructor(private readonly database: Database) {}

  /**
   * A batch of that API key that is not over, or was to be deleted at its provider within the last day, or an order that
   * is not over. Its owner may ask for the deletion again.
   */
  async hasBatch({ organizationId, workspaceId, apiKeyHash }: KeyOfTenant): Promise<boolean> {
    const own = 'organization_id = $1 AND workspace_id = $2 AND api_key_hash = $3';
    return this.#isSo({
      name: 'has-open-batch',
      sql: `SELECT EXISTS (SELECT FROM batches WHERE ${own} AND finalized_at IS NULL)
                OR EXISTS (SELECT FROM native_batches WHERE ${own} AND state <> 'done')
                OR EXISTS (SELECT FROM batches WHERE ${own} AND upstream_deletion = 'requested'
                  AND deleted_at IS NULL
                  AND coalesce(upstream_requested_at, finalized_at) > now() - interval '1 day') AS "isSo"`,
      values: [organizationId, workspaceId, apiKeyHash],
    });
  }

  /** A video of that API key that is not over and is made with this credential. */
  async hasVideo({ organizationId, workspaceId, id, apiKeyHash }: KeyOfTenant): Promise<boolean> {
    return this.#isSo({
      name: 'has-open-video',
      sql: `SELECT EXISTS (SELECT FROM videos WHERE organization_id = $1 AND workspace_id = $2 AND credential_id = $3
              AND api_key_hash = $4 AND finished_at IS NULL) AS "isSo"`,
      values: [organizationId, workspaceId, id, apiKeyHash],
    });
  }

  /** Returns whether the workspace has a webhook that was neither delivered nor given up. */
  async hasWebhook({ organizationId, workspaceId }: Tenant): Promise<boolean> {
    return this.#isSo({
      name: 'has-open-webhook',
      sql: `SELECT EXISTS (SELECT FROM webhook_deliveries WHERE organization_id = $1 AND workspace_id = $2
              AND delivered_at IS NULL AND given_up_at IS NULL) AS "isSo"`,
      values: [organizationId, workspaceId],
    });
  }

  async #isSo(query: { name: string; sql: string; values: readonly (string | null)[] }): Promise<boolean> {
    const row = await this.database.firstRow<{ isSo: boolean }>({ ...query, values: [...query.values] });
    return row?.isSo === true;
  }
}
