import { emptyUsage } from './usage';
import { cacheDiscount } from './cache-discount';
import type { PriceList } from './price';

/** In pico-dollars per token: 10 for a prompt, 1 from a cache, 12 into one. */
const PRICES: PriceList = {
  prompt: 10_000_000n,
  completion: 20_000_000n,
  inputCacheRead: 1_000_000n,
  inputCacheWrite: 12_000_000n,
};
const usage = { ...emptyUsage('upstream'), promptTokens: 100, completionTokens: 7 };

describe(cacheDiscount.name, () => {
  it('is what reading from a cache saved', () => {
    expect(cacheDiscount(PRICES, { ...usage, cachedTokens: 40 })).toBe(360n);
  });

  it('is below zero where writing cost more than reading saved', () => {
    expect(cacheDiscount(PRICES, { ...usage, cachedTokens: 1, cacheWriteTokens: 50 })).toBe(-91n);
  });

  it('is nothing without a cache, and where the cache has no price of its own', () => {
    expect(cacheDiscount(PRICES, usage)).toBe(0n);
    expect(cacheDiscount({ prompt: 10_000_000n, completion: 0n }, { ...usage, cachedTokens: 40 })).toBe(0n);
  });
});
