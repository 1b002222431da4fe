import { estimatePrompt } from '../model/estimate';
import { emptyUsage, type Usage } from '../pricing/usage';
import { byokCost } from '../pricing/byok-fee';
import { cacheDiscount } from '../pricing/cache-discount';
import { pricesFor } from '../pricing/price-overrides';
import { priceUsage, type BilledUnits, type Cost } from '../pricing/price';
import type { AnswerContext } from './dialect';
import type { Bill } from './translation';

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
  const full = priceUsage(prices, usage, prices.image === undefined ? units : withPictures(units, context));
  const cost = discount === 0n ? full : { ...full, cacheDiscount: discount };
  return byokFee === undefined ? cost : byokCost(cost, byokFee);
}

/** No upstream reports how many pictures a prompt had: those of the request are counted, as for its reservation. */
function withPictures(units: BilledUnits | undefined, { prompt, requestBody }: AnswerContext): BilledUnits {
  const { kinds } = prompt ?? estimatePrompt(requestBody);
  return { ...units, images: kinds?.images ?? 0 };
}

/** Returns the bill of a stream that broke off before anything was said: it costs nothing, not even as a request. */
export function unsaidBill({ byokFee }: AnswerContext): Bill {
  const usage = emptyUsage('partial');
  return { usage, cost: byokFee === undefined ? NOTHING : byokCost(NOTHING, byokFee) };
}

const NOTHING: Cost = { totalCost: 0n, promptCost: 0n, completionCost: 0n };

/** Returns the fields of every answer in which our values replace the upstream's, as JSON text. */
export function ownMembers({ generationId, model, endpoint }: AnswerContext): Record<string, string> {
  return {
    id: JSON.stringify(generationId),
    model: JSON.stringify(model.slug),
    provider: JSON.stringify(endpoint.provider.name),
  };
}
