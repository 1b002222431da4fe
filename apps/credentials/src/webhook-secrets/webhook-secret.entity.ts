import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** What a workspace's webhooks are signed with, or were until it was replaced. */
@Entity({ name: 'webhook_secrets' })
@Index('webhook_secrets_one_current', { synchronize: false })
@Index('webhook_secrets_by_workspace', ['workspaceId'])
@Index('webhook_secrets_by_key_encryption_key', ['keyEncryptionKeyId', 'id'])
export class WebhookSecretEntity {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'webhook_secrets_pkey' })
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'uuid', name: 'workspace_id' })
  workspaceId: string;

  @Column({ type: 'text', name: 'key_encryption_key_id' })
  keyEncryptionKeyId: string;

  @Column({ type: 'bytea', name: 'wrapped_data_key' })
  wrappedDataKey: Buffer;

  @Column({ type: 'text', name: 'sealed_key' })
  sealedKey: string;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  /** Until when it signs beside the one that replaced it; null while it is the current one. */
  @Column({ type: 'timestamptz', name: 'expires_at', nullable: true })
  expiresAt: Date | null;
}
