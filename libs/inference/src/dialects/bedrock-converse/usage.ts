import type { CanonicalAnswer } from '../../model/canonical-answer';
import { emptyUsage, type Usage } from '../../model/usage';
import { isObject, objectOf, objectsOf, stringOf } from '../loose-values';

/**
 * The counts of an answer, null unless both main ones are there. What was read from or written to the prompt
 * cache stands beside `inputTokens` and not among them. They are held against the endpoint later.
 */
export function readUsage(reported: unknown): Pick<CanonicalAnswer, 'usage' | 'units'> {
  if (!isObject(reported)) return { usage: null };
  const input = whole(reported['inputTokens']);
  const completionTokens = whole(reported['outputTokens']);
  if (input === null || completionTokens === null) return { usage: null };
  const cachedTokens = whole(reported['cacheReadInputTokens']) ?? 0;
  const cacheWriteTokens = whole(reported['cacheWriteInputTokens']) ?? 0;
  const promptTokens = input + cachedTokens + cacheWriteTokens;
  const usage: Usage = {
    ...emptyUsage('upstream'),
    promptTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    cachedTokens,
    cacheWriteTokens,
  };
  const cacheWrite1hTokens = hourWrites(reported['cacheDetails']);
  return { usage, ...(cacheWrite1hTokens > 0 && { units: { cacheWrite1hTokens } }) };
}

function hourWrites(details: unknown): number {
  const hours = objectsOf(details).filter(({ ttl }) => ttl === '1h');
  return hours.reduce((sum, { inputTokens }) => sum + (whole(inputTokens) ?? 0), 0);
}

function whole(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

/** The tier that served, where Bedrock tells. */
export function readTier(answer: unknown): { readonly serviceTier?: string } {
  const tier = stringOf(objectOf(objectOf(answer)['serviceTier'])['type']);
  return tier === undefined ? {} : { serviceTier: tier };
}
