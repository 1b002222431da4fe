import type { Usage } from '../pricing/usage';
import { byokCost } from '../pricing/byok-fee';
import { cacheDiscount } from '../pricing/cache-discount';
import { pricesFor } from '../pricing/price-overrides';
import { priceUsage, type BilledUnits, type Cost } from '../pricing/price';
import type { AnswerContext } from './dialect';

/** Upper bound of a token count if the catalogue names no context length. */
const UNBOUNDED_TOKENS = 1_000_000_000;

export function contextLengthOf({ endpoint, model }: AnswerContext): number {
  return endpoint.contextLength ?? model.contextLength ?? UNBOUNDED_TOKENS;
}

export function priceOf(usage: Usage, context: AnswerContext, units?: BilledUnits): Cost {
  const { endpoint, priceList, beganMs, byokFee } = context;
  const list = priceList === 'batch' ? endpoint.batchPricing : endpoint.pricing;
  // Limits each prompt to the context length. A model that ran several times may have read more than that in total.
  const promptTokens = Math.min(usage.promptTokens, contextLengthOf(context));
  const prices = pricesFor(list, promptTokens, beganMs);
  const discount = cacheDiscount(prices, usage, units);
  const full = priceUsage(prices, usage, units);
  const cost = discount === 0n ? full : { ...full, cacheDiscount: discount };
  return byokFee === undefined ? cost : byokCost(cost, byokFee);
}

/** Returns the fields of every answer in which our values replace the upstream's, as JSON text. */
export function ownMembers({ generationId, model, endpoint }: AnswerContext): Record<string, string> {
  return {
    id: JSON.stringify(generationId),
    model: JSON.stringify(model.slug),
    provider: JSON.stringify(endpoint.provider.name),
  };
}
