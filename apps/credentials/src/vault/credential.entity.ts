import type { CredentialRegion } from '@libs/contracts';
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

@Entity({ name: 'credentials' })
@Check('credentials_name_length', 'char_length(name) BETWEEN 1 AND 255')
@Check('credentials_region_known', `declared_region IN ('global', 'europe', 'us')`)
@Check('credentials_sections_apart', 'NOT (is_fallback AND is_byok_only)')
@Check('credentials_sort_order_counts', 'sort_order >= 0')
@Check('credentials_key_while_living', '(deleted_at IS NULL) = (sealed_key IS NOT NULL)')
@Check('credentials_key_is_whole', 'num_nulls(key_encryption_key_id, wrapped_data_key, sealed_key) IN (0, 3)')
@Check(
  'credentials_error_is_whole',
  'num_nulls(last_error_status, last_error_at, skipped_until) = CASE WHEN refusals = 0 THEN 3 ELSE 0 END',
)
@Index('credentials_order_once', { synchronize: false })
@Index('credentials_by_key_encryption_key', { synchronize: false })
export class CredentialEntity {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'credentials_pkey' })
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'uuid', name: 'workspace_id' })
  workspaceId: string;

  @Column({ type: 'text' })
  provider: string;

  @Column({ type: 'text', nullable: true })
  name: string | null;

  @Column({ type: 'text' })
  label: string;

  @Column({ type: 'boolean', default: false })
  disabled: boolean;

  @Column({ type: 'boolean', name: 'is_byok_only', default: false })
  isByokOnly: boolean;

  @Column({ type: 'boolean', name: 'is_fallback', default: false })
  isFallback: boolean;

  @Column({ type: 'boolean', name: 'is_required', default: false })
  isRequired: boolean;

  @Column({ type: 'text', array: true, name: 'allowed_api_key_hashes', nullable: true })
  allowedApiKeyHashes: string[] | null;

  @Column({ type: 'text', array: true, name: 'allowed_models', nullable: true })
  allowedModels: string[] | null;

  @Column({ type: 'text', array: true, name: 'allowed_user_ids', nullable: true })
  allowedUserIds: string[] | null;

  @Column({ type: 'text', name: 'declared_region', nullable: true })
  declaredRegion: CredentialRegion | null;

  @Column({ type: 'boolean', name: 'declared_zdr', nullable: true })
  declaredZdr: boolean | null;

  /** The region that the key itself names. */
  @Column({ type: 'text', name: 'key_region', nullable: true })
  keyRegion: CredentialRegion | null;

  @Column({ type: 'integer', name: 'sort_order' })
  sortOrder: number;

  /** This and the next two are null exactly if the credential is deleted. */
  @Column({ type: 'text', name: 'key_encryption_key_id', nullable: true })
  keyEncryptionKeyId: string | null;

  @Column({ type: 'bytea', name: 'wrapped_data_key', nullable: true })
  wrappedDataKey: Buffer | null;

  @Column({ type: 'text', name: 'sealed_key', nullable: true })
  sealedKey: string | null;

  /** Counts the keys that this row has held, so that a verdict on one is never applied to another. */
  @Column({ type: 'integer', name: 'key_version', default: 1 })
  keyVersion: number;

  /** Refusals by the provider since it last accepted the key. If 0, the next three fields are null. */
  @Column({ type: 'integer', default: 0 })
  refusals: number;

  /** 401 or 403. */
  @Column({ type: 'smallint', name: 'last_error_status', nullable: true })
  lastErrorStatus: number | null;

  @Column({ type: 'timestamptz', name: 'last_error_at', nullable: true })
  lastErrorAt: Date | null;

  /** Calls skip the key until then. */
  @Column({ type: 'timestamptz', name: 'skipped_until', nullable: true })
  skippedUntil: Date | null;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', nullable: true })
  updatedAt: Date | null;

  @Column({ type: 'timestamptz', name: 'deleted_at', nullable: true })
  deletedAt: Date | null;
}
