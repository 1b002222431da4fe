import type { Endpoint } from '../catalogue/catalogue';
import { traitsOf } from '../catalogue/endpoint-traits';
import { tierNamed, type EndpointTier } from '../catalogue/service-tiers';
import type { AnswerContext } from './dialect';

/**
 * Returns the context to bill an answer that names its tier: with the endpoint of this tier for the same model at the
 * same provider. Returns `context` itself if there is no such endpoint, if the tier is unknown, and for a provider's
 * own batch.
 */
export function servedBy(context: AnswerContext, word: string | null | undefined): AnswerContext {
  if (typeof word !== 'string' || isOwnBatch(context)) return context;
  const tier = tierNamed(word);
  if (tier === null || tier === traitsOf(context.endpoint).tier) return context;
  const endpoint = endpointOfTier(context, tier);
  return endpoint === undefined ? context : { ...context, endpoint };
}

/** Batch lines that we run as single calls are billed by the tiers of single calls. */
function isOwnBatch({ priceList, endpoint }: AnswerContext): boolean {
  return priceList === 'batch' && endpoint.provider.batch === 'native';
}

function endpointOfTier({ model, endpoint }: AnswerContext, tier: EndpointTier): Endpoint | undefined {
  const { tierlessKey } = traitsOf(endpoint);
  return model.endpoints.find((other) => {
    const traits = traitsOf(other);
    return traits.tier === tier && traits.tierlessKey === tierlessKey;
  });
}
