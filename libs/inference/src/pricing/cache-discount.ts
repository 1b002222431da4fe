import type { Usage } from './usage';
import type { PicoUsd } from './money';
import { priceUsage, type PriceList } from './price';

/**
 * What a prompt cache took off the price of a call; below zero where writing to the cache cost more than reading
 * from it saved. The usage does not say how long a cache entry lives, so writes count at the usual rate for them.
 */
export function cacheDiscount(prices: PriceList, usage: Usage): PicoUsd {
  if (usage.cachedTokens === 0 && usage.cacheWriteTokens === 0) return 0n;
  const uncached = priceUsage(prices, { ...usage, cachedTokens: 0, cacheWriteTokens: 0 });
  return uncached.totalCost - priceUsage(prices, usage).totalCost;
}
