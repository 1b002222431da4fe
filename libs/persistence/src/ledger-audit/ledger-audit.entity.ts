import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { LedgerFinding } from './ledger-finding';

/** What the last audit of the ledger left; one row. */
@Entity({ name: 'ledger_audits' })
@Check('ledger_audits_one_row', 'id = 1')
export class LedgerAuditEntity {
  @PrimaryColumn({ type: 'smallint', default: 1, primaryKeyConstraintName: 'ledger_audits_pkey' })
  id: number;

  /** Every transaction with a lower id was over when the audit read the ledger. The next one reads from here on. */
  @Column({ type: 'bigint' })
  watermark: string;

  @Column({ type: 'timestamptz', name: 'audited_at' })
  auditedAt: Date;

  @Column({ type: 'timestamptz', name: 'full_at' })
  fullAt: Date;

  /** Sum of all differences, in pico-dollars. */
  @Column({ type: 'numeric', precision: 50, scale: 0, name: 'drift_picousd' })
  driftPicousd: string;

  /** Findings in rows that the next incremental audit does not read again, at most 1,000. */
  @Column({ type: 'jsonb', default: [] })
  kept: readonly LedgerFinding[];
}
