import { estimatePrompt, likelyPromptTokens } from '../model/estimate';
import { promptAt, type CountedPrompt } from '../model/prompt-at';
import { contextLengthOf } from './billing';
import type { AnswerContext } from './dialect';
import type { ReportedCounts } from './reported-counts';

/**
 * Returns what a call has reserved for its prompt at the endpoint: text by the estimate, media as they were measured,
 * other media as the most that they may be.
 */
export function reservedPrompt({ endpoint, prompt, requestBody }: AnswerContext): CountedPrompt {
  return promptAt(endpoint, prompt ?? estimatePrompt(requestBody));
}

/**
 * Returns the same as counts within the context of the endpoint, for the bill of a call that was left before its
 * provider counted its prompt. So a caller gains nothing by leaving before that.
 */
export function reservedCounts(
  context: AnswerContext,
): Pick<ReportedCounts, 'audioPrompt' | 'imagePrompt'> & { prompt: number } {
  const { tokens, kinds } = reservedPrompt(context);
  const { audioTokens = null, imageTokens = null } = kinds ?? {};
  return {
    prompt: Math.min(tokens, contextLengthOf(context)),
    audioPrompt: audioTokens,
    imagePrompt: imageTokens,
  };
}

/** Returns what the prompt of an answer usually has, for a bill whose provider did not count it. */
export function likelyPrompt({ prompt, requestBody }: AnswerContext): number {
  return prompt?.likelyTokens ?? likelyPromptTokens(requestBody);
}

/** Returns how many tokens too high such a bill usually is, because of media that could not be measured. */
export function unlikelyTokens(context: AnswerContext): number {
  if (context.prompt === undefined) return 0;
  const { likelyTokens, unlikelyMediaTokens } = context.prompt;
  return Math.max(0, Math.min(unlikelyMediaTokens, reservedCounts(context).prompt - likelyTokens));
}
