import type { BilledUnits } from '../pricing/price';

/** More searches, tool uses or turns than any one call makes; bounds what an absurd report can cost. */
export const MOST_TURNS = 100;

/**
 * Returns how often the model may have read its context in one answer: once, and again after each search, each use of
 * a tool that the provider ran, and each compaction. Its tokens can be so many times the context.
 */
export function turnsOf({ webSearches = 0, tools, otherTurns = 0 }: BilledUnits = {}): number {
  let turns = 1 + webSearches + otherTurns;
  for (const count of tools?.values() ?? []) turns += count;
  return Math.min(turns, MOST_TURNS);
}
