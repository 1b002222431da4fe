import { IsBoolean, ValidateBy } from 'class-validator';
import { MAX_USD, usdFromNumber } from '../keys/usd-amount';
import { MayBeAbsent } from '../organizations/member-rules';
import type { ReadOnlyMembers } from '../organizations/read-only-members';

function isSpendable(value: unknown): boolean {
  return typeof value === 'number' && value > 0 && usdFromNumber(value) !== null;
}

/** Body of `PUT /workspaces/{id}/budgets/{interval}`. */
export class PutBudgetDto {
  /** US dollars. */
  @ValidateBy({
    name: 'isSpendable',
    validator: {
      validate: isSpendable,
      defaultMessage: () => `$property must be a number above 0 to ${MAX_USD} with at most 12 decimals`,
    },
  })
  limit_usd: number;

  /** Applies to all budgets of the workspace; if absent, it stays unchanged. */
  @MayBeAbsent()
  @IsBoolean()
  include_byok_in_budgets?: boolean;
}

/** `WorkspaceBudget` of the interface. */
export interface WorkspaceBudgetDto {
  id: string;
  workspace_id: string;
  limit_usd: number;
  /** Null: never. */
  reset_interval: 'daily' | 'weekly' | 'monthly' | null;
  created_at: string;
  updated_at: string;
}

export const READ_ONLY_OF_BUDGETS: ReadOnlyMembers<WorkspaceBudgetDto> = {
  fixed: ['id', 'workspace_id', 'reset_interval', 'created_at'],
  moving: ['updated_at'],
};
