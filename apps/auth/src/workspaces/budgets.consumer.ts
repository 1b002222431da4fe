import { Controller } from '@nestjs/common';
import {
  BudgetReference,
  DeleteBudget,
  ListBudgets,
  PutBudget,
  PutBudgetRequest,
  WorkspaceReference,
  type BudgetDeleted,
  type ListBudgetsResponse,
  type PutBudgetResponse,
} from '@libs/contracts';
import { Handles } from '@libs/platform';
import { BudgetsService } from './budgets.service';

@Controller()
export class BudgetsConsumer {
  constructor(private readonly budgets: BudgetsService) {}

  @Handles(ListBudgets)
  list(reference: WorkspaceReference): Promise<ListBudgetsResponse> {
    return this.budgets.list(reference);
  }

  @Handles(PutBudget)
  put(request: PutBudgetRequest): Promise<PutBudgetResponse> {
    return this.budgets.put(request);
  }

  @Handles(DeleteBudget)
  delete(reference: BudgetReference): Promise<BudgetDeleted> {
    return this.budgets.delete(reference);
  }
}
