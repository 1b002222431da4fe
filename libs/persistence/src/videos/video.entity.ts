import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Interface §3.2. */
export type VideoStatusName = 'pending' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'expired';

/**
 * What is to be done next while a job is open. `submitting` means that the provider may have been asked already: from
 * there only a submission that cannot become a second job may follow.
 */
export type VideoStep = 'submit' | 'submitting' | 'poll';

/** One kept video of a job. */
export interface KeptVideo {
  /** Its name in the store. */
  readonly key: string;
  readonly contentType: string;
  readonly bytes: number;
}

@Entity({ name: 'videos' })
@Check('videos_status_known', `status IN ('pending', 'in_progress', 'completed', 'failed', 'cancelled', 'expired')`)
@Check('videos_step_known', `step IN ('submit', 'submitting', 'poll')`)
@Check(
  'videos_terminal_is_finished',
  `(status IN ('completed', 'failed', 'cancelled', 'expired')) = (finished_at IS NOT NULL)`,
)
@Check('videos_polled_by_operation', `(step = 'poll') = (operation IS NOT NULL)`)
@Check('videos_request_until_submitted', `(request IS NOT NULL) = (step <> 'poll' AND finished_at IS NULL)`)
@Check('videos_kept_until', 'outputs IS NULL OR outputs_expire_at IS NOT NULL')
@Index('videos_due', { synchronize: false })
@Index('videos_kept', { synchronize: false })
@Index('videos_open', { synchronize: false })
@Index('videos_keyed', { synchronize: false })
@Index('videos_in_review', { synchronize: false })
@Index('videos_idempotency_key', ['workspaceId', 'idempotencyKey'], {
  unique: true,
  where: 'idempotency_key IS NOT NULL',
})
export class VideoEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'videos_pkey' })
  id: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'uuid', name: 'workspace_id' })
  workspaceId: string;

  @Column({ type: 'character', length: 64, name: 'api_key_hash' })
  apiKeyHash: string;

  @Column({ type: 'text' })
  model: string;

  /** Slug. The next four name the endpoint and the key that the job stays with. */
  @Column({ type: 'text' })
  provider: string;

  @Column({ type: 'text', name: 'upstream_model' })
  upstreamModel: string;

  @Column({ type: 'text' })
  region: string;

  /** A key of the caller's own; null is shared capacity. */
  @Column({ type: 'uuid', name: 'credential_id', nullable: true })
  credentialId: string | null;

  /** What is submitted, with its pictures; gone once it was. */
  @Column({ type: 'json', nullable: true })
  request: object | null;

  /** What a success costs its caller, fixed when the job was accepted. */
  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'price_usd' })
  priceUsd: string;

  /** The same by the catalogue, whoever pays the provider. */
  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'list_price_usd' })
  listPriceUsd: string;

  @Column({ type: 'text' })
  status: VideoStatusName;

  @Column({ type: 'text' })
  step: VideoStep;

  /** Nobody knows whether the provider took the job; it was left to a person, until `next_at`. */
  @Column({ type: 'boolean', name: 'needs_review', default: false })
  needsReview: boolean;

  /** Tries of the current step. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;

  /** Looks for the job at its provider, after a submission of which nobody knows. */
  @Column({ type: 'integer', default: 0 })
  searches: number;

  /** How often the provider said that what is finished is gone. */
  @Column({ type: 'integer', name: 'output_attempts', default: 0 })
  outputAttempts: number;

  /** What the provider calls the job. */
  @Column({ type: 'json', nullable: true })
  operation: object | null;

  @Column({ type: 'text', name: 'callback_url', nullable: true })
  callbackUrl: string | null;

  /** When the next step is due. */
  @Column({ type: 'timestamptz', name: 'next_at', default: () => 'now()' })
  nextAt: Date;

  @Column({ type: 'timestamptz', name: 'lease_until', nullable: true })
  leaseUntil: Date | null;

  @Column({ type: 'bigint', default: 0 })
  fence: string;

  @Column({ type: 'text', name: 'error_message', nullable: true })
  errorMessage: string | null;

  @Column({ type: 'json', nullable: true })
  outputs: KeptVideo[] | null;

  @Column({ type: 'timestamptz', name: 'outputs_expire_at', nullable: true })
  outputsExpireAt: Date | null;

  /** What was charged; null where nothing was. */
  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'cost_usd', nullable: true })
  costUsd: string | null;

  /** The caller's name for this submission, kept for 24 hours. */
  @Column({ type: 'text', name: 'idempotency_key', nullable: true })
  idempotencyKey: string | null;

  /** SHA-256 of the submitted body, hex, where there is an idempotency key. */
  @Column({ type: 'character', length: 64, name: 'request_hash', nullable: true })
  requestHash: string | null;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  /** Until when the provider must have come to an end. */
  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt: Date;

  @Column({ type: 'timestamptz', name: 'finished_at', nullable: true })
  finishedAt: Date | null;
}
