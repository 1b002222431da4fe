import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

const PRIMARY_KEY = 'idempotency_keys_pkey';

/** A request that its caller may repeat, and what was answered. */
@Entity({ name: 'idempotency_keys' })
@Check('idempotency_keys_hash_length', 'octet_length(key_hash) = 32 AND octet_length(request_digest) = 32')
@Index('idempotency_keys_by_age', ['createdAt'])
export class IdempotencyKeyEntity {
  @PrimaryColumn({ type: 'uuid', name: 'organization_id', primaryKeyConstraintName: PRIMARY_KEY })
  organizationId: string;

  /** Method and path. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: PRIMARY_KEY })
  route: string;

  /** SHA-256 of the caller's key. */
  @PrimaryColumn({ type: 'bytea', name: 'key_hash', primaryKeyConstraintName: PRIMARY_KEY })
  keyHash: Buffer;

  @Column({ type: 'bytea', name: 'request_digest' })
  requestDigest: Buffer;

  /** What the request makes is made under this id, however often it is tried. */
  @Column({ type: 'uuid', name: 'effect_id' })
  effectId: string;

  /** The fence: only the latest attempt may write. */
  @Column({ type: 'integer', default: 1 })
  attempt: number;

  /** Until when the attempt counts as running; null when it is over. */
  @Column({ type: 'timestamptz', name: 'lease_until', nullable: true })
  leaseUntil: Date | null;

  /** JSON, sealed where it holds a secret; null until there is one. */
  @Column({ type: 'bytea', nullable: true })
  answer: Buffer | null;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;
}
