import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** An event and how far its delivery is. Pending: neither delivered nor given up. */
@Entity({ name: 'webhook_deliveries' })
@Check('webhook_deliveries_one_end', 'num_nonnulls(delivered_at, given_up_at) <= 1')
@Check('webhook_deliveries_attempts_count', 'attempts >= 0')
@Index('webhook_deliveries_pending', { synchronize: false })
@Index('webhook_deliveries_ended', { synchronize: false })
@Index('webhook_deliveries_owed', { synchronize: false })
export class WebhookDeliveryEntity {
  /** Of the event, the same for every attempt: `<id of what ended>-<its status>`. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'webhook_deliveries_pkey' })
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'uuid', name: 'workspace_id' })
  workspaceId: string;

  @Column({ type: 'text' })
  url: string;

  /** Of the URL, with its port: what attempts are counted by. */
  @Column({ type: 'text' })
  host: string;

  /** Such as `batch.completed`. */
  @Column({ type: 'text' })
  type: string;

  /** The event's `data`. Plain json and not jsonb: every attempt must send, and sign, the same bytes. */
  @Column({ type: 'json' })
  payload: unknown;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  /** When the operator last had it sent again, with ten attempts anew; null for never. */
  @Column({ type: 'timestamptz', name: 'redelivered_at', nullable: true })
  redeliveredAt: Date | null;

  /** That came to their end. */
  @Column({ type: 'smallint', default: 0 })
  attempts: number;

  /** Claims since the last attempt that came to its end or was given back. */
  @Column({ type: 'smallint', default: 0 })
  unfinished: number;

  @Column({ type: 'timestamptz', name: 'next_attempt_at', default: () => 'now()' })
  nextAttemptAt: Date;

  @Column({ type: 'timestamptz', name: 'lease_until', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'bigint', default: 0 })
  fence: string;

  @Column({ type: 'timestamptz', name: 'last_attempt_at', nullable: true })
  lastAttemptAt: Date | null;

  /** HTTP status of the last attempt's answer; null where there was none. */
  @Column({ type: 'smallint', name: 'last_status', nullable: true })
  lastStatus: number | null;

  /** Why the last attempt was none that counts, in words that name nothing of the URL. */
  @Column({ type: 'text', name: 'last_error', nullable: true })
  lastError: string | null;

  @Column({ type: 'timestamptz', name: 'delivered_at', nullable: true })
  deliveredAt: Date | null;

  @Column({ type: 'timestamptz', name: 'given_up_at', nullable: true })
  givenUpAt: Date | null;
}
