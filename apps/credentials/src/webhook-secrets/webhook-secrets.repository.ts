import { Injectable } from '@nestjs/common';
import { Database, outcomeOfRow } from '@libs/persistence';
import type { KeyAtRest } from '../vault/credentials.repository';

export interface StoredWebhookSecret extends KeyAtRest {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
}

/** Receivers must switch to a new secret within this time. */
const OVERLAP = `interval '24 hours'`;

/** At most two rows per workspace: the current secret and the one it replaced. */
@Injectable()
export class WebhookSecretsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Makes it the current secret; the previous one works for another 24 hours, an older one ends now. The secret is
   * shown once, so if the answer to the commit is lost, it is looked up.
   */
  async replace(secret: StoredWebhookSecret): Promise<void> {
    const { id, organizationId, workspaceId, keyEncryptionKeyId, wrappedDataKey, sealedKey } = secret;
    await this.database.asTenant(secret).transaction(
      async (session) => {
        // One replacement at a time: two at once would both read the same current secret.
        await session.execute({
          sql: `SELECT pg_advisory_xact_lock(hashtextextended('webhook secret of ' || $1, 0))`,
          values: [workspaceId],
        });
        await session.execute({
          sql: 'DELETE FROM webhook_secrets WHERE workspace_id = $1 AND expires_at IS NOT NULL',
          values: [workspaceId],
        });
        await session.execute({
          sql: `UPDATE webhook_secrets SET expires_at = now() + ${OVERLAP} WHERE workspace_id = $1`,
          values: [workspaceId],
        });
        await session.execute({
          sql: `INSERT INTO webhook_secrets
                (id, organization_id, workspace_id, key_encryption_key_id, wrapped_data_key, sealed_key)
              VALUES ($1, $2, $3, $4, $5, $6)`,
          values: [id, organizationId, workspaceId, keyEncryptionKeyId, wrappedDataKey, sealedKey],
        });
      },
      outcomeOfRow('webhook_secrets', 'id', id),
    );
  }

  /** Returns the secrets that sign now, the current one first. Deletes an expired one. */
  async findLive(organizationId: string, workspaceId: string): Promise<StoredWebhookSecret[]> {
    return this.database.asTenant({ organizationId, workspaceId }).rows<StoredWebhookSecret>({
      name: 'webhook-secrets-live',
      sql: `
        WITH over AS (DELETE FROM webhook_secrets WHERE workspace_id = $2 AND expires_at <= now())
        SELECT id, organization_id AS "organizationId", workspace_id AS "workspaceId",
               key_encryption_key_id AS "keyEncryptionKeyId", wrapped_data_key AS "wrappedDataKey",
               sealed_key AS "sealedKey"
        FROM webhook_secrets
        WHERE organization_id = $1 AND workspace_id = $2 AND (expires_at IS NULL OR expires_at > now())
        ORDER BY expires_at DESC NULLS FIRST`,
      values: [organizationId, workspaceId],
    });
  }

  /** Returns the ids among `workspaceIds` that have a secret. */
  async findSigning(organizationId: string, workspaceIds: readonly string[]): Promise<string[]> {
    const rows = await this.database.asOrganization({ organizationId }).rows<{ id: string }>({
      name: 'webhook-secrets-signing',
      sql: `SELECT workspace_id AS id FROM webhook_secrets
            WHERE organization_id = $1 AND workspace_id = ANY($2::uuid[]) AND expires_at IS NULL`,
      values: [organizationId, workspaceIds],
    });
    return rows.map(({ id }) => id);
  }
}
