import { Injectable } from '@nestjs/common';
import {
  BUDGET_INTERVALS,
  type BudgetReference,
  type PutBudgetRequest,
  type WorkspaceReference,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { Database } from '@libs/persistence';
import type { EntityManager } from 'typeorm';
import { getWorkspaceWithin, lockWorkspace } from './workspaces.repository';
import { WorkspaceBudgetEntity } from './workspace-budget.entity';
import { WorkspaceEntity } from '../accounts/workspace.entity';

export interface WorkspaceBudgets {
  /** The shortest interval first. */
  readonly budgets: WorkspaceBudgetEntity[];
  readonly includeByok: boolean;
}

/** The shorter interval must have the smaller limit; otherwise one of the two would have no effect. */
const SMALLER_FIRST = `
  SELECT count(*)::integer AS misplaced FROM workspace_budgets b
  WHERE b.workspace_id = $1 AND CASE
    WHEN array_position($2::text[], b.interval) < array_position($2::text[], $3) THEN b.limit_usd >= $4::numeric
    WHEN array_position($2::text[], b.interval) > array_position($2::text[], $3) THEN b.limit_usd <= $4::numeric
    ELSE false END`;

const UPSERT = `
  INSERT INTO workspace_budgets AS b (workspace_id, organization_id, interval, id, limit_usd)
  VALUES ($1, $2, $3, $4, $5::numeric)
  ON CONFLICT (workspace_id, interval) DO UPDATE SET limit_usd = excluded.limit_usd, updated_at = now()`;

/** Every method requires the organization: a workspace of another organization has no budgets. */
@Injectable()
export class BudgetsRepository {
  constructor(private readonly database: Database) {}

  async findBudgets(reference: WorkspaceReference): Promise<WorkspaceBudgets> {
    return this.database.asOrganization(reference).entities((manager) => budgetsWithin(manager, reference));
  }

  /** @throws AppError not_found; invalid_request for a limit that contradicts those of other intervals */
  async putBudget(request: PutBudgetRequest, newId: string): Promise<WorkspaceBudgets> {
    const { id: workspaceId, organizationId, interval, limitUsd, includeByok } = request;
    return this.database.asOrganization(request).entities(async (manager) => {
      await lockWorkspace(manager, request);
      const values = [workspaceId, BUDGET_INTERVALS, interval, limitUsd];
      const [row] = await manager.query<{ misplaced: number }[]>(SMALLER_FIRST, values);
      if (row?.misplaced !== 0) throw outOfLine();
      await manager.query(UPSERT, [workspaceId, organizationId, interval, newId, limitUsd]);
      if (includeByok !== undefined) {
        await manager.update(WorkspaceEntity, { id: workspaceId }, { includeByokInBudgets: includeByok });
      }
      return budgetsWithin(manager, request);
    });
  }

  async deleteBudget(reference: BudgetReference): Promise<void> {
    await this.database.asOrganization(reference).entities(async (manager) => {
      const { id: workspaceId } = await lockWorkspace(manager, reference);
      const deleted = await manager.delete(WorkspaceBudgetEntity, { workspaceId, interval: reference.interval });
      if (deleted.affected !== 1) throw new AppError('not_found', 'No such budget');
    });
  }
}

async function budgetsWithin(manager: EntityManager, reference: WorkspaceReference): Promise<WorkspaceBudgets> {
  const { id: workspaceId, includeByokInBudgets: includeByok } = await getWorkspaceWithin(manager, reference);
  const found = await manager.findBy(WorkspaceBudgetEntity, { workspaceId });
  const budgets = BUDGET_INTERVALS.flatMap((interval) => found.filter((budget) => budget.interval === interval));
  return { budgets, includeByok };
}

function outOfLine(): AppError {
  const rule = 'limit_usd must be above that of every shorter interval and below that of every longer one';
  return new AppError('invalid_request', rule, { metadata: { param: 'limit_usd' } });
}
