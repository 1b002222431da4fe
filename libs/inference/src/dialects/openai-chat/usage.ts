import { objectOf } from '@libs/json';
import type { CanonicalAnswer } from '../../model/canonical-answer';
import type { Usage } from '../../pricing/usage';
import { reportedUsage, usageText } from '../openai-usage';
import { chatCountsIn, countedUnits } from '../reported-counts';
import { mostToolUnits, toolUnitsIn } from '../reported-tools';
import type { Bill } from '../translation';
import type { ExecutedTools } from './executed-tools';

/** Returns the upstream's counts; null where neither prompt nor completion is there. Limits are checked later. */
export function readChatUsage(reported: unknown): Usage | null {
  return reportedUsage(chatCountsIn(objectOf(reported)));
}

/** Returns the counts of a usage that have a price of their own, and the tools that the messages list. */
export function readChatUnits(reported: unknown, ran: ExecutedTools): Pick<CanonicalAnswer, 'units'> {
  const { webSearches, ...others } = countedUnits(chatCountsIn(objectOf(reported)));
  const counted = mostToolUnits(toolUnitsIn(reported), { webSearches });
  const units = { ...others, ...mostToolUnits(ran.units, counted) };
  return Object.keys(units).length === 0 ? {} : { units };
}

/**
 * Returns the usage object of an answer. Costs are JSON numbers, as the API defines them: the doubles nearest to the
 * exact amounts.
 */
export function chatUsage({ usage, cost, tools }: Bill): object {
  return JSON.parse(usageText(usage, cost, true, tools)) as object;
}
