import { amountOf, type Amount } from '../../support/decimal';
import { tokensOf, type TokenCounts } from '../../support/upstream-answer';
import type { Evidence } from '../evidence';

/** Returns what these tokens cost by the price list. */
export function priceOf({ promptTokens, completionTokens }: TokenCounts, prices: Evidence['prices']): Amount {
  return amountOf(prices.prompt) * BigInt(promptTokens) + amountOf(prices.completion) * BigInt(completionTokens);
}

/** Returns the tokens that a provider counts for a prompt; an embedding has no completion. */
export function dueTokens(prompt: string, isEmbedding: boolean): TokenCounts {
  const { promptTokens, completionTokens } = tokensOf(prompt);
  return { promptTokens, completionTokens: isEmbedding ? 0 : completionTokens };
}
