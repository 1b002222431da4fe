import type { BudgetInterval } from '@libs/contracts';
import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { WorkspaceEntity } from '../accounts/workspace.entity';

/** What a workspace may spend in each interval; the ledger has what it has spent. */
@Entity({ name: 'workspace_budgets' })
@ForeignKey(() => WorkspaceEntity, ['workspaceId', 'organizationId'], ['id', 'organizationId'], {
  name: 'workspace_budgets_workspace',
})
@Check('workspace_budgets_interval_known', `interval IN ('daily', 'weekly', 'monthly', 'lifetime')`)
@Check('workspace_budgets_limit_positive', 'limit_usd > 0')
export class WorkspaceBudgetEntity {
  @PrimaryColumn({ type: 'uuid', name: 'workspace_id', primaryKeyConstraintName: 'workspace_budgets_pkey' })
  workspaceId: string;

  @Column({ type: 'uuid', name: 'organization_id' })
  organizationId: string;

  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'workspace_budgets_pkey' })
  interval: BudgetInterval;

  @Column({ type: 'uuid' })
  id: string;

  @Column({ type: 'numeric', precision: 38, scale: 12, name: 'limit_usd' })
  limitUsd: string;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', default: () => 'now()' })
  updatedAt: Date;
}
