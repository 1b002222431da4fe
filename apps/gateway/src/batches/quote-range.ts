export interface Range {
  readonly low: number;
  readonly high: number;
}

/** With so many, four of five new values lie between the least and the greatest of the past ones. */
export const LEAST_PAST = 9;

/**
 * Where the next value lies four times out of five, if it comes about as the past ones did: between the k-th least
 * and the k-th greatest of them, k being a tenth of their number plus one. Nothing is assumed of how values are
 * spread, so a few outliers widen the range and do not shift it. Null where there are too few.
 */
export function rangeOfNext(past: readonly number[]): Range | null {
  if (past.length < LEAST_PAST) return null;
  const sorted = past.toSorted((one, other) => one - other);
  const rank = Math.floor((sorted.length + 1) / 10);
  return { low: sorted[rank - 1]!, high: sorted[sorted.length - rank]! };
}
