import { Check, Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';

/**
 * `planned`: nothing has left the house. `uploaded`: the provider has the lines. `submitting`: the order may or may
 * not have been taken. `running`: the provider has told its id. `done`: nothing of it is waited for.
 */
export type NativeBatchState = 'planned' | 'uploaded' | 'submitting' | 'running' | 'done';

/**
 * One order at a provider's batch API, for a run of segments of one batch. Due when `available_at` has passed; a
 * lease moves it ahead, so a dead worker's order becomes due by itself.
 */
@Entity({ name: 'native_batches' })
@Unique('native_batches_part_once', ['batchNumber', 'part'])
@Check('native_batches_state_known', `state IN ('planned', 'uploaded', 'submitting', 'running', 'done')`)
@Check('native_batches_running_is_known', `state <> 'running' OR upstream_id IS NOT NULL`)
@Check('native_batches_submitting_is_dated', `state <> 'submitting' OR submitted_at IS NOT NULL`)
@Index('native_batches_due', { synchronize: false })
@Index('native_batches_upstream_once', ['provider', 'upstreamId'], { unique: true, where: 'upstream_id IS NOT NULL' })
export class NativeBatchEntity {
  /** What the provider is told, and by which it is found again. */
  @PrimaryColumn({ type: 'text' })
  reference: string;

  @Column({ type: 'text', name: 'batch_id' })
  batchId: string;

  @Column({ type: 'bigint', name: 'batch_number' })
  batchNumber: string;

  @Column({ type: 'date', name: 'created_on' })
  createdOn: string;

  @Column({ type: 'integer' })
  part: number;

  @Column({ type: 'integer', name: 'first_segment' })
  firstSegment: number;

  @Column({ type: 'integer', name: 'last_segment' })
  lastSegment: number;

  @Column({ type: 'integer', name: 'first_seq' })
  firstSeq: number;

  @Column({ type: 'integer', name: 'last_seq' })
  lastSeq: number;

  @Column({ type: 'text' })
  endpoint: string;

  @Column({ type: 'text' })
  model: string;

  @Column({ type: 'text' })
  provider: string;

  @Column({ type: 'text', name: 'upstream_model' })
  upstreamModel: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'uuid', name: 'workspace_id' })
  workspaceId: string;

  @Column({ type: 'character', length: 64, name: 'api_key_hash' })
  apiKeyHash: string;

  /** After it what is left is taken back, so that single calls can still make the batch's window. */
  @Column({ type: 'timestamptz', name: 'finish_by' })
  finishBy: Date;

  @Column({ type: 'text', default: 'planned' })
  state: NativeBatchState;

  /** The caller's own key that the order was made with; null for the operator's. */
  @Column({ type: 'uuid', name: 'credential_id', nullable: true })
  credentialId: string | null;

  @Column({ type: 'text', name: 'input_file_id', nullable: true })
  inputFileId: string | null;

  @Column({ type: 'text', name: 'upstream_id', nullable: true })
  upstreamId: string | null;

  /** The id was found by searching, not told when the order was taken. */
  @Column({ type: 'boolean', default: false })
  adopted: boolean;

  /** Files that the provider wrote. */
  @Column({ type: 'text', array: true, name: 'output_ids', default: [] })
  outputIds: string[];

  @Column({ type: 'integer', name: 'sent_lines', nullable: true })
  sentLines: number | null;

  @Column({ type: 'timestamptz', name: 'submitted_at', nullable: true })
  submittedAt: Date | null;

  /** Times the provider was searched for the order since it was submitted. */
  @Column({ type: 'integer', default: 0 })
  looks: number;

  /** Times it was sent, searched for in vain, and taken for not arrived. */
  @Column({ type: 'integer', default: 0 })
  losses: number;

  /** Jobs that looked like it and were another's. */
  @Column({ type: 'text', array: true, name: 'not_ours', default: [] })
  notOurs: string[];

  /** In a row. */
  @Column({ type: 'integer', default: 0 })
  failures: number;

  /** The last one, for whoever looks into it. */
  @Column({ type: 'text', nullable: true })
  problem: string | null;

  @Column({ type: 'timestamptz', name: 'cancelled_at', nullable: true })
  cancelledAt: Date | null;

  @Column({ type: 'timestamptz', name: 'available_at', default: () => 'now()' })
  availableAt: Date;

  /** `available_at` is the end of a lease, not of a rest. */
  @Column({ type: 'boolean', name: 'is_leased', default: false })
  isLeased: boolean;

  /** Grows with every lease; a write that carries an older number touches no row. */
  @Column({ type: 'bigint', default: 0 })
  fence: string;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;
}
