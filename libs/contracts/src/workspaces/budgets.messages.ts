import { IsBoolean, IsIn, Matches } from 'class-validator';
import { USD_DECIMAL } from '../keys/usd-amount';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { MayBeAbsent } from '../organizations/member-rules';
import { WorkspaceReference } from './workspaces.messages';

/** A period begins at 00:00 UTC: days, weeks from Monday, months; `lifetime` never restarts. */
export const BUDGET_INTERVALS = ['daily', 'weekly', 'monthly', 'lifetime'] as const;
export type BudgetInterval = (typeof BUDGET_INTERVALS)[number];

/** What a workspace may spend in each interval. */
export class BudgetRecord {
  id: string;
  workspaceId: string;
  interval: BudgetInterval;
  /** Decimal US dollars, above 0. */
  limitUsd: string;
  createdAt: string;
  updatedAt: string;
}

export class ListBudgetsResponse {
  /** At most one for each interval, the shortest first. */
  budgets: BudgetRecord[];
  /** Applies to all budgets of the workspace. */
  includeByok: boolean;
}

/** Errors: `not_found` for a workspace that the organization does not have. */
export const ListBudgets = call({
  queue: queues.auth,
  name: 'auth.list-budgets',
  askedBy: ['gateway'],
  repeat: 'harmless',
  timeoutMs: 5_000,
  request: WorkspaceReference,
  response: ListBudgetsResponse,
});

/** Sets the budget of the interval, whether there was one or not. */
export class PutBudgetRequest extends WorkspaceReference {
  @IsIn(BUDGET_INTERVALS)
  interval: BudgetInterval;

  @Matches(USD_DECIMAL)
  limitUsd: string;

  /** Applies to all budgets of the workspace; if absent, it stays unchanged. */
  @MayBeAbsent()
  @IsBoolean()
  includeByok?: boolean;
}

export class PutBudgetResponse {
  budget: BudgetRecord;
  includeByok: boolean;
}

/** Errors: `not_found` for a workspace that the organization does not have. */
export const PutBudget = call({
  queue: queues.auth,
  name: 'auth.put-budget',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  changes: 'access',
  request: PutBudgetRequest,
  response: PutBudgetResponse,
});

export class BudgetReference extends WorkspaceReference {
  @IsIn(BUDGET_INTERVALS)
  interval: BudgetInterval;
}

export class BudgetDeleted {
  deleted: true;
}

/**
 * Errors: `not_found` for a workspace that the organization does not have. A workspace without such a budget is not an
 * error.
 */
export const DeleteBudget = call({
  queue: queues.auth,
  name: 'auth.delete-budget',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  changes: 'access',
  request: BudgetReference,
  response: BudgetDeleted,
});

export const budgetContracts = [ListBudgets, PutBudget, DeleteBudget];
