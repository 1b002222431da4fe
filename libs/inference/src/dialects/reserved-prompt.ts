import { estimatePrompt, likelyPromptTokens } from '../model/estimate';
import { promptAt, type CountedPrompt } from '../model/prompt-at';
import { contextLengthOf } from './billing';
import type { AnswerContext } from './dialect';
import type { ReportedCounts } from './reported-counts';

/**
 * Returns what a call has reserved for its prompt at the endpoint: text by its estimate, measured media by their size,
 * other media by their maximum. If the organization abandons too many calls, all media count by their maximum.
 */
export function reservedPrompt({ endpoint, prompt, requestBody, isUnread }: AnswerContext): CountedPrompt {
  const estimate = prompt ?? estimatePrompt(requestBody);
  return promptAt(endpoint, isUnread?.() === true ? (estimate.unproven ?? estimate) : estimate);
}

/**
 * Returns the reserved prompt as counts, cut to the endpoint's context, to bill a call whose caller disconnected before
 * the provider counted the prompt. So a caller does not gain by disconnecting early.
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

/** Returns the likely prompt tokens, for an upstream that does not count them. */
export function likelyPrompt({ prompt, requestBody }: AnswerContext): number {
  return prompt?.likelyTokens ?? likelyPromptTokens(requestBody);
}

/**
 * Returns by how many tokens a bill from the reservation usually exceeds the real usage, because of media that could
 * not be measured.
 */
export function unlikelyTokens(context: AnswerContext): number {
  if (context.prompt === undefined) return 0;
  const { likelyTokens, unlikelyMediaTokens } = context.prompt;
  return Math.max(0, Math.min(unlikelyMediaTokens, reservedCounts(context).prompt - likelyTokens));
}
