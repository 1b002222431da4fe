import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { calcPrice, findProvider, type ModelPrice } from '@pydantic/genai-prices';
import { parse } from 'yaml';
import { parseCatalogue, pricesFor, priceUsage, type Catalogue, type Usage } from '@libs/inference';
import { endpointKey } from './catalogue-refresh/endpoint-key';
import { findPrices, rateText } from './catalogue-refresh/price-data';
import type { Seed } from './catalogue-refresh/refresh';

const folder = join(__dirname, '..', 'catalog');
const shipped = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .toSorted()
  .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
const seed = JSON.parse(readFileSync(join(folder, '.seed.json'), 'utf8')) as Seed;
const references = Object.entries(seed.endpoints);
let catalogue: Catalogue;

type Entry = Readonly<Record<string, unknown>>;
const entries = new Map(
  shipped.flatMap(({ text }) => {
    const models = ((parse(text) as Entry)['models'] ?? []) as readonly (Entry & { endpoints: readonly Entry[] })[];
    return models.flatMap(({ slug, endpoints }) => endpoints.map((one) => [endpointKey(slug, one), one] as const));
  }),
);

function endpointOf(key: string): Entry {
  const found = entries.get(key);
  if (!found) throw new Error(`there is no endpoint ${key}`);
  return found;
}

beforeAll(() => {
  catalogue = parseCatalogue(shipped);
});

describe('the catalogue that the repository ships', () => {
  it('is valid together with the sandbox', () => {
    expect(catalogue.providers().length).toBeGreaterThanOrEqual(30);
    expect(catalogue.models().length).toBeGreaterThanOrEqual(100);
    expect(catalogue.findModel('sandbox/chat')?.endpoints).toHaveLength(1);
  });

  it('has a host for Azure that cannot exist, so that no key goes to the resource of a stranger', () => {
    const { baseUrl = '' } = catalogue.findProvider('azure') ?? {};
    expect(new URL(baseUrl).hostname).toMatch(/\.invalid$/);
  });

  it('takes every model by its name without its maker, and by the name that its maker has for it', () => {
    const real = catalogue.models().filter(({ slug }) => !slug.startsWith('sandbox/'));
    expect(real.length).toBeGreaterThan(100);
    for (const model of real) expect(catalogue.findModel(model.slug.split('/').slice(1).join('/'))).toBe(model);
    expect(catalogue.findModel('claude-opus-5-5')?.slug).toBe('anthropic/claude-opus-5.5');
    expect(catalogue.findModel('claude-haiku-4-5-20251001')?.slug).toBe('anthropic/claude-haiku-4.5');
    expect(catalogue.findModel('gpt-4o')?.slug).toBe('openai/gpt-4o');
  });

  it('gives every provider a model', () => {
    const used = new Set(catalogue.models().flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider.slug)));
    expect(catalogue.providers().filter(({ slug }) => !used.has(slug))).toEqual([]);
  });

  it('has models for every API', () => {
    const apis = catalogue.models().flatMap(({ endpoints }) => endpoints.flatMap((endpoint) => endpoint.apis));
    expect([...new Set(apis)].toSorted()).toEqual([
      'chat',
      'embeddings',
      'messages',
      'responses',
      'transcription',
      'video',
    ]);
  });

  it('has models that make pictures in a chat, at the price of their tokens', () => {
    const pictures = catalogue.models().filter(({ architecture }) => architecture.outputModalities.includes('image'));
    const google = findProvider({ providerId: 'google' })!;
    const rates = pictures.flatMap(({ endpoints }) =>
      endpoints
        .filter(({ apis }) => apis.includes('chat'))
        .map(({ upstreamModel, listedPricing }) => {
          const prices = google.models.find(({ id }) => id === upstreamModel)!.prices as ModelPrice;
          return [listedPricing['image_output_token'], rateText(prices['output_image_mtok'] as number, 1_000_000n)];
        }),
    );
    expect(rates.length).toBeGreaterThan(0);
    for (const [charged, expected] of rates) expect(charged).toBe(expected);
  });

  it('charges cached tokens in native batches as their providers do', () => {
    const shares = new Map<string, Set<number>>();
    for (const { endpoints } of catalogue.models()) {
      for (const { provider, pricing, batchPricing } of endpoints) {
        if (provider.batch !== 'native' || pricing.inputCacheRead === undefined) continue;
        const cached = Number(batchPricing.inputCacheRead ?? batchPricing.prompt);
        const whole = Number(batchPricing.inputCacheRead === undefined ? pricing.prompt : pricing.inputCacheRead);
        shares.set(provider.slug, (shares.get(provider.slug) ?? new Set()).add(cached / whole));
      }
    }
    const { 'google-ai-studio': google, groq, ...others } = Object.fromEntries(shares);
    // Gemini charges a hit of its cache alike in and out of batches; Groq half of a token that is not cached.
    expect([google, groq]).toEqual([new Set([1]), new Set([0.5])]);
    for (const share of Object.values(others).flatMap((found) => [...found])) expect(share).toBeCloseTo(0.5, 2);
  });

  it('lists no sampler for models that refuse it', () => {
    const listed = (slug: string) => catalogue.findModel(slug)?.supportedParameters;
    for (const version of ['opus-4.7', 'opus-4.8', 'opus-5', 'opus-5.5', 'sonnet-5', 'fable-5.1']) {
      for (const sampler of ['temperature', 'top_p', 'top_k']) {
        expect(listed(`anthropic/claude-${version}`)).not.toContain(sampler);
      }
    }
    expect(listed('anthropic/claude-sonnet-4.6')).toContain('temperature');
    expect(listed('google/gemini-2.5-flash')).toContain('seed');
    expect(listed('google/gemini-2.5-flash')).not.toContain('presence_penalty');
  });
});

