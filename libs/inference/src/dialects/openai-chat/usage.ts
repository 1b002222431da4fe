import { objectOf } from '@libs/json';
import type { CanonicalAnswer } from '../../model/canonical-answer';
import type { Usage } from '../../pricing/usage';
import { settleUsage, usageText } from '../openai-usage';
import { chatCountsIn, countedUnits } from '../reported-counts';
import { mostToolUnits, toolUnitsIn } from '../reported-tools';
import type { Bill } from '../translation';
import type { ExecutedTools } from './executed-tools';

/** Returns the upstream's counts; null unless prompt and completion are there. Limits are checked later. */
export function readChatUsage(reported: unknown): Usage | null {
  const counts = chatCountsIn(objectOf(reported));
  if (counts.prompt === null || counts.completion === null) return null;
  return settleUsage(counts, {
    maxPromptTokens: Number.MAX_SAFE_INTEGER,
    maxCompletionTokens: Number.MAX_SAFE_INTEGER,
    estimate: () => ({ promptTokens: 0, completionTokens: 0 }),
    fallback: 'estimated',
  });
}

/** Returns what a usage counts with a price of its own, and the tools that the messages list. */
export function readChatUnits(reported: unknown, ran: ExecutedTools): Pick<CanonicalAnswer, 'units'> {
  const { webSearches, ...others } = countedUnits(chatCountsIn(objectOf(reported)));
  const counted = mostToolUnits(toolUnitsIn(reported), { webSearches });
  const units = { ...others, ...mostToolUnits(ran.units, counted) };
  return Object.keys(units).length === 0 ? {} : { units };
}

/** The usage object of an answer; costs are the doubles nearest to the amounts, as the interface types them. */
export function chatUsage({ usage, cost, tools }: Bill): object {
  return JSON.parse(usageText(usage, cost, true, tools)) as object;
}
