import type { ApiKeyKind, LimitReset, RoutingPolicy } from '@libs/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { OrganizationEntity } from './organization.entity';
import { WorkspaceEntity } from './workspace.entity';

@Entity({ name: 'api_keys' })
@ForeignKey(() => OrganizationEntity, ['organizationId'], ['id'], { name: 'api_keys_organization' })
@ForeignKey(() => WorkspaceEntity, ['workspaceId', 'organizationId'], ['id', 'organizationId'], {
  name: 'api_keys_workspace',
})
@Unique('api_keys_id_once', ['id'])
@Check('api_keys_hash_shape', `hash ~ '^[0-9a-f]{64}$'`)
@Check('api_keys_kind_known', `kind IN ('api', 'management')`)
@Check('api_keys_place_of_kind', `(kind = 'api') = (workspace_id IS NOT NULL)`)
@Check('api_keys_management_spends_nothing', `kind = 'api' OR (limit_usd IS NULL AND limit_reset IS NULL)`)
@Check('api_keys_name_length', 'char_length(name) BETWEEN 1 AND 200')
@Check('api_keys_label_length', 'char_length(label) BETWEEN 1 AND 80')
@Check('api_keys_limit_not_negative', 'limit_usd >= 0')
@Check('api_keys_limit_reset_known', `limit_reset IN ('daily', 'weekly', 'monthly')`)
@Index('api_keys_by_organization', { synchronize: false })
@Index('api_keys_by_workspace', { synchronize: false })
@Index('api_keys_by_secret', { synchronize: false })
@Index('api_keys_by_previous_secret', { synchronize: false })
export class ApiKeyEntity {
  /** Names the key for good; also the hash of its secret until it is rotated for the first time. */
  @PrimaryColumn({ type: 'character', length: 64, primaryKeyConstraintName: 'api_keys_pkey' })
  hash: string;

  @Column({ type: 'uuid' })
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  /** Null exactly for a management key. */
  @Column({ type: 'uuid', name: 'workspace_id', nullable: true })
  workspaceId: string | null;

  @Column({ type: 'text' })
  kind: ApiKeyKind;

  @Column({ type: 'text' })
  name: string;

  @Column({ type: 'text' })
  label: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'limit_usd', nullable: true })
  limitUsd: string | null;

  @Column({ type: 'text', name: 'limit_reset', nullable: true })
  limitReset: LimitReset | null;

  @Column({ type: 'boolean', name: 'include_byok_in_limit', default: false })
  includeByokInLimit: boolean;

  @Column({ type: 'boolean', default: false })
  disabled: boolean;

  @Column({ type: 'timestamptz', name: 'expires_at', nullable: true })
  expiresAt: Date | null;

  @Column({ type: 'text', name: 'creator_user_id', nullable: true })
  creatorUserId: string | null;

  @Column({ type: 'jsonb', nullable: true })
  policy: RoutingPolicy | null;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', nullable: true })
  updatedAt: Date | null;

  /** Set permanently: the hash stays taken and never works again. */
  @Column({ type: 'timestamptz', name: 'deleted_at', nullable: true })
  deletedAt: Date | null;

  /** Hash of the current secret; null for a key that was never rotated. */
  @Column({ type: 'character', length: 64, name: 'secret_hash', nullable: true })
  secretHash: string | null;

  /** Hash of the previous secret, which works until `previousSecretUntil`. */
  @Column({ type: 'character', length: 64, name: 'previous_secret_hash', nullable: true })
  previousSecretHash: string | null;

  @Column({ type: 'timestamptz', name: 'previous_secret_until', nullable: true })
  previousSecretUntil: Date | null;

  /** Id of the last rotation, if its request may be sent again. */
  @Column({ type: 'uuid', name: 'rotation_id', nullable: true })
  rotationId: string | null;
}
