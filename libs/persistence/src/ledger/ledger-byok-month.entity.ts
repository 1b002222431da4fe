import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * What one organization's own keys came to in one calendar month (UTC), by the list prices of their providers: how
 * much of its free allowance is used. Written only where there is an allowance.
 */
@Entity({ name: 'ledger_byok_months' })
export class LedgerByokMonthEntity {
  @PrimaryColumn({ type: 'uuid', name: 'organization_id', primaryKeyConstraintName: 'ledger_byok_months_pkey' })
  organizationId: string;

  /** Its first day. */
  @PrimaryColumn({ type: 'date', primaryKeyConstraintName: 'ledger_byok_months_pkey' })
  month: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'list_usd' })
  listUsd: string;
}
