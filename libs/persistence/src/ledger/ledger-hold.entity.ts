import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { LedgerAccountEntity } from './ledger-account.entity';

/**
 * Money set aside for a long job (a batch). Charges of its lines add to `settled_usd` here and reach the
 * account's balance when the hold is resolved, so that thousands of lines do not queue for one account row.
 */
@Entity({ name: 'ledger_holds' })
@Check('ledger_holds_state_known', `state IN ('open', 'resolved')`)
@Check('ledger_holds_resolved_at_set', `(state = 'resolved') = (resolved_at IS NOT NULL)`)
@Index('ledger_holds_open', { synchronize: false })
@Index('ledger_holds_open_of_account', { synchronize: false })
export class LedgerHoldEntity {
  /** The id of what the money is held for. */
  @PrimaryColumn({ type: 'text' })
  id: string;

  @ManyToOne(() => LedgerAccountEntity, { nullable: false })
  @JoinColumn({ name: 'account_id', foreignKeyConstraintName: 'ledger_holds_account' })
  account: LedgerAccountEntity;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'amount_usd' })
  amountUsd: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'settled_usd', default: 0 })
  settledUsd: string;

  /** What the owner's own providers charged meanwhile, by their list prices. */
  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'settled_byok_usd', default: 0 })
  settledByokUsd: string;

  /** Whether a limit of the key or a budget counts `settled_byok_usd`: then the amount covers it too. */
  @Column({ type: 'boolean', name: 'counts_byok', default: false })
  countsByok: boolean;

  /** How much the charges stored last were beyond `amount_usd`, which they raised by as much; 0 mostly. */
  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'raised_usd', default: 0 })
  raisedUsd: string;

  /** Sum of those: what was spent beyond what was held before. */
  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'overage_usd', default: 0 })
  overageUsd: string;

  /**
   * Lines that workers and native orders may have under way, by their ids: `[lines, expiry in Unix seconds]`. Null
   * for a hold whose batch was never found to run ahead of it.
   */
  @Column({ type: 'jsonb', nullable: true })
  reserved: Readonly<Record<string, readonly [number, number]>> | null;

  /** Since when every extension was refused; null while none is. */
  @Column({ type: 'timestamptz', name: 'refused_since', nullable: true })
  refusedSince: Date | null;

  /** Whose spending limit the money counts against. */
  @Column({ type: 'character', length: 64, name: 'api_key_hash', nullable: true })
  apiKeyHash: string | null;

  /** Whose budgets it counts against. */
  @Column({ type: 'uuid', name: 'workspace_id', nullable: true })
  workspaceId: string | null;

  @Column({ type: 'text', default: 'open' })
  state: 'open' | 'resolved';

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'expires_at' })
  expiresAt: Date;

  @Column({ type: 'timestamptz', name: 'resolved_at', nullable: true })
  resolvedAt: Date | null;
}
