import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { GenerationDetails } from './generation-records';

/**
 * One synchronous inference call. Opened while the upstream call is in flight and settled after it, so a
 * crash leaves a visible open row instead of a silent loss.
 */
@Entity({ name: 'generations' })
@Check('generations_state_known', `state IN ('open', 'settled', 'abandoned')`)
@Check('generations_settled_at_set', `(state = 'open') = (settled_at IS NULL)`)
@Index('generations_open', { synchronize: false })
@Index('generations_written', { synchronize: false })
export class GenerationEntity {
  @PrimaryColumn({ type: 'text' })
  id: string;

  /** UTC day that the id names: the partition of the row. */
  @PrimaryColumn({ type: 'date', name: 'created_on' })
  createdOn: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @Column({ type: 'uuid', name: 'workspace_id' })
  workspaceId: string;

  @Column({ type: 'character', length: 64, name: 'api_key_hash' })
  apiKeyHash: string;

  @Column({ type: 'text' })
  api: string;

  @Column({ type: 'text' })
  model: string;

  @Column({ type: 'boolean' })
  streamed: boolean;

  @Column({ type: 'text' })
  state: 'open' | 'settled' | 'abandoned';

  /** Held on the organization's account while the row is open. */
  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'hold_usd' })
  holdUsd: string;

  @Column({ type: 'text', nullable: true })
  provider: string | null;

  @Column({ type: 'text', name: 'upstream_model', nullable: true })
  upstreamModel: string | null;

  @Column({ type: 'text', name: 'upstream_id', nullable: true })
  upstreamId: string | null;

  @Column({ type: 'smallint', name: 'status_code', nullable: true })
  statusCode: number | null;

  /** completed | incomplete | failed | cancelled */
  @Column({ type: 'text', nullable: true })
  outcome: string | null;

  @Column({ type: 'text', name: 'finish_reason', nullable: true })
  finishReason: string | null;

  /** upstream | estimated | partial */
  @Column({ type: 'text', name: 'usage_provenance', nullable: true })
  usageProvenance: string | null;

  @Column({ type: 'bigint', name: 'prompt_tokens', default: 0 })
  promptTokens: string;

  @Column({ type: 'bigint', name: 'completion_tokens', default: 0 })
  completionTokens: string;

  @Column({ type: 'bigint', name: 'cached_tokens', default: 0 })
  cachedTokens: string;

  @Column({ type: 'bigint', name: 'reasoning_tokens', default: 0 })
  reasoningTokens: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'cost_usd', default: 0 })
  costUsd: string;

  @Column({ type: 'integer', name: 'latency_ms', nullable: true })
  latencyMs: number | null;

  @Column({ type: 'integer', name: 'generation_ms', nullable: true })
  generationMs: number | null;

  @Column({ type: 'json', nullable: true })
  details: GenerationDetails | null;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'settled_at', nullable: true })
  settledAt: Date | null;

  /** Id of the transaction that wrote the row, and then of the one that settled it; null for rows from before the column. */
  @Column({ type: 'bigint', name: 'written_in', nullable: true, default: () => '((pg_current_xact_id()))' })
  writtenIn: string | null;
}
