import { emptyUsage } from '../pricing/usage';
import { aModel, anEndpoint } from '../testing';
import { priceOf } from './billing';

const NIGHT_MS = 2 * 3_600_000;
const NOON_MS = 12 * 3_600_000;
const PRICING = {
  prompt: 10_000_000n,
  completion: 0n,
  inputCacheRead: 1_000_000n,
  overrides: [
    { utcStart: 0, utcEnd: 6, rates: { prompt: 4_000_000n } },
    { minPromptTokens: 1_000, rates: { prompt: 20_000_000n, inputCacheRead: 2_000_000n } },
  ],
};

describe(priceOf.name, () => {
  const usage = { ...emptyUsage('upstream'), promptTokens: 100, cachedTokens: 40 };
  const context = (beganMs: number) => ({
    generationId: 'gen-1',
    model: aModel(),
    endpoint: anEndpoint({ pricing: PRICING }),
    priceList: 'standard' as const,
    beganMs,
    requestBody: Buffer.from('{}'),
  });

  it.each([
    ['noon', NOON_MS, 40n * 9n],
    ['night', NIGHT_MS, 40n * 3n],
  ])('takes the discount of a cached prompt from the rates of the call, at %s', (_time, beganMs, discount) => {
    expect(priceOf(usage, context(beganMs)).cacheDiscount).toBe(discount);
  });

  it('takes it from the rates of long prompts for these alone', () => {
    const long = { ...usage, promptTokens: 1_000 };
    expect(priceOf(long, context(NOON_MS)).cacheDiscount).toBe(40n * 18n);
  });

  it('takes no rates of prompts that are longer than the context, however often the prompt was read', () => {
    const fits = { ...context(NOON_MS), endpoint: anEndpoint({ pricing: PRICING, contextLength: 1_000 }) };
    const tooShort = { ...fits, endpoint: anEndpoint({ pricing: PRICING, contextLength: 999 }) };
    const read = { ...usage, promptTokens: 3_000, cachedTokens: 0 };
    expect(priceOf(read, fits).totalCost).toBe(60_000n);
    expect(priceOf(read, tooShort).totalCost).toBe(30_000n);
  });

  it('names none where nothing was cached', () => {
    expect(priceOf({ ...usage, cachedTokens: 0 }, context(NOON_MS))).not.toHaveProperty('cacheDiscount');
  });
});
