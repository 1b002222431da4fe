import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import { SpendingFigures } from './spending-figures';

/**
 * What one workspace has set aside and spent, so that its budgets can be judged by one row. There are such rows for
 * the organizations whose account says so (`tracks_workspaces`), and all that they spent is in them.
 */
@Entity({ name: 'ledger_workspaces' })
@Check('ledger_workspaces_held_not_negative', 'held_usd >= 0')
export class LedgerWorkspaceEntity extends SpendingFigures {
  @PrimaryColumn({ type: 'uuid', name: 'workspace_id', primaryKeyConstraintName: 'ledger_workspaces_pkey' })
  workspaceId: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;
}
