import { AppError } from '@libs/errors';
import fc from 'fast-check';
import { emptyUsage, type Usage } from './usage';
import { sumCosts } from './byok-fee';
import { parseRate, parseUsd } from './money';
import { type PriceList, priceUsage } from './price';

const free: PriceList = { prompt: 0n, completion: 0n };
const mini: PriceList = {
  prompt: parseRate('0.00000015'),
  completion: parseRate('0.0000006'),
  inputCacheRead: parseRate('0.000000075'),
};

function usage(counts: Partial<Usage>): Usage {
  return { ...emptyUsage('upstream'), ...counts };
}

const anyRate = fc.bigInt({ min: 0n, max: 10n ** 16n });
const anyCount = fc.nat({ max: 2_000_000 });

/** A usage whose parts fit into their wholes without overlap. */
const anyUsage = fc
  .tuple(anyCount, anyCount, anyCount, anyCount, anyCount, anyCount, anyCount)
  .map(([text, cached, written, audio, answer, reasoning, spoken]) => ({
    text,
    answer,
    usage: usage({
      promptTokens: text + cached + written + audio,
      cachedTokens: cached,
      cacheWriteTokens: written,
      audioPromptTokens: audio,
      completionTokens: answer + reasoning + spoken,
      reasoningTokens: reasoning,
      audioCompletionTokens: spoken,
    }),
  }));

const anyPrices = fc.record({
  prompt: anyRate,
  completion: anyRate,
  inputCacheRead: anyRate,
  inputCacheWrite: anyRate,
  audio: anyRate,
  audioOutput: anyRate,
  internalReasoning: anyRate,
  request: anyRate,
});

