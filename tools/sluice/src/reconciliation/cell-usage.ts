import type { PriceCell } from './charge-facts';
import { isZero, lessTokens, NO_TOKENS, sumTokens, type TokenCounts } from './token-counts';

/** Counts of one price cell. */
export interface CellCount {
  readonly cell: PriceCell;
  /** Null: not counted. */
  readonly requests: bigint | null;
  readonly tokens: TokenCounts;
}

/** The provider's count in a price cell minus Sluice's recorded count. */
export type CellShift = CellCount;

export const BASE: PriceCell = { tier: 'standard', isLong: false, isBatch: false };

export function isBase({ tier, isLong }: PriceCell): boolean {
  return tier === 'standard' && isLong !== true;
}

/**
 * Returns the cells in which reported and recorded counts differ. If the report has no context windows, or the record
 * does not know them for calls of several turns, calls are compared without them.
 */
export function shiftsBetween(reported: readonly CellCount[], recorded: readonly CellCount[]): CellShift[] {
  const hasWindows =
    reported.some(({ cell }) => cell.isLong !== null) && recorded.every(({ cell }) => cell.isLong !== null);
  const cells = new Map<string, CellShift>();
  const add = ({ cell, requests, tokens }: CellCount, combine: typeof sumTokens, sign: bigint): void => {
    const comparable = { ...cell, isLong: hasWindows ? cell.isLong === true : null };
    const key = `${comparable.tier} ${comparable.isLong} ${comparable.isBatch}`;
    const known = cells.get(key) ?? { cell: comparable, requests: 0n, tokens: NO_TOKENS };
    cells.set(key, {
      cell: comparable,
      requests: known.requests === null || requests === null ? null : known.requests + sign * requests,
      tokens: combine(known.tokens, tokens),
    });
  };
  for (const one of recorded) add(one, lessTokens, -1n);
  for (const one of reported) add(one, sumTokens, 1n);
  return [...cells.values()].filter(({ tokens, requests }) => !isZero(tokens) || (requests ?? 0n) !== 0n);
}

/** Returns the sum of several shifts; requests are null if one of them has none. */
export function totalShift(shifts: readonly CellShift[]): Omit<CellShift, 'cell'> {
  return shifts.reduce<Omit<CellShift, 'cell'>>(
    (sum, { tokens, requests }) => ({
      tokens: sumTokens(sum.tokens, tokens),
      requests: sum.requests === null || requests === null ? null : sum.requests + requests,
    }),
    { tokens: NO_TOKENS, requests: 0n },
  );
}
