import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/**
 * One immutable movement of money. Both sides stand in one row, so every entry balances by construction;
 * the primary key allows one movement of a kind per reference, so nothing is charged twice.
 */
@Entity({ name: 'ledger_transfers' })
@Check('ledger_transfers_amount_positive', 'amount_usd > 0')
@Check('ledger_transfers_kind_known', `kind IN ('top_up', 'charge', 'refund')`)
@Check('ledger_transfers_two_sides', 'debit_account <> credit_account')
@Index('ledger_transfers_written', { synchronize: false })
export class LedgerTransferEntity {
  /** The generation id, also for a refund of its charge, or the id of a top-up. */
  @PrimaryColumn({ type: 'text' })
  reference: string;

  @PrimaryColumn({ type: 'text' })
  kind: 'top_up' | 'charge' | 'refund';

  @Column({ type: 'text', name: 'debit_account' })
  debitAccount: string;

  @Column({ type: 'text', name: 'credit_account' })
  creditAccount: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'amount_usd' })
  amountUsd: string;

  @Column({ type: 'uuid', name: 'workspace_id', nullable: true })
  workspaceId: string | null;

  @Column({ type: 'character', length: 64, name: 'api_key_hash', nullable: true })
  apiKeyHash: string | null;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  /** Id of the transaction that wrote the row; null for rows from before the column. */
  @Column({ type: 'bigint', name: 'written_in', nullable: true, default: () => '((pg_current_xact_id()))' })
  writtenIn: string | null;
}
