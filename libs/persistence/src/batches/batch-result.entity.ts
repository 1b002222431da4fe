import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { LineUsageDetails } from './line-usage';

/** The one outcome of a line: the primary key makes a second one impossible. */
@Entity({ name: 'batch_results' })
@Check('batch_results_one_outcome', '(body IS NULL) <> (error IS NULL)')
@Index('batch_results_written', { synchronize: false })
export class BatchResultEntity {
  @PrimaryColumn({ type: 'date', name: 'created_on' })
  createdOn: string;

  @PrimaryColumn({ type: 'bigint', name: 'batch_number' })
  batchNumber: string;

  @PrimaryColumn({ type: 'integer' })
  seq: number;

  @Column({ type: 'text', name: 'custom_id' })
  customId: string;

  @Column({ type: 'text', name: 'generation_id', nullable: true })
  generationId: string | null;

  @Column({ type: 'smallint', name: 'status_code', nullable: true })
  statusCode: number | null;

  @Column({ type: 'text', name: 'request_id', nullable: true })
  requestId: string | null;

  @Column({ type: 'bytea', nullable: true })
  body: Buffer | null;

  @Column({ type: 'json', nullable: true })
  error: object | null;

  @Column({ type: 'bigint', name: 'prompt_tokens', default: 0 })
  promptTokens: string;

  @Column({ type: 'bigint', name: 'completion_tokens', default: 0 })
  completionTokens: string;

  @Column({ type: 'bigint', name: 'cached_tokens', default: 0 })
  cachedTokens: string;

  @Column({ type: 'bigint', name: 'cache_write_tokens', default: 0 })
  cacheWriteTokens: string;

  @Column({ type: 'bigint', name: 'reasoning_tokens', default: 0 })
  reasoningTokens: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'prompt_cost_usd', default: 0 })
  promptCostUsd: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'completion_cost_usd', default: 0 })
  completionCostUsd: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'cost_usd', default: 0 })
  costUsd: string;

  @Column({ type: 'text', name: 'service_tier', nullable: true })
  serviceTier: string | null;

  @Column({ type: 'jsonb', name: 'usage_details', nullable: true })
  usageDetails: LineUsageDetails | null;

  /** An order at the provider's batch API ran the line, not a single call; null for rows from before the column. */
  @Column({ type: 'boolean', name: 'is_native', nullable: true })
  isNative: boolean | null;

  /** Id of the transaction that wrote the row; null for rows from before the column. */
  @Column({ type: 'bigint', name: 'written_in', nullable: true, default: () => '((pg_current_xact_id()))' })
  writtenIn: string | null;
}
