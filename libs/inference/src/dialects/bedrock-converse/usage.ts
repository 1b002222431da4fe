import { isObject, objectOf, objectsOf, stringOf } from '@libs/json';
import type { CanonicalAnswer } from '../../model/canonical-answer';
import { reportedUsage } from '../openai-usage';
import { NO_COUNTS } from '../reported-counts';

/**
 * Returns the counts of an answer; null if neither input nor output is there. Tokens read from or written to
 * the prompt cache are not part of `inputTokens`. Later code checks the counts against the endpoint's limits.
 */
export function readUsage(reported: unknown): Pick<CanonicalAnswer, 'usage' | 'units' | 'details'> {
  if (!isObject(reported)) return { usage: null };
  const input = whole(reported['inputTokens']);
  const completion = whole(reported['outputTokens']);
  const cached = whole(reported['cacheReadInputTokens']) ?? 0;
  const cacheWrite = whole(reported['cacheWriteInputTokens']) ?? 0;
  const prompt = input === null ? null : Math.min(input + cached + cacheWrite, Number.MAX_SAFE_INTEGER);
  const usage = reportedUsage({ ...NO_COUNTS, prompt, completion, cached, cacheWrite });
  if (usage === null) return { usage: null };
  const cacheWrite1hTokens = writesOf(reported['cacheDetails'], '1h');
  const cacheWrite5mTokens = writesOf(reported['cacheDetails'], '5m');
  return {
    usage,
    ...(cacheWrite1hTokens > 0 && { units: { cacheWrite1hTokens } }),
    ...(cacheWrite5mTokens + cacheWrite1hTokens > 0 && { details: { cacheWrite5mTokens, cacheWrite1hTokens } }),
  };
}

function writesOf(details: unknown, lifetime: '5m' | '1h'): number {
  const writes = objectsOf(details).filter(({ ttl }) => ttl === lifetime);
  return writes.reduce((sum, { inputTokens }) => sum + (whole(inputTokens) ?? 0), 0);
}

function whole(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

/** Returns the tier that served, if Bedrock names it. */
export function readTier(answer: unknown): { readonly serviceTier?: string } {
  const tier = stringOf(objectOf(objectOf(answer)['serviceTier'])['type']);
  return tier === undefined ? {} : { serviceTier: tier };
}
