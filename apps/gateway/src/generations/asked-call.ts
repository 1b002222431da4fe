import { formatUsd, toolCostTexts, traitsOf, type Served, type StreamOutcome } from '@libs/inference';
import type { AskedCall } from '@libs/persistence';

/** A question that the gateway asked a model on behalf of a call. */
export type AnsweredQuestion = Pick<Served, 'endpoint' | 'credential'> & Pick<StreamOutcome, 'usage' | 'cost'>;

/**
 * Returns the record of a call to a model that was made for a call with a row of its own, so that the bill of the
 * provider can be explained. Null on a caller's own key, whose owner gets that bill.
 */
export function askedCallOf({ endpoint, credential, usage, cost }: AnsweredQuestion): AskedCall | null {
  if (credential) return null;
  return {
    provider: endpoint.provider.slug,
    model: endpoint.upstreamModel,
    promptTokens: usage.promptTokens,
    cachedTokens: usage.cachedTokens || undefined,
    cacheWriteTokens: usage.cacheWriteTokens || undefined,
    cacheWrite1hTokens: cost.cacheWrite1hTokens || undefined,
    completionTokens: usage.completionTokens,
    serviceTier: soldTierOf(endpoint),
    costUsd: formatUsd(cost.totalCost),
    providerTools: cost.toolCosts && toolCostTexts(cost.toolCosts),
    isEstimated: usage.provenance === 'upstream' ? undefined : true,
  };
}

/** Returns the tier for which an endpoint is asked and which it sells; undefined: the standard tier. */
export function soldTierOf(endpoint: Served['endpoint']): string | undefined {
  const { tier } = traitsOf(endpoint);
  return tier === 'standard' ? undefined : tier;
}
