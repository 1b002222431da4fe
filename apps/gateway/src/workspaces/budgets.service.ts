import {
  BUDGET_INTERVALS,
  DeleteBudget,
  ListBudgets,
  PutBudget,
  usdFromNumber,
  type BudgetInterval,
  type BudgetRecord,
  type Principal,
  type PutBudgetDto,
  type WorkspaceBudgetDto,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { MessageBus } from '@libs/platform';
import { ownWorkspace } from './own-workspace';

/** `include_byok_in_budgets` applies to all budgets of the workspace; `data` contains the requested ones. */
export interface BudgetAnswer<Data> {
  readonly data: Data;
  readonly include_byok_in_budgets: boolean;
}

/** The `/workspaces/{id}/budgets` routes, forwarded to the auth app for the organization of the caller's key. */
export class BudgetsService {
  constructor(private readonly bus: MessageBus) {}

  async list(caller: Principal, id: string): Promise<BudgetAnswer<WorkspaceBudgetDto[]>> {
    const { budgets, includeByok } = await this.bus.call(ListBudgets, ownWorkspace(caller, id));
    return { data: budgets.map(budgetView), include_byok_in_budgets: includeByok };
  }

  async get(caller: Principal, id: string, interval: string): Promise<BudgetAnswer<WorkspaceBudgetDto>> {
    const wanted = intervalOf(interval);
    const { budgets, includeByok } = await this.bus.call(ListBudgets, ownWorkspace(caller, id));
    const budget = budgets.find((one) => one.interval === wanted);
    if (budget === undefined) throw new AppError('not_found', 'No such budget');
    return { data: budgetView(budget), include_byok_in_budgets: includeByok };
  }

  /** Returns the present budget; if there is none yet, the values from the path. */
  async present(caller: Principal, id: string, interval: string): Promise<Partial<WorkspaceBudgetDto>> {
    const wanted = intervalOf(interval);
    const workspace = ownWorkspace(caller, id);
    const { budgets } = await this.bus.call(ListBudgets, workspace);
    const budget = budgets.find((one) => one.interval === wanted);
    return budget ? budgetView(budget) : { workspace_id: workspace.id.toLowerCase(), reset_interval: resetOf(wanted) };
  }

  /** `body` is checked. */
  async put(
    caller: Principal,
    id: string,
    interval: string,
    { limit_usd: limit, include_byok_in_budgets: includeByok }: PutBudgetDto,
  ): Promise<BudgetAnswer<WorkspaceBudgetDto>> {
    const reference = { ...ownWorkspace(caller, id), interval: intervalOf(interval) };
    const stored = await this.bus.call(PutBudget, { ...reference, limitUsd: usdFromNumber(limit)!, includeByok });
    return { data: budgetView(stored.budget), include_byok_in_budgets: stored.includeByok };
  }

  async delete(caller: Principal, id: string, interval: string): Promise<void> {
    await this.bus.call(DeleteBudget, { ...ownWorkspace(caller, id), interval: intervalOf(interval) });
  }
}

/** @throws AppError invalid_request */
function intervalOf(text: string): BudgetInterval {
  const interval = BUDGET_INTERVALS.find((one) => one === text);
  if (interval !== undefined) return interval;
  throw new AppError('invalid_request', `interval must be one of ${BUDGET_INTERVALS.join(', ')}`, {
    metadata: { param: 'interval' },
  });
}

function resetOf(interval: BudgetInterval): WorkspaceBudgetDto['reset_interval'] {
  return interval === 'lifetime' ? null : interval;
}

function budgetView({ id, workspaceId, interval, limitUsd, createdAt, updatedAt }: BudgetRecord): WorkspaceBudgetDto {
  return {
    id,
    workspace_id: workspaceId,
    limit_usd: Number(limitUsd),
    reset_interval: resetOf(interval),
    created_at: createdAt,
    updated_at: updatedAt,
  };
}