describe('the prices that the repository ships', () => {
  /** One token more than each threshold of the data, and one below. */
  const PROMPTS = [1_000, 128_000, 128_001, 199_999, 200_000, 200_001, 271_999, 272_000, 272_001, 900_000];
  const HOURS = [0, 0.75, 1, 3.99, 4, 6, 9.5, 10, 16.25, 16.75, 23.5];
  /** Endpoints whose price data is per token, each with a provider that has this model alone. */
  const whole = parseCatalogue(shipped);
  const compared = references.flatMap(([name, { source, id }]) => {
    const found = findProvider({ providerId: source })!;
    const model = { ...found.models.find((one) => one.id === id)!, match: { equals: id } };
    const [slug = ''] = name.split(' ');
    const { provider, upstream_model: upstream } = endpointOf(name);
    const endpoint = whole
      .findModel(slug)!
      .endpoints.find((one) => one.provider.slug === provider && one.upstreamModel === upstream)!;
    if (endpoint.apis.includes('transcription')) return [];
    return [{ name, pricing: endpoint.pricing, model, provider: { ...found, models: [model] } }];
  });
  const usageOf = (promptTokens: number, cachedTokens: number, completionTokens: number): Usage => ({
    promptTokens,
    cachedTokens,
    completionTokens,
    totalTokens: promptTokens + completionTokens,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    audioPromptTokens: 0,
    audioCompletionTokens: 0,
    provenance: 'upstream',
  });

  it('are what the price data charges, at every length of a prompt and every hour', () => {
    const wrong: string[] = [];
    for (const { name, pricing, model, provider } of compared) {
      for (const promptTokens of PROMPTS) {
        for (const hour of HOURS) {
          const at = new Date(Date.parse(`${seed.asOf}T00:00:00Z`) + hour * 3_600_000);
          const cached = pricing.inputCacheRead === undefined ? 0 : 500;
          const tokens = { input_tokens: promptTokens, cache_read_tokens: cached, output_tokens: 700 };
          const expected = calcPrice(tokens, model.id, { provider, timestamp: at })!.total_price;
          const rates = pricesFor(pricing, promptTokens, at.getTime());
          const { totalCost } = priceUsage(rates, usageOf(promptTokens, cached, 700));
          const difference = Math.abs(Number(totalCost) / 1e12 - expected);
          if (difference > 1e-9) wrong.push(`${name}, ${promptTokens} tokens at ${hour} hours`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(compared.length).toBeGreaterThan(240);
  });

  it('are the batch prices of the price data, for the models that have them there', () => {
    const listed = findProvider({ providerId: 'openrouter' })!.models.filter(({ id }) => id.endsWith(':batch'));
    const found = listed.flatMap(({ id }) => {
      const endpoint = whole
        .findModel(id.replace(':batch', ''))
        ?.endpoints.find(({ provider }) => provider.batch === 'native');
      return endpoint ? [{ id, endpoint }] : [];
    });
    for (const { id, endpoint } of found) {
      for (const promptTokens of PROMPTS) {
        const tokens = { input_tokens: promptTokens, cache_read_tokens: 500, output_tokens: 700 };
        const { total_price } = calcPrice(tokens, id, { providerId: 'openrouter' })!;
        const { totalCost } = priceUsage(
          pricesFor(endpoint.batchPricing, promptTokens, 0),
          usageOf(promptTokens, 500, 700),
        );
        expect(Number(totalCost) / 1e12).toBeCloseTo(total_price, 9);
      }
    }
    expect(found.map(({ id }) => id)).toEqual(['openai/gpt-6-luna:batch', 'openai/gpt-6-sol:batch']);
  });

  it('are the values of the price data in every rate, cached, written, audio, image and the rest', () => {
    const wrong = references.flatMap(([key, { source, id, seen }]) => {
      const { pricing, tools = {}, contextLength } = findPrices(source, id, seed.asOf);
      const endpoint = endpointOf(key);
      const sold = endpoint['tool_pricing'] as Readonly<Record<string, string>> | undefined;
      const hasTools = Object.entries(tools).every(([tool, rate]) => sold?.[tool] === rate);
      const isSame = hasTools && isDeepStrictEqual(endpoint['pricing'], pricing);
      const hasContext = !('context_length' in seen) || endpoint['context_length'] === contextLength;
      return isSame && hasContext ? [] : [key];
    });
    expect(wrong).toEqual([]);
    expect(references.length).toBeGreaterThan(270);
  });
});

describe(rateText.name, () => {
  it.each([
    [0.15, 1_000_000n, '0.00000015'],
    [0.1, 1_000_000n, '0.0000001'],
    [0.00875, 1_000_000n, '0.00000000875'],
    [10, 1_000_000n, '0.00001'],
    [1e-7, 1_000_000n, '0.0000000000001'],
    [12, 1_000n, '0.012'],
    [0.36, 3_600n, '0.0001'],
    ['0.0043', 60n, '0.000071666666666667'],
    [0, 1_000_000n, '0'],
  ])('turns %p for %p into %p each', (price, per, expected) => {
    expect(rateText(price, per)).toBe(expected);
  });

  it('refuses what is no price', () => {
    for (const wrong of [-1, Number.NaN, Number.POSITIVE_INFINITY, '', '1,5']) {
      expect(() => rateText(wrong, 1n)).toThrow();
    }
  });
});
