import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * A side of the books: `org:<uuid>` for an organization's credits, `funding` where credits come from and
 * `revenue` where charges go. Available to spend is balance − held.
 */
@Entity({ name: 'ledger_accounts' })
@Check('ledger_accounts_held_not_negative', 'held_usd >= 0')
export class LedgerAccountEntity {
  @PrimaryColumn({ type: 'text' })
  id: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'balance_usd', default: 0 })
  balanceUsd: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'held_usd', default: 0 })
  heldUsd: string;

  /** What was charged beyond its hold, in all: explains a balance below zero. */
  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'overage_usd', default: 0 })
  overageUsd: string;

  /** What was ever credited: the sum of its top-ups, which are not added up for each question. */
  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'credited_usd', default: 0 })
  creditedUsd: string;

  /** Whether what its workspaces spend is written down in `ledger_workspaces`, because one of them got a budget. */
  @Column({ type: 'boolean', name: 'tracks_workspaces', default: false })
  tracksWorkspaces: boolean;
}
