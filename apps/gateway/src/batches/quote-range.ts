export interface Range {
  readonly low: number;
  readonly high: number;
}

/**
 * Fewest past values: with these, four of five new values lie between the smallest and the largest of the past ones.
 */
export const LEAST_PAST = 9;

/**
 * Returns the range in which the next value lies in four of five cases, if it behaves like the past ones: between the
 * k-th smallest and the k-th largest, where k is a tenth of their number plus one. It assumes no distribution, so a few
 * outliers widen the range but do not shift it. Null if there are too few values.
 */
export function rangeOfNext(past: readonly number[]): Range | null {
  if (past.length < LEAST_PAST) return null;
  const sorted = past.toSorted((one, other) => one - other);
  const rank = Math.floor((sorted.length + 1) / 10);
  return { low: sorted[rank - 1]!, high: sorted[sorted.length - rank]! };
}
