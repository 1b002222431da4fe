import type { ToolUses } from '../../pricing/tool-uses';
import type { MessageCounts } from './usage';

const NO_USES: ToolUses = new Map();

/** Returns the counts of a `message_start` event, without those of the answer, which has not begun. */
export function startCounts(counts: MessageCounts): MessageCounts {
  return { ...counts, output: null, webSearches: null, webFetches: null };
}

/** Counts of one stream: each report repeats the whole, so a later count replaces an earlier one. */
export function mergedCounts(earlier: MessageCounts, later: MessageCounts): MessageCounts {
  const said = Object.fromEntries(Object.entries(later).filter(([, value]) => value !== null));
  const toolsThen = later.webSearches === null ? earlier.toolsThen : (earlier.tools ?? NO_USES);
  return { ...earlier, ...said, toolsThen };
}
