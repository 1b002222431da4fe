import type { Usage } from './usage';
import type { PicoUsd } from './money';
import { priceUsage, type BilledUnits, type PriceList } from './price';

/**
 * Returns how much a prompt cache reduced the price of a call. Negative if writing to the cache cost more than reading
 * from it saved. Of `units`, only token kinds are used.
 */
export function cacheDiscount(prices: PriceList, usage: Usage, units: BilledUnits = {}): PicoUsd {
  if (usage.cachedTokens === 0 && usage.cacheWriteTokens === 0) return 0n;
  const { imageTokens = 0, cacheWrite1hTokens = 0, cachedAudioTokens = 0 } = units;
  const uncached = priceUsage(prices, { ...usage, cachedTokens: 0, cacheWriteTokens: 0 }, { imageTokens });
  const kinds = { imageTokens, cacheWrite1hTokens, cachedAudioTokens };
  return uncached.totalCost - priceUsage(prices, usage, kinds).totalCost;
}
