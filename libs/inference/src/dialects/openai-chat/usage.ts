import type { CanonicalAnswer } from '../../model/canonical-answer';
import type { Usage } from '../../pricing/usage';
import { numberOf, objectOf } from '../../json/loose-values';
import { MOST_TURNS } from '../inner-turns';
import { settleUsage, usageText } from '../openai-usage';
import { mostToolUnits, orNone, toolUnitsIn } from '../reported-tools';
import type { Bill } from '../translation';
import type { ExecutedTools } from './executed-tools';

/** The upstream's counts; null unless both sides of them are there. They are held against the endpoint later. */
export function readChatUsage(reported: unknown): Usage | null {
  const usage = objectOf(reported);
  const prompt = objectOf(usage['prompt_tokens_details']);
  const completion = objectOf(usage['completion_tokens_details']);
  const counts = {
    prompt: count(usage['prompt_tokens']),
    completion: count(usage['completion_tokens']),
    total: count(usage['total_tokens']),
    cached: count(prompt['cached_tokens']),
    cacheWrite: count(prompt['cache_write_tokens']),
    audioPrompt: count(prompt['audio_tokens']),
    reasoning: count(completion['reasoning_tokens']) ?? count(usage['reasoning_tokens']),
    citations: count(usage['citation_tokens']),
    audioCompletion: count(completion['audio_tokens']),
    videoPrompt: count(prompt['video_tokens']),
    filePrompt: count(prompt['file_tokens']),
    imageCompletion: count(completion['image_tokens']),
  };
  if (counts.prompt === null || counts.completion === null) return null;
  return settleUsage(counts, {
    maxPromptTokens: Number.MAX_SAFE_INTEGER,
    maxCompletionTokens: Number.MAX_SAFE_INTEGER,
    estimate: () => ({ promptTokens: 0, completionTokens: 0 }),
    fallback: 'estimated',
  });
}

/** What a usage counts beside tokens that has a price of its own, and the tools that its messages list. */
export function readChatUnits(reported: unknown, ran: ExecutedTools): Pick<CanonicalAnswer, 'units'> {
  const searches = count(objectOf(reported)['num_search_queries']) ?? 0;
  const counted = mostToolUnits(toolUnitsIn(reported), { webSearches: Math.min(searches, MOST_TURNS) });
  const units = orNone(mostToolUnits(ran.units, counted));
  return units === undefined ? {} : { units };
}

function count(value: unknown): number | null {
  const number = numberOf(value) ?? null;
  return number !== null && Number.isSafeInteger(number) && number >= 0 ? number : null;
}

/** The usage object of an answer; costs are the doubles nearest to the amounts, as the interface types them. */
export function chatUsage({ usage, cost, tools }: Bill): object {
  return JSON.parse(usageText(usage, cost, true, tools)) as object;
}
