import { MOST_USES } from '../pricing/tool-uses';
import type { BilledUnits } from '../pricing/price';

/**
 * Upper limit for reported searches, tool uses or turns, above what any call needs; limits what an absurd report can
 * cost. On the operator's account no request is sent with a higher cap. A report above the cap that was sent is charged
 * up to this number, because the provider charges it too.
 */
export const MOST_TURNS = MOST_USES;

/**
 * Returns how often the model may have read its context for one answer: once, and again after each search, each use of
 * a provider's tool and each compaction. The prompt tokens can be that many times the context.
 */
export function turnsOf({ webSearches = 0, tools, otherTurns = 0 }: BilledUnits = {}): number {
  let turns = 1 + webSearches + otherTurns;
  for (const count of tools?.values() ?? []) turns += count;
  return Math.min(turns, 1 + MOST_TURNS);
}
