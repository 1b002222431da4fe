import fc from 'fast-check';
import { emptyUsage, type Usage } from './usage';
import { parseRate, parseUsd } from './money';
import { priceUsage, type BilledUnits, type PriceList } from './price';
import { HELD_USES, priceExpected, type ExpectedUse } from './price-estimate';

const mini: PriceList = { prompt: parseRate('0.00000015'), completion: parseRate('0.0000006') };
const asked = (use: Partial<ExpectedUse>): ExpectedUse => ({ promptTokens: 0, completionTokens: 0, ...use });

const anyRate = fc.bigInt({ min: 0n, max: 10n ** 16n });
const maybeRate = fc.option(anyRate, { nil: undefined });
const anyCount = fc.nat({ max: 2_000_000 });

/** Every rate that a call by tokens can meet. */
const anyPrices = fc.record({
  prompt: anyRate,
  completion: anyRate,
  inputCacheRead: maybeRate,
  inputCacheWrite: maybeRate,
  inputCacheWrite1h: maybeRate,
  audio: maybeRate,
  inputAudioCache: maybeRate,
  imageToken: maybeRate,
  audioOutput: maybeRate,
  imageOutputToken: maybeRate,
  internalReasoning: maybeRate,
  request: maybeRate,
  image: maybeRate,
  imageOutput: maybeRate,
  webSearch: maybeRate,
}) as fc.Arbitrary<PriceList>;

/** What may come of a request, and what its reservation knew. */
const anyCall = fc
  .record({
    text: anyCount,
    audio: anyCount,
    pictures: anyCount,
    images: fc.nat({ max: 9 }),
    cached: anyCount,
    written: anyCount,
    writtenForHour: anyCount,
    completion: anyCount,
    spoken: anyCount,
    painted: anyCount,
    thought: anyCount,
    searches: fc.nat({ max: HELD_USES }),
    cacheWrite: fc.constantFrom('5m' as const, '1h' as const, null),
    cachesUnasked: fc.boolean(),
  })
  .map((call) => {
    const { text, audio, pictures, images, cacheWrite, cachesUnasked } = call;
    const promptTokens = text + audio + pictures;
    const isWritten = cacheWrite !== null || cachesUnasked;
    const usage: Usage = {
      ...emptyUsage('upstream'),
      promptTokens,
      completionTokens: call.completion,
      cachedTokens: Math.min(call.cached, promptTokens),
      cacheWriteTokens: isWritten ? Math.min(call.written, promptTokens) : 0,
      audioPromptTokens: audio,
      audioCompletionTokens: Math.min(call.spoken, call.completion),
      imageCompletionTokens: Math.min(call.painted, call.completion),
      reasoningTokens: Math.min(call.thought, call.completion),
    };
    const units: BilledUnits = {
      imageTokens: pictures,
      images,
      outputImages: 1,
      webSearches: call.searches,
      cacheWrite1hTokens: cacheWrite === '1h' ? call.writtenForHour : 0,
    };
    const kinds = { audioTokens: audio, imageTokens: pictures, images, cacheWrite };
    const tools = call.searches > 0 ? ['web_search'] : [];
    const use = { promptTokens, kinds, cachesUnasked, completionTokens: call.completion, answers: 1, tools };
    return { usage, units, use };
  });

describe(priceExpected.name, () => {
  it('is never below the charge of a call, whatever its tokens were and at any rates', () => {
    fc.assert(
      fc.property(anyPrices, anyCall, (prices, { usage, units, use }) => {
        expect(priceExpected(prices, use)).toBeGreaterThanOrEqual(priceUsage(prices, usage, units).totalCost);
      }),
      { numRuns: 2_000 },
    );
  });

  it('says of plain text what its price is', () => {
    const use = asked({ promptTokens: 1_000, completionTokens: 100 });
    expect(priceExpected(mini, use)).toBe(parseUsd('0.00021'));
  });

  it.each([
    ['sound', { audioOutput: parseRate('0.00002'), internalReasoning: parseRate('0.000001') }, '0.002'],
    ['pictures', { imageOutputToken: parseRate('0.00003') }, '0.003'],
  ])('takes all tokens of an answer for those of %s where they are dearest', (_kind, rates, usd) => {
    expect(priceExpected({ ...mini, ...rates }, asked({ completionTokens: 100 }))).toBe(parseUsd(usd));
  });

  it('does not take text for sound', () => {
    const kinds = { audioTokens: 100, imageTokens: 0, images: 0, cacheWrite: null };
    const prices = { ...mini, prompt: parseRate('0.000001'), audio: parseRate('0.00001') };
    expect(priceExpected(prices, asked({ promptTokens: 1_000, kinds }))).toBe(parseUsd('0.0019'));
  });

  it('has no price for what is no count', () => {
    const use = asked({ completionTokens: Number.NaN });
    expect(() => priceExpected(mini, use)).toThrow(expect.objectContaining({ code: 'unmapped' }));
  });
});
