import type { RoutingPolicy, WorkspaceSettings } from '@libs/contracts';
import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import { OrganizationEntity } from './organization.entity';

@Entity({ name: 'workspaces' })
@ForeignKey(() => OrganizationEntity, ['organizationId'], ['id'], { name: 'workspaces_organization' })
@Unique('workspaces_of_organization', ['id', 'organizationId'])
@Check('workspaces_name_length', 'char_length(name) BETWEEN 1 AND 100')
@Check('workspaces_slug_shape', `char_length(slug) <= 50 AND slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'`)
@Check('workspaces_description_length', 'char_length(description) <= 500')
@Check('workspaces_callback_url_length', 'char_length(default_callback_url) <= 2048')
@Check('workspaces_default_is_kept', 'NOT (is_default AND deleted_at IS NOT NULL)')
@Index('workspaces_slug_once', { synchronize: false })
@Index('workspaces_one_default', { synchronize: false })
export class WorkspaceEntity {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'workspaces_pkey' })
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'text' })
  name: string;

  /** Unique among the organization's workspaces that are not deleted. */
  @Column({ type: 'text' })
  slug: string;

  @Column({ type: 'boolean', name: 'is_default', default: false })
  isDefault: boolean;

  @Column({ type: 'text', nullable: true })
  description: string | null;

  /** Default webhook URL for batches and videos. */
  @Column({ type: 'text', name: 'default_callback_url', nullable: true })
  defaultCallbackUrl: string | null;

  @Column({ type: 'jsonb', nullable: true })
  policy: RoutingPolicy | null;

  /** Only the settings that were made. */
  @Column({ type: 'jsonb', default: {} })
  settings: WorkspaceSettings;

  @Column({ type: 'boolean', name: 'include_byok_in_budgets', default: false })
  includeByokInBudgets: boolean;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', nullable: true })
  updatedAt: Date | null;

  @Column({ type: 'timestamptz', name: 'deleted_at', nullable: true })
  deletedAt: Date | null;
}
