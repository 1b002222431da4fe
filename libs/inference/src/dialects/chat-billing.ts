import { estimatePromptTokens, tokensOfBytes } from '../model/estimate';
import type { Usage } from '../model/usage';
import type { Cost } from '../pricing/price';
import { contextLengthOf, priceOf } from './billing';
import type { AnswerContext } from './dialect';
import { settleUsage, type ReportedUsage } from './openai-usage';
import { memberText, scanRequest } from './request-members';

const MOST_CHOICES = 128;

export interface Bill {
  readonly usage: Usage;
  readonly cost: Cost;
}

/** Settles and prices the usage of a chat answer of which `contentBytes` of text have been seen. */
export function billChat(
  reported: ReportedUsage | null,
  contentBytes: number,
  context: AnswerContext,
  fallback: 'estimated' | 'partial',
): Bill {
  const contextLength = contextLengthOf(context);
  const isLong = (reported?.counts.completion ?? tokensOfBytes(contentBytes)) > contextLength;
  const usage = settleUsage(reported, {
    maxPromptTokens: contextLength,
    maxCompletionTokens: isLong ? contextLength * choicesAsked(context.requestBody) : contextLength,
    estimate: () => ({
      promptTokens: estimatePromptTokens(context.requestBody),
      completionTokens: tokensOfBytes(contentBytes),
    }),
    fallback,
  });
  return { usage, cost: priceOf(usage, context) };
}

/** `n` of the request: each choice may fill the context. */
function choicesAsked(body: Buffer): number {
  const asked = Number(memberText(scanRequest(body), 'n')?.toString());
  return Number.isSafeInteger(asked) && asked >= 1 ? Math.min(asked, MOST_CHOICES) : 1;
}
