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

  it('counts writes that are kept for an hour at their own rate', () => {
    expect(cacheDiscount(PRICES, { ...usage, cacheWriteTokens: 50 }, { cacheWrite1hTokens: 40 })).toBe(-388n);
    const hour = { ...PRICES, inputCacheWrite1h: 20_000_000n };
    expect(cacheDiscount(hour, { ...usage, cacheWriteTokens: 50 }, { cacheWrite1hTokens: 50 })).toBe(-500n);
  });

  it('counts cached sound and pictures at their own rates, and no other units', () => {
    const prices = { ...PRICES, audio: 50_000_000n, inputAudioCache: 5_000_000n, imageToken: 30_000_000n, image: 7n };
    const heard = { ...usage, audioPromptTokens: 60, cachedTokens: 20 };
    expect(cacheDiscount(prices, heard, { cachedAudioTokens: 20, images: 3 })).toBe(900n);
    expect(cacheDiscount(prices, heard, { imageTokens: 10 })).toBe(180n);
  });

  it('is nothing without a cache, and where the cache has no price of its own', () => {
    expect(cacheDiscount(PRICES, usage)).toBe(0n);
    expect(cacheDiscount({ prompt: 10_000_000n, completion: 0n }, { ...usage, cachedTokens: 40 })).toBe(0n);
  });
});
