import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { calcPrice } from '@pydantic/genai-prices';
import { parseCatalogue, pricesFor, priceUsage, type Catalogue, type Endpoint, type Usage } from '@libs/inference';
import { rateText } from './catalogue-facts/price-data';
import { generateCatalogue, pricedEndpoints, PRICES_AS_OF, type PricedEndpoint } from './generate-catalog';

const folder = join(__dirname, '..', 'catalog');
const shipped = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .toSorted()
  .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
let catalogue: Catalogue;

beforeAll(() => {
  catalogue = parseCatalogue(shipped);
});

describe(generateCatalogue.name, () => {
  it('gives the files that the repository ships, byte for byte', () => {
    const generated = [...generateCatalogue()].map(([name, text]) => ({ name, text }));
    const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
    expect(generated.toSorted(byName)).toEqual(shipped.filter(({ name }) => name !== 'sandbox.yaml'));
  });

  it('makes a catalogue that is valid together with the sandbox', () => {
    expect(catalogue.providers().length).toBeGreaterThanOrEqual(30);
    expect(catalogue.models().length).toBeGreaterThanOrEqual(100);
    expect(catalogue.findModel('sandbox/chat')?.endpoints).toHaveLength(1);
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

  it('takes the prices that are in force on the day', () => {
    const on = (day: string) => parseCatalogue([...generateCatalogue(day)].map(([name, text]) => ({ name, text })));
    const price = (day: string) => on(day).findModel('openai/gpt-5.6-sol')?.endpoints[0]?.listedPricing['completion'];
    expect(price('2026-11-21')).toBe('0.00002');
    expect(price('2026-08-20')).not.toBe('0.00002');
  });
});

describe('the prices that the repository ships', () => {
  /** One token more than each threshold of the data, and one below. */
  const PROMPTS = [1_000, 128_000, 128_001, 199_999, 200_000, 200_001, 271_999, 272_000, 272_001, 900_000];
  const HOURS = [0, 0.75, 1, 3.99, 4, 6, 9.5, 10, 16.25, 16.75, 23.5];
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
    const named = pricedEndpoints();
    // The data's own calculator finds a model by patterns; some ids are those of no pattern, or of another model's.
    const isFound = ({ source, id }: PricedEndpoint): boolean =>
      calcPrice({ input_tokens: 1 }, id, { providerId: source })?.model.id === id;
    const compared = named.filter(isFound);
    const wrong: string[] = [];
    for (const { slug, provider, upstreamModel, source, id } of compared) {
      const isIt = (one: Endpoint): boolean => one.provider.slug === provider && one.upstreamModel === upstreamModel;
      const { pricing } = catalogue.findModel(slug)!.endpoints.find(isIt)!;
      for (const promptTokens of PROMPTS) {
        for (const hour of HOURS) {
          const at = new Date(Date.parse(`${PRICES_AS_OF}T00:00:00Z`) + hour * 3_600_000);
          const cached = pricing.inputCacheRead === undefined ? 0 : 500;
          const tokens = { input_tokens: promptTokens, cache_read_tokens: cached, output_tokens: 700 };
          const expected = calcPrice(tokens, id, { providerId: source, timestamp: at })!.total_price;
          const rates = pricesFor(pricing, promptTokens, at.getTime());
          const { totalCost } = priceUsage(rates, usageOf(promptTokens, cached, 700));
          const difference = Math.abs(Number(totalCost) / 1e12 - expected);
          if (difference > 1e-9) wrong.push(`${slug} at ${provider}, ${promptTokens} tokens at ${hour} hours`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(compared.length).toBeGreaterThan(named.length * 0.9);
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