describe(priceUsage.name, () => {
  it('charges image tokens of an answer apart, in an answer of one class and of several', () => {
    const prices = { ...mini, imageOutputToken: parseRate('0.00003') };
    const used = usage({ completionTokens: 1_400, reasoningTokens: 10, imageCompletionTokens: 1_290 });
    // 1,290 at 30 and 110 at 0.6 dollars per million.
    expect(priceUsage(prices, used).totalCost).toBe(parseUsd('0.038766'));
    expect(priceUsage(mini, used).totalCost).toBe(parseUsd('0.00084'));
  });

  it('says what of a price is for tools of the provider, and how much was written to a cache for an hour', () => {
    const prices = { ...mini, webSearch: parseRate('0.01'), tools: { mcp: 0n, file_search: parseRate('0.0025') } };
    const used = usage({ promptTokens: 100, cacheWriteTokens: 60 });
    const tools = new Map([
      ['mcp', 4],
      ['file_search', 2],
      ['unpriced', 1],
    ]);
    const cost = priceUsage(prices, used, { webSearches: 3, tools, cacheWrite1hTokens: 90 });
    const usd = (search: string, files: string) =>
      new Map([
        ['web_search', parseUsd(search)],
        ['file_search', parseUsd(files)],
      ]);
    expect(cost).toMatchObject({ toolCosts: usd('0.03', '0.005'), cacheWrite1hTokens: 60 });
    expect(sumCosts(cost, cost)).toMatchObject({ toolCosts: usd('0.06', '0.01'), cacheWrite1hTokens: 120 });
    expect(sumCosts(cost, priceUsage(prices, used)).toolCosts).toEqual(usd('0.03', '0.005'));
    expect(Object.keys(priceUsage(prices, used))).toEqual(['totalCost', 'promptCost', 'completionCost']);
    const free = priceUsage(prices, used, { tools: new Map([['mcp', 4]]) });
    expect(Object.keys(free)).toEqual(['totalCost', 'promptCost', 'completionCost']);
  });

  it('charges each token once, at the rate of its kind', () => {
    const cost = priceUsage(mini, usage({ promptTokens: 1_000, cachedTokens: 400, completionTokens: 100 }));
    expect(cost.promptCost).toBe(parseUsd('0.00012'));
    expect(cost.completionCost).toBe(parseUsd('0.00006'));
    expect(cost.totalCost).toBe(parseUsd('0.00018'));
  });

  it('equals the exact sum in 10^-18 dollars, rounded half up once', () => {
    fc.assert(
      fc.property(anyPrices, anyUsage, (prices, { text, answer, usage: used }) => {
        const exact =
          BigInt(text) * prices.prompt +
          BigInt(used.cachedTokens) * prices.inputCacheRead +
          BigInt(used.cacheWriteTokens) * prices.inputCacheWrite +
          BigInt(used.audioPromptTokens) * prices.audio +
          BigInt(answer) * prices.completion +
          BigInt(used.reasoningTokens) * prices.internalReasoning +
          BigInt(used.audioCompletionTokens) * prices.audioOutput +
          prices.request;
        const whole = exact / 1_000_000n;
        const expected = exact % 1_000_000n >= 500_000n ? whole + 1n : whole;
        expect(priceUsage(prices, used).totalCost).toBe(expected);
      }),
    );
  });

  it('always splits the total into prompt and completion without rest', () => {
    fc.assert(
      fc.property(anyPrices, anyUsage, (prices, { usage: used }) => {
        const { totalCost, promptCost, completionCost } = priceUsage(prices, used);
        expect(promptCost + completionCost).toBe(totalCost);
        expect(completionCost >= 0n).toBe(true);
      }),
    );
  });

  it('prices two calls together as their sum wherever nothing needs rounding', () => {
    const wholePico = anyPrices.map((prices) => {
      const entries = Object.entries(prices).map(([name, rate]) => [name, (rate / 1_000_000n) * 1_000_000n] as const);
      return { ...free, ...(Object.fromEntries(entries) as Partial<PriceList>), request: 0n };
    });
    fc.assert(
      fc.property(wholePico, anyUsage, anyUsage, (prices, { usage: a }, { usage: b }) => {
        const sum = usage({});
        for (const key of Object.keys(sum) as (keyof Usage)[]) {
          if (key !== 'provenance' && key !== 'unreported') sum[key] = (a[key] ?? 0) + (b[key] ?? 0);
        }
        expect(priceUsage(prices, sum).totalCost).toBe(
          priceUsage(prices, a).totalCost + priceUsage(prices, b).totalCost,
        );
      }),
    );
  });

  it('never charges more than every token at the dearest rate, however the parts overlap', () => {
    const overlapping = fc
      .tuple(anyCount, anyCount, anyCount, anyCount, anyCount, anyCount, anyCount)
      .map(([promptTokens, cachedTokens, cacheWriteTokens, audioPromptTokens, completionTokens, reasoning, spoken]) =>
        usage({
          promptTokens,
          cachedTokens,
          cacheWriteTokens,
          audioPromptTokens,
          completionTokens,
          reasoningTokens: reasoning,
          audioCompletionTokens: spoken,
        }),
      );
    fc.assert(
      fc.property(anyPrices, overlapping, (prices, used) => {
        const { request, ...perToken } = prices;
        const dearest = Object.values(perToken).reduce((a, b) => (a > b ? a : b));
        const most = (BigInt(used.promptTokens + used.completionTokens) * dearest + request) / 1_000_000n + 1n;
        expect(priceUsage(prices, used).totalCost <= most).toBe(true);
      }),
    );
  });

  it('charges cached and reasoning tokens in full where no own rate is listed', () => {
    const prices = { prompt: parseRate('0.000001'), completion: parseRate('0.000002') };
    const used = usage({ promptTokens: 10, cachedTokens: 10, completionTokens: 5, reasoningTokens: 5 });
    expect(priceUsage(prices, used).totalCost).toBe(parseUsd('0.00002'));
  });

  it('takes cached tokens for text first and for audio only beyond that', () => {
    const prices: PriceList = { ...free, prompt: 10n ** 12n, inputCacheRead: 10n ** 11n, audio: 10n ** 14n };
    const used = usage({ promptTokens: 100, audioPromptTokens: 60, cachedTokens: 50 });
    const expected = 40n * 10n ** 5n + 10n * 10n ** 5n + 50n * 10n ** 8n;
    expect(priceUsage(prices, used).totalCost).toBe(expected);
  });

  it('rounds once per request, not once per token', () => {
    const prices = { prompt: parseRate('0.0000000000004'), completion: 0n };
    expect(priceUsage(prices, usage({ promptTokens: 1 })).totalCost).toBe(0n);
    expect(priceUsage(prices, usage({ promptTokens: 10 })).totalCost).toBe(4n);
  });

  it('rounds half of a pico-dollar up', () => {
    const prices = { prompt: parseRate('0.0000000000005'), completion: 0n };
    expect(priceUsage(prices, usage({ promptTokens: 1 })).totalCost).toBe(1n);
  });

  it('takes cached tokens for audio where the provider counts them as such', () => {
    const own: PriceList = { ...free, prompt: 10n ** 12n, inputCacheRead: 10n ** 11n, audio: 10n ** 14n };
    const used = usage({ promptTokens: 100, audioPromptTokens: 60, cachedTokens: 50 });
    const cost = (cachedAudioTokens: number) => priceUsage(own, used, { cachedAudioTokens }).totalCost / 10n ** 5n;
    expect(cost(50)).toBe(50n + 10n * 1_000n + 40n * 10n);
    expect(cost(20)).toBe(50n + 40n * 1_000n + 10n * 10n);
    expect(cost(99)).toBe(cost(50));
  });

  it('charges audio by the millisecond of a rate per second', () => {
    const prices = { ...free, audioSecond: parseRate('0.0001') };
    const { totalCost, promptCost } = priceUsage(prices, usage({}), { audioMs: 12_345 });
    expect(totalCost).toBe(parseUsd('0.0012345'));
    expect(promptCost).toBe(totalCost);
  });

  it('charges video seconds by resolution, whatever its case, and as output', () => {
    const prices: PriceList = {
      ...free,
      videoSecond: parseRate('0.1'),
      videoSecondByResolution: { '4k': parseRate('0.6') },
    };
    expect(priceUsage(prices, usage({}), { videoMs: 8_000, videoResolution: '4K' }).completionCost).toBe(
      parseUsd('4.8'),
    );
    expect(priceUsage(prices, usage({}), { videoMs: 8_000, videoResolution: '720p' }).totalCost).toBe(parseUsd('0.8'));
    expect(priceUsage(prices, usage({}), { videoMs: 8_000, videoResolution: 'constructor' }).totalCost).toBe(
      parseUsd('0.8'),
    );
  });

  it('takes the dearest resolution for one that has no price of its own', () => {
    const prices: PriceList = {
      ...free,
      videoSecondByResolution: { '720p': parseRate('0.4'), '4k': parseRate('0.6'), '1080p': parseRate('0.5') },
    };
    expect(priceUsage(prices, usage({}), { videoMs: 1_000 }).totalCost).toBe(parseUsd('0.6'));
  });

  it('charges the request, images, searches and one-hour cache writes that a call had', () => {
    const prices: PriceList = {
      ...free,
      request: parseRate('0.005'),
      image: parseRate('0.001'),
      webSearch: parseRate('0.01'),
      inputCacheWrite: parseRate('0.00000375'),
      inputCacheWrite1h: parseRate('0.000006'),
    };
    const used = usage({ promptTokens: 100, cacheWriteTokens: 100 });
    const { totalCost } = priceUsage(prices, used, { images: 2, webSearches: 3, cacheWrite1hTokens: 60 });
    expect(totalCost).toBe(parseUsd('0.03751'));
  });

  it('charges one-hour cache writes without a price at 1.6 times the rate of other writes', () => {
    const prices = { ...free, prompt: parseRate('0.000003'), inputCacheWrite: parseRate('0.00000375') };
    const used = usage({ promptTokens: 100, cacheWriteTokens: 100 });
    expect(priceUsage(prices, used, { cacheWrite1hTokens: 60 }).totalCost).toBe(parseUsd('0.00051'));
    expect(priceUsage({ ...free, prompt: 5n }, used, { cacheWrite1hTokens: 60 })).toMatchObject({
      totalCost: priceUsage({ ...free, prompt: 5n }, used).totalCost,
    });
  });

  it('prices a million requests of trillions of tokens without losing one pico-dollar', () => {
    const used = usage({ promptTokens: 1_000_000_000_000, completionTokens: 1 });
    expect(priceUsage(mini, used).totalCost * 1_000_000n).toBe(parseUsd('150000.0000006') * 1_000_000n);
  });

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('refuses a count of %p', (count) => {
    expect(() => priceUsage(mini, usage({ promptTokens: count }))).toThrow(AppError);
    expect(() => priceUsage(mini, usage({ reasoningTokens: count }))).toThrow(AppError);
    expect(() => priceUsage(mini, usage({}), { audioMs: count })).toThrow(AppError);
  });
});
