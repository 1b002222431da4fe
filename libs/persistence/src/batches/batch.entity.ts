import type { BatchSnapshot } from '@libs/contracts';
import { Check, Column, Entity, Generated, Index, PrimaryColumn, Unique } from 'typeorm';
import type { StoredQuote } from './batch-quote';

/** Interface §3.1, and `receiving`: the upload is still running and nobody sees the batch. */
export type BatchStatus = BatchSnapshot['status'] | 'receiving';

/** How a batch ends that does not run to its last line. */
export type BatchEnding = 'cancelled' | 'expired' | 'failed';

/**
 * `due`: a provider holds a batch that must be deleted there before ours is. `requested`: a worker is to do it
 * now. The others are the provider's answer; after `refused` it may be requested again.
 */
export type UpstreamDeletion = 'due' | 'requested' | 'deleted' | 'unsupported' | 'refused' | 'unreachable';

@Entity({ name: 'batches' })
@Unique('batches_number_key', ['number'])
@Check(
  'batches_status_known',
  `status IN ('receiving', 'validating', 'in_progress', 'finalizing', 'completed', 'failed', 'expired', 'cancelling', 'cancelled')`,
)
@Check(
  'batches_terminal_is_finalized',
  `(status IN ('completed', 'failed', 'expired', 'cancelled')) = (finalized_at IS NOT NULL)
    AND (finalized_at IS NULL OR (completed IS NOT NULL AND failed IS NOT NULL))`,
)
@Check('batches_ends_as_known', `ends_as IN ('cancelled', 'expired', 'failed')`)
@Check('batches_stop_has_an_end', `(ends_as IS NULL) = (stop_by IS NULL)`)
@Check('batches_cancelling_ends_cancelled', `status <> 'cancelling' OR coalesce(ends_as, '') = 'cancelled'`)
@Check('batches_deleted_is_finalized', `deleted_at IS NULL OR finalized_at IS NOT NULL`)
@Check(
  'batches_upstream_deletion_known',
  `upstream_deletion IN ('due', 'requested', 'deleted', 'unsupported', 'refused', 'unreachable')`,
)
@Index('batches_by_workspace', { synchronize: false })
@Index('batches_unfinished', { synchronize: false })
@Index('batches_stopping', { synchronize: false })
@Index('batches_in_turn', { synchronize: false })
@Index('batches_quoted', { synchronize: false })
@Index('batches_keyed', { synchronize: false })
@Index('batches_removal_requested', { synchronize: false })
@Index('batches_idempotency_key', ['workspaceId', 'idempotencyKey'], {
  unique: true,
  where: 'idempotency_key IS NOT NULL',
})
export class BatchEntity {
  @PrimaryColumn({ type: 'text' })
  id: string;

  /** Small key of the bulk tables. */
  @Column({ type: 'bigint' })
  @Generated('increment')
  number: string;

  /** UTC day of creation: the partition of the batch's bulk rows. */
  @Column({ type: 'date', name: 'created_on' })
  createdOn: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'uuid', name: 'workspace_id' })
  workspaceId: string;

  @Column({ type: 'character', length: 64, name: 'api_key_hash' })
  apiKeyHash: string;

  @Column({ type: 'text' })
  endpoint: string;

  /** As the caller sent it. */
  @Column({ type: 'text' })
  model: string;

  /** The one provider the batch runs on, and what the model is called there. */
  @Column({ type: 'text', nullable: true })
  provider: string | null;

  @Column({ type: 'text', name: 'upstream_model', nullable: true })
  upstreamModel: string | null;

  /** The caller's own key that its lines were to be called with first when it was accepted; null for the operator's. */
  @Column({ type: 'uuid', name: 'credential_id', nullable: true })
  credentialId: string | null;

  /** The fee alone was reserved for it: no key of the operator's may take the place of its owner's. */
  @Column({ type: 'boolean', name: 'own_keys_only', default: false })
  ownKeysOnly: boolean;

  /** A policy forbids its provider to keep anything, so it is no batch there. */
  @Column({ type: 'boolean', name: 'leaves_nothing', default: false })
  leavesNothing: boolean;

  @Column({ type: 'text', name: 'completion_window', default: '24h' })
  completionWindow: string;

  /** Where its end is announced: the caller's, or the workspace's own at submission; null for nowhere. */
  @Column({ type: 'text', name: 'callback_url', nullable: true })
  callbackUrl: string | null;

  @Column({ type: 'text' })
  status: BatchStatus;

  @Column({ type: 'integer', default: 0 })
  total: number;

  /** Frozen at the terminal status; until then the segments know. */
  @Column({ type: 'integer', nullable: true })
  completed: number | null;

  @Column({ type: 'integer', nullable: true })
  failed: number | null;

  @Column({ type: 'jsonb', nullable: true })
  usage: object | null;

  @Column({ type: 'text', name: 'error_message', nullable: true })
  errorMessage: string | null;

  /** The caller's name for this submission, kept for 24 hours. */
  @Column({ type: 'text', name: 'idempotency_key', nullable: true })
  idempotencyKey: string | null;

  /** SHA-256 of the submitted body, hex, where there is an idempotency key. */
  @Column({ type: 'character', length: 64, name: 'request_hash', nullable: true })
  requestHash: string | null;

  @Column({ type: 'bigint', default: 0 })
  fence: string;

  @Column({ type: 'timestamptz', name: 'lease_until', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'in_progress_at', nullable: true })
  inProgressAt: Date | null;

  @Column({ type: 'timestamptz', name: 'finalizing_at', nullable: true })
  finalizingAt: Date | null;

  @Column({ type: 'timestamptz', name: 'finalized_at', nullable: true })
  finalizedAt: Date | null;

  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt: Date;

  /** Set once the batch is to end otherwise than by its last line: no line is begun from then on. */
  @Column({ type: 'text', name: 'ends_as', nullable: true })
  endsAs: BatchEnding | null;

  /** Until when lines in flight may still come to their results. */
  @Column({ type: 'timestamptz', name: 'stop_by', nullable: true })
  stopBy: Date | null;

  /** Its owner removed it: requests and results are gone, the row is kept for the books. */
  @Column({ type: 'timestamptz', name: 'deleted_at', nullable: true })
  deletedAt: Date | null;

  /** What becomes of the batch that a provider holds for us; null when no provider holds one. */
  @Column({ type: 'text', name: 'upstream_deletion', nullable: true })
  upstreamDeletion: UpstreamDeletion | null;

  /** When a worker was asked last to have it deleted there. */
  @Column({ type: 'timestamptz', name: 'upstream_requested_at', nullable: true })
  upstreamRequestedAt: Date | null;

  /** Its lines cost more than was estimated: workers reserve money for them before they begin. */
  @Column({ type: 'boolean', name: 'is_metered', default: false })
  isMetered: boolean;

  /** What its caller was told that it would cost and take. */
  @Column({ type: 'jsonb', nullable: true })
  quote: StoredQuote | null;
}
