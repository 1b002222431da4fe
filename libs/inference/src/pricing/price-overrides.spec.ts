import { highestPricesFor, pricesFor } from './price-overrides';
import type { PriceList } from './price';

const LIST: PriceList = {
  prompt: 100n,
  completion: 200n,
  inputCacheRead: 10n,
  overrides: [
    { minPromptTokens: 200_001, rates: { prompt: 200n, completion: 300n } },
    { utcStart: 22.5, utcEnd: 2, rates: { prompt: 50n } },
    { utcStart: 9, utcEnd: 10, rates: { prompt: 120n, inputCacheRead: 12n } },
  ],
};
const at = (time: string): number => Date.parse(`2026-11-23T${time}Z`);
const ratesAt = (promptTokens: number, time: string): readonly unknown[] => {
  const { prompt, completion, inputCacheRead } = pricesFor(LIST, promptTokens, at(time));
  return [prompt, completion, inputCacheRead];
};

describe(pricesFor.name, () => {
  it('takes the other rates for the whole call from the first token of a long prompt', () => {
    expect(ratesAt(200_000, '12:00:00')).toEqual([100n, 200n, 10n]);
    expect(ratesAt(200_001, '12:00:00')).toEqual([200n, 300n, 10n]);
  });

  it('takes the rates of an hour from its first to before its last moment, also across midnight', () => {
    const promptAt = (time: string): unknown => ratesAt(1, time)[0];
    expect(['22:29:59', '22:30:00', '23:59:59', '00:00:00', '01:59:59', '02:00:00'].map(promptAt)).toEqual([
      100n,
      50n,
      50n,
      50n,
      50n,
      100n,
    ]);
    expect(['08:59:59', '09:00:00', '09:59:59', '10:00:00'].map(promptAt)).toEqual([100n, 120n, 120n, 100n]);
  });

  it('takes the later of two that match, and keeps what it does not name', () => {
    expect(ratesAt(300_000, '23:00:00')).toEqual([50n, 300n, 10n]);
    expect(ratesAt(300_000, '09:30:00')).toEqual([120n, 300n, 12n]);
  });

  it('gives the list itself where it has no overrides', () => {
    const plain: PriceList = { prompt: 1n, completion: 2n };
    expect(pricesFor(plain, 1_000_000, 0)).toBe(plain);
    expect(highestPricesFor(plain, 1_000_000)).toBe(plain);
  });
});

describe(highestPricesFor.name, () => {
  it('is never below what any size between two bounds is charged', () => {
    expect(highestPricesFor(LIST, 150_000, 200_000).prompt).toBe(120n);
    expect(highestPricesFor(LIST, 150_000, 200_001).prompt).toBe(200n);
    const cheaper = { ...LIST, overrides: [{ minPromptTokens: 1_000, rates: { prompt: 60n } }] };
    expect([highestPricesFor(cheaper, 900, 1_100).prompt, highestPricesFor(cheaper, 1_000, 1_100).prompt]).toEqual([
      100n,
      60n,
    ]);
  });

  it('is never below what a call of this size is charged at any time of the day', () => {
    for (const promptTokens of [1, 200_000, 200_001, 1_000_000]) {
      const highest = highestPricesFor(LIST, promptTokens);
      for (let minute = 0; minute < 24 * 60; minute += 1) {
        const charged = pricesFor(LIST, promptTokens, minute * 60_000);
        expect(highest.prompt >= charged.prompt && highest.completion >= charged.completion).toBe(true);
        expect(highest.inputCacheRead! >= charged.inputCacheRead!).toBe(true);
      }
    }
  });

  it('takes an hour with lower rates for none', () => {
    expect(highestPricesFor(LIST, 1).prompt).toBe(120n);
    expect(highestPricesFor({ ...LIST, overrides: LIST.overrides!.slice(0, 2) }, 1).prompt).toBe(100n);
  });
});
