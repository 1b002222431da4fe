import { formatUsd, type Served, type StreamOutcome } from '@libs/inference';
import type { AskedCall } from '@libs/persistence';

/** A question that the gateway asked a model on behalf of a call. */
export type AnsweredQuestion = Pick<Served, 'endpoint' | 'credential'> & Pick<StreamOutcome, 'usage' | 'cost'>;

/**
 * Returns the record of a call to a model that the gateway made on behalf of another call, so that the bill of the
 * provider can be explained. Null on a caller's own key, whose owner gets that bill.
 */
export function askedCallOf({ endpoint, credential, usage, cost }: AnsweredQuestion): AskedCall | null {
  if (credential !== null) return null;
  return {
    provider: endpoint.provider.slug,
    model: endpoint.upstreamModel,
    promptTokens: usage.promptTokens,
    cachedTokens: usage.cachedTokens || undefined,
    cacheWriteTokens: usage.cacheWriteTokens || undefined,
    completionTokens: usage.completionTokens,
    costUsd: formatUsd(cost.totalCost),
    isEstimated: usage.provenance === 'upstream' ? undefined : true,
  };
}
