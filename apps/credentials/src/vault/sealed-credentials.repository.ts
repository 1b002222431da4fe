import { Injectable } from '@nestjs/common';
import type { OwnCredentialRecord } from '@libs/contracts';
import { Database } from '@libs/persistence';
import type { KeyAtRest } from './credentials.repository';
import type { WebhookSecretIdentity } from './envelope-cipher';

/** Everything that is needed to decrypt a credential. */
export interface StoredKey extends KeyAtRest {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly provider: string;
}

export interface UsableKey extends StoredKey {
  readonly keyVersion: number;
  readonly wasRefused: boolean;
  readonly allowedApiKeyHashes: readonly string[] | null;
}

/** A key or a webhook secret, as the rotation of key-encryption keys sees it. */
export type StoredSecret = StoredKey | (KeyAtRest & WebhookSecretIdentity);

/** A data key that was wrapped again. */
export interface Rewrapping {
  readonly id: string;
  readonly before: Buffer;
  readonly after: Buffer;
}

interface WrappedRow extends Omit<StoredKey, 'provider'> {
  /** Null for a webhook secret. */
  readonly provider: string | null;
}

interface OwnRow extends OwnCredentialRecord {
  readonly totalCount: number;
}

const KEY_COLUMNS = `id, organization_id AS "organizationId", workspace_id AS "workspaceId", provider,
  key_encryption_key_id AS "keyEncryptionKeyId", wrapped_data_key AS "wrappedDataKey", sealed_key AS "sealedKey"`;

/** The statements for requests, and those for the rotation of key-encryption keys. */
@Injectable()
export class SealedCredentialsRepository {
  constructor(private readonly database: Database) {}

  /** Returns the enabled credentials from the offset on. */
  async findOwn(
    organizationId: string,
    workspaceId: string,
    offset: number,
    limit: number,
  ): Promise<{ credentials: OwnCredentialRecord[]; totalCount: number }> {
    const rows = await this.database.asTenant({ organizationId, workspaceId }).rows<OwnRow>({
      name: 'find-own-credentials',
      sql: `
        SELECT id, provider, sort_order AS "sortOrder", disabled AS "isDisabled", is_fallback AS "isFallback",
               is_byok_only AS "isByokOnly", is_required AS "isRequired", allowed_models AS "allowedModels",
               allowed_api_key_hashes AS "allowedApiKeyHashes", allowed_user_ids AS "allowedUserIds",
               declared_zdr AS "declaredZdr", declared_region AS "declaredRegion",
               CASE WHEN skipped_until > now()
                    THEN ceil(extract(epoch FROM skipped_until - now()) * 1000)::integer END AS "refusedForMs",
               last_error_at IS NOT NULL AS "wasRefused", (count(*) OVER ())::integer AS "totalCount"
        FROM credentials
        WHERE organization_id = $1 AND workspace_id = $2 AND deleted_at IS NULL AND NOT disabled
        ORDER BY provider, is_fallback, sort_order OFFSET $3 LIMIT $4`,
      values: [organizationId, workspaceId, offset, limit],
    });
    const totalCount = rows[0]?.totalCount ?? 0;
    return { credentials: rows.map(toRecord), totalCount };
  }

  /**
   * Returns a sealed credential and the facts that decide about its use; null if it is unknown, of another tenant,
   * disabled or deleted.
   */
  async findUsable(organizationId: string, workspaceId: string, id: string): Promise<UsableKey | null> {
    return this.database.asTenant({ organizationId, workspaceId }).firstRow<UsableKey>({
      name: 'find-usable-credential',
      sql: `
        SELECT ${KEY_COLUMNS}, allowed_api_key_hashes AS "allowedApiKeyHashes", key_version AS "keyVersion",
               last_error_at IS NOT NULL AS "wasRefused"
        FROM credentials
        WHERE id = $1 AND organization_id = $2 AND workspace_id = $3 AND deleted_at IS NULL AND NOT disabled`,
      values: [id, organizationId, workspaceId],
    });
  }

  /**
   * Returns a page of keys and webhook secrets that are wrapped with another key than this, in the order of the ids.
   */
  async findWrappedOtherwise(keyId: string, afterId: string | null, limit: number): Promise<StoredSecret[]> {
    const rows = await this.database.rows<WrappedRow>({
      sql: `
        SELECT * FROM (
          SELECT ${KEY_COLUMNS} FROM credentials WHERE deleted_at IS NULL AND key_encryption_key_id <> $1
          UNION ALL
          SELECT id, organization_id, workspace_id, NULL, key_encryption_key_id, wrapped_data_key, sealed_key
          FROM webhook_secrets WHERE key_encryption_key_id <> $1
        ) s WHERE ($2::uuid IS NULL OR id > $2) ORDER BY id LIMIT $3`,
      values: [keyId, afterId, limit],
    });
    return rows.map(({ provider, ...row }) =>
      provider === null ? { ...row, kind: 'webhook-secret' } : { ...row, provider },
    );
  }

  async countWrappedOtherwise(keyId: string): Promise<number> {
    const row = await this.database.firstRow<{ count: number }>({
      sql: `SELECT ((SELECT count(*) FROM credentials WHERE deleted_at IS NULL AND key_encryption_key_id <> $1)
                 + (SELECT count(*) FROM webhook_secrets WHERE key_encryption_key_id <> $1))::integer AS count`,
      values: [keyId],
    });
    return row?.count ?? 0;
  }

  /**
   * Replaces wrapped data keys that are unchanged; one whose key was changed or deleted meanwhile is skipped. Both
   * columns change together, so at any moment one key-encryption key can decrypt a row.
   * @returns how many were replaced
   */
  async rewrap(keyId: string, rewrappings: readonly Rewrapping[]): Promise<number> {
    if (rewrappings.length === 0) return 0;
    const asHex = (bytes: Buffer): string => bytes.toString('hex');
    const row = await this.database.firstRow<{ count: number }>({
      sql: `
        WITH r AS (SELECT * FROM unnest($2::uuid[], $3::text[], $4::text[]) AS r(id, before, after)),
        keys AS (
          UPDATE credentials c SET key_encryption_key_id = $1, wrapped_data_key = decode(r.after, 'hex')
          FROM r WHERE c.id = r.id AND c.wrapped_data_key = decode(r.before, 'hex') RETURNING 1
        ), secrets AS (
          UPDATE webhook_secrets w SET key_encryption_key_id = $1, wrapped_data_key = decode(r.after, 'hex')
          FROM r WHERE w.id = r.id AND w.wrapped_data_key = decode(r.before, 'hex') RETURNING 1
        )
        SELECT ((SELECT count(*) FROM keys) + (SELECT count(*) FROM secrets))::integer AS count`,
      values: [
        keyId,
        rewrappings.map(({ id }) => id),
        rewrappings.map(({ before }) => asHex(before)),
        rewrappings.map(({ after }) => asHex(after)),
      ],
    });
    return row?.count ?? 0;
  }
}

/** Returns the record, with `refusedForMs` and `wasRefused` only for a key that its provider refused. */
function toRecord({ totalCount: _all, refusedForMs, wasRefused, ...credential }: OwnRow): OwnCredentialRecord {
  return { ...credential, ...(wasRefused && { wasRefused }), ...(refusedForMs && { refusedForMs }) };
}
