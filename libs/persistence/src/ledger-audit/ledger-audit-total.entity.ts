import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Sums of the transfers below the watermark, so that the next incremental audit adds only the newer ones. */
@Entity({ name: 'ledger_audit_totals' })
export class LedgerAuditTotalEntity {
  /** `balance` and `credited` of an account, or what a `key` or a `workspace` was charged. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'ledger_audit_totals_pkey' })
  scope: string;

  /** Account, hash of the key, or account and workspace with a slash between. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'ledger_audit_totals_pkey' })
  id: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'amount_usd' })
  amountUsd: string;
}
