import fc from 'fast-check';
import { emptyUsage, type Usage } from './usage';
import type { AllowedUses } from './tool-uses';
import { parseRate, parseUsd } from './money';
import { priceUsage, type BilledUnits, type PriceList } from './price';
import { priceExpected, promptTokensRead, type ExpectedUse } from './price-estimate';

const mini: PriceList = { prompt: parseRate('0.00000015'), completion: parseRate('0.0000006') };
const asked = (use: Partial<ExpectedUse>): ExpectedUse => ({ promptTokens: 0, completionTokens: 0, ...use });

const searches = (uses: number, turns: number, tokensPerUse: number): AllowedUses => ({
  tools: ['web_search'],
  uses,
  turns,
  tokensPerUse,
});

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

/** A possible usage of a request, and what was known of it at its reservation. */
const anyCall = fc
  .record({
    text: anyCount,
    audio: anyCount,
    pictures: anyCount,
    images: fc.nat({ max: 9 }),
    cached: anyCount,
    cachedAudio: anyCount,
    written: anyCount,
    writtenForHour: anyCount,
    completion: anyCount,
    spoken: anyCount,
    painted: anyCount,
    thought: anyCount,
    searches: fc.nat({ max: 9 }),
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
      cachedAudioTokens: Math.min(call.cachedAudio, call.cached),
      cacheWrite1hTokens: cacheWrite === '1h' ? call.writtenForHour : 0,
    };
    const kinds = { audioTokens: audio, imageTokens: pictures, images, cacheWrite };
    const tools = call.searches > 0 ? [searches(call.searches, 0, 0)] : [];
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

  it('counts the price of all uses, at the dearest tool of those that share a cap', () => {
    const prices = {
      prompt: 0n,
      completion: 0n,
      webSearch: parseRate('0.01'),
      tools: { code_interpreter: parseRate('0.03') },
    };
    const at = (tools: AllowedUses['tools']) =>
      priceExpected(prices, asked({ calls: 2, tools: [{ tools, uses: 20, turns: 20, tokensPerUse: 0 }] }));
    expect(at(['web_search'])).toBe(parseUsd('0.4'));
    expect(at(['web_search', 'code_interpreter'])).toBe(parseUsd('1.2'));
    expect(at(['mcp'])).toBe(0n);
    expect(at(null)).toBe(parseUsd('1.2'));
  });

  it('prices what is read again at the rate of a cache that it may be written to', () => {
    const prices = { prompt: parseRate('0.000003'), completion: 0n, inputCacheWrite: parseRate('0.00000375') };
    const use = asked({ promptTokens: 1_000, tools: [searches(1, 1, 8_000)] });
    expect(priceExpected(prices, use)).toBe(parseUsd('0.0375'));
    expect(priceExpected(prices, { ...use, tools: [] })).toBe(parseUsd('0.003'));
  });

  it('counts sound of the prompt as often as it is read', () => {
    const kinds = { audioTokens: 1_000, imageTokens: 0, images: 0, cacheWrite: null };
    const prices = { prompt: 0n, completion: 0n, audio: parseRate('0.00001') };
    expect(priceExpected(prices, asked({ promptTokens: 1_000, kinds, tools: [searches(4, 4, 0)] }))).toBe(
      parseUsd('0.05'),
    );
  });
});

describe(promptTokensRead.name, () => {
  const read = (use: Partial<ExpectedUse>): number => promptTokensRead(asked(use));

  it('reads prompt, answer and results again after each use', () => {
    expect(read({ promptTokens: 10, completionTokens: 100, tools: [searches(2, 2, 1_000)] })).toBe(10 + 1_110 + 2_110);
  });

  it('reads the sum of twenty searches of 8,000 tokens', () => {
    expect(read({ tools: [searches(20, 20, 8_000)] })).toBe(1_680_000);
  });

  it('reads a refused use too', () => {
    expect(read({ promptTokens: 10, tools: [searches(1, 2, 1_000)] })).toBe(10 + 1_010 + 1_010);
  });

  it('reads no more than the context in any turn', () => {
    expect(read({ promptTokens: 10, tools: [searches(3, 3, 1_000)], contextLength: 1_500 })).toBe(
      10 + 1_010 + 1_500 * 2,
    );
    expect(read({ tools: [searches(2, 2, Number.MAX_SAFE_INTEGER)] })).toBe(2_000_000);
  });

  it('reads all results once where a model does not read again', () => {
    expect(read({ promptTokens: 10, completionTokens: 100, tools: [searches(30, 0, 1_200)] })).toBe(36_010);
  });

  it('reads no more than a hundred turns', () => {
    expect(read({ promptTokens: 1, tools: [searches(80, 80, 0), searches(80, 80, 0)] })).toBe(101);
  });

  it('is never below the sum of calls that it counts by their mean', () => {
    const anyCalls = fc.array(fc.record({ promptTokens: fc.nat(200_000), completionTokens: fc.nat(20_000) }), {
      minLength: 1,
      maxLength: 20,
    });
    const anyUses = fc.record({ uses: fc.nat(30), turns: fc.nat(31), tokensPerUse: fc.nat(30_000) });
    fc.assert(
      fc.property(anyCalls, anyUses, (calls, { uses, turns, tokensPerUse }) => {
        const more = { tools: [searches(uses, turns, tokensPerUse)], contextLength: 200_000 };
        const sum = calls.reduce((total, call) => total + read({ ...call, ...more }), 0);
        const total = (name: 'promptTokens' | 'completionTokens') => calls.reduce((all, call) => all + call[name], 0);
        const promptTokens = total('promptTokens');
        const completionTokens = total('completionTokens');
        expect(read({ promptTokens, completionTokens, calls: calls.length, ...more })).toBeGreaterThanOrEqual(sum);
      }),
    );
  });
});
