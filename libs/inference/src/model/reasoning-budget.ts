import type { ReasoningEffort } from './canonical-request';

/** Share of the allowed output that each effort may spend on thinking. */
const SHARES: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};

const EFFORTS: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];

/** Returns the thinking tokens of an effort, as a share of the allowed output tokens. */
export function budgetOfEffort(effort: ReasoningEffort, maxOutputTokens: number): number {
  return Math.floor(SHARES[effort] * maxOutputTokens);
}

/** Returns the effort nearest to a budget of thinking tokens; of two equally near ones the lower. */
export function effortOfBudget(budgetTokens: number, maxOutputTokens: number): ReasoningEffort {
  if (budgetTokens <= 0) return 'none';
  const share = budgetTokens / Math.max(1, maxOutputTokens);
  return EFFORTS.slice(1).reduce((best, effort) =>
    Math.abs(SHARES[effort] - share) < Math.abs(SHARES[best] - share) ? effort : best,
  );
}
