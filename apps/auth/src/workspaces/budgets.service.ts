import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type {
  BudgetDeleted,
  BudgetRecord,
  BudgetReference,
  ListBudgetsResponse,
  PutBudgetRequest,
  PutBudgetResponse,
  WorkspaceReference,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { shortDecimal } from '../short-decimal';
import { BudgetsRepository } from './budgets.repository';
import type { WorkspaceBudgetEntity } from './workspace-budget.entity';

@Injectable()
export class BudgetsService {
  constructor(private readonly repository: BudgetsRepository) {}

  async list(reference: WorkspaceReference): Promise<ListBudgetsResponse> {
    const { budgets, includeByok } = await this.repository.findBudgets(reference);
    return { budgets: budgets.map(toRecord), includeByok };
  }

  async put(request: PutBudgetRequest): Promise<PutBudgetResponse> {
    const { budgets, includeByok } = await this.repository.putBudget(request, randomUUID());
    const budget = budgets.find(({ interval }) => interval === request.interval);
    if (!budget) throw new AppError('server', 'Internal error', { internal: 'a budget is gone that was just put' });
    return { budget: toRecord(budget), includeByok };
  }

  async delete(reference: BudgetReference): Promise<BudgetDeleted> {
    await this.repository.deleteBudget(reference);
    return { deleted: true };
  }
}

function toRecord(budget: WorkspaceBudgetEntity): BudgetRecord {
  return {
    id: budget.id,
    workspaceId: budget.workspaceId,
    interval: budget.interval,
    limitUsd: shortDecimal(budget.limitUsd),
    createdAt: budget.createdAt.toISOString(),
    updatedAt: budget.updatedAt.toISOString(),
  };
}
