import { parseRate, parseUsd } from '../pricing/money';
import { priceUsage } from '../pricing/price';
import { pricesFor } from '../pricing/price-overrides';
import { emptyUsage } from '../pricing/usage';
import { parseCatalogue, CatalogueError, type Endpoint } from './catalogue';
import { toModelEntry } from './catalogue-listing';

const catalogueText = (overrides: object, batch: string, more: object): string =>
  JSON.stringify({
    providers: [{ slug: 'acme', name: 'Acme', base_url: 'https://api.acme.test/v1', protocol: 'openai', batch }],
    models: [
      {
        slug: 'acme/long',
        name: 'Long',
        context_length: 1_000_000,
        endpoints: [
          {
            provider: 'acme',
            upstream_model: 'long-1',
            apis: ['chat'],
            pricing: { prompt: '0.000002', completion: '0.000012', overrides },
            ...more,
          },
        ],
      },
    ],
  });
const parsed = (overrides: object, batch = 'native', more: object = {}) =>
  parseCatalogue([{ name: 'a.yaml', text: catalogueText(overrides, batch, more) }]).findModel('acme/long')!;
const endpointOf = (overrides: object, batch?: string, more?: object): Endpoint =>
  parsed(overrides, batch, more).endpoints[0]!;

const LONG = { min_prompt_tokens: 200_001, prompt: '0.000004', completion: '0.000018' };
const NIGHT = { utc_start: 16.5, utc_end: 0.5, prompt: '0.000001' };

function problemsOf(overrides: unknown, more?: object): string[] {
  try {
    parsed(overrides as object, 'native', more);
  } catch (thrown) {
    if (thrown instanceof CatalogueError) {
      return thrown.problems.map(({ path, message }) => `${path.replace('models[0].endpoints[0].', '')}: ${message}`);
    }
    throw thrown;
  }
  return [];
}

describe('overrides of prices in a catalogue', () => {
  it('are read, and listed as the file has them', () => {
    const endpoint = endpointOf([LONG, NIGHT]);
    expect(endpoint.pricing.overrides).toEqual([
      { minPromptTokens: 200_001, rates: { prompt: parseRate('0.000004'), completion: parseRate('0.000018') } },
      { utcStart: 16.5, utcEnd: 0.5, rates: { prompt: parseRate('0.000001') } },
    ]);
    expect(endpoint.listedPricing.overrides).toEqual([LONG, NIGHT]);
    expect(toModelEntry(parsed([LONG])).pricing).toMatchObject({ prompt: '0.000002', overrides: [LONG] });
    expect(endpointOf([]).pricing).not.toHaveProperty('overrides');
  });

  it('take every rate of tokens that an entry of the listing may have, and picture tokens', () => {
    const all = {
      min_prompt_tokens: 200_001,
      prompt: '1',
      completion: '2',
      audio: '3',
      input_audio_cache: '4',
      input_cache_read: '5',
      input_cache_write: '6',
      input_cache_write_1h: '7',
      image_token: '8',
    };
    const { pricing, listedPricing } = endpointOf([all]);
    expect(listedPricing.overrides).toEqual([all]);
    const used = { ...emptyUsage('upstream'), promptTokens: 300_000 };
    const rates = pricesFor(pricing, used.promptTokens, 0);
    expect(priceUsage(rates, used, { imageTokens: 2 }).totalCost).toBe(parseUsd('300014'));
  });

  it('name no service tier: that is an endpoint of its own', () => {
    expect(problemsOf([{ ...LONG, service_tier: 'priority' }])).toEqual([
      expect.stringContaining('pricing.overrides[0].service_tier'),
    ]);
  });

  it('are halved for a batch API, which has no hours, and kept where lines are single calls', () => {
    const halved = { min_prompt_tokens: 200_001, prompt: '0.000002', completion: '0.000009' };
    expect(endpointOf([LONG, NIGHT]).listedBatchPricing.overrides).toEqual([halved]);
    expect(endpointOf([LONG, NIGHT], 'managed').listedBatchPricing.overrides).toEqual([LONG, NIGHT]);
    const batch_pricing = { prompt: '0.1', completion: '0', overrides: [LONG] };
    expect(endpointOf([NIGHT], 'native', { batch_pricing }).listedBatchPricing.overrides).toEqual([LONG]);
  });

  it('are refused by the hour for a batch API, because the provider decides when a request runs', () => {
    const batch_pricing = { prompt: '0.1', completion: '0', overrides: [NIGHT] };
    expect(problemsOf([], { batch_pricing })).toEqual([
      'batch_pricing: cannot change by the hour: the provider decides when a request of its batch begins',
    ]);
    expect(endpointOf([], 'managed', { batch_pricing }).listedBatchPricing.overrides).toEqual([NIGHT]);
  });

  it('are refused where they say nothing, too much or something impossible', () => {
    expect(problemsOf([{ prompt: '1' }, { min_prompt_tokens: 5 }])).toEqual([
      'pricing.overrides[0]: needs min_prompt_tokens, or utc_start and utc_end',
      'pricing.overrides[1]: has no price',
    ]);
    expect(
      problemsOf([
        { ...LONG, min_prompt_tokens: 0.5 },
        { ...NIGHT, utc_start: 24.5 },
      ]),
    ).toEqual([
      'pricing.overrides[0].min_prompt_tokens: must be an integer of at least 1',
      'pricing.overrides[1].utc_start: must be an hour of the UTC day from 0 to 24, such as 16.5',
    ]);
    expect(
      problemsOf([
        { ...NIGHT, utc_end: 16.5 },
        { utc_start: 3, prompt: '1' },
        { ...LONG, gold: '1' },
      ]),
    ).toEqual([
      'pricing.overrides[0].utc_end: must differ from utc_start',
      'pricing.overrides[1].utc_end: must be an hour of the UTC day from 0 to 24, such as 16.5',
      'pricing.overrides[2].gold: is not a known member',
    ]);
    expect(problemsOf([{ ...LONG, prompt: 4 }])).toEqual([
      'pricing.overrides[0].prompt: must be a decimal string in quotes, such as "0.00000015"',
    ]);
    expect(problemsOf('cheap')).toEqual(['pricing.overrides: must be a list']);
    expect(problemsOf([LONG], { apis: ['chat', 'transcription'] })).toContain(
      'pricing.overrides: are for chat, responses, messages, embeddings only',
    );
  });
});
