import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * What one key was charged on one UTC day. Kept beside the transfers in the same commit, so that a key's
 * spending is read from a few rows instead of all its transfers.
 */
@Entity({ name: 'ledger_key_days' })
export class LedgerKeyDayEntity {
  @PrimaryColumn({ type: 'character', length: 64, name: 'api_key_hash' })
  apiKeyHash: string;

  @PrimaryColumn({ type: 'date' })
  day: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'charged_usd' })
  chargedUsd: string;

  /** What the owner's own providers charged for it, by their list prices. */
  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'byok_usd', default: 0 })
  byokUsd: string;
}
