import { Check, Entity, PrimaryColumn } from 'typeorm';
import { SpendingFigures } from './spending-figures';

/**
 * What one key has set aside and spent: everything that its limit is judged by stands in one row, which one
 * guarded statement can lock.
 */
@Entity({ name: 'ledger_keys' })
@Check('ledger_keys_held_not_negative', 'held_usd >= 0')
export class LedgerKeyEntity extends SpendingFigures {
  @PrimaryColumn({
    type: 'character',
    length: 64,
    name: 'api_key_hash',
    primaryKeyConstraintName: 'ledger_keys_pkey',
  })
  apiKeyHash: string;
}
