import { AppError } from '@libs/errors';
import { Catalogue, parseCatalogue, type Endpoint } from '@libs/inference';
import type { BatchHeader } from './batch-header';
import { routeBatch, type BatchAccess } from './batch-route';

const provider = (slug: string, batch: string): string => `
  - { slug: ${slug}, name: ${slug.toUpperCase()}, base_url: "https://${slug}.test/v1", protocol: openai, api_key_env: KEY, batch: ${batch} }`;

const endpoint = (slug: string, price: string): string => `
      - { provider: ${slug}, upstream_model: m, apis: [chat], pricing: { prompt: "${price}", completion: "${price}" } }`;

const catalogue = parseCatalogue([
  {
    name: 'test.yaml',
    text: `
providers:${provider('dear', 'managed')}${provider('cheap', 'managed')}${provider('never', 'none')}
models:
  - slug: vendor/chat
    name: Chat
    endpoints:${endpoint('dear', '0.02')}${endpoint('cheap', '0.01')}${endpoint('never', '0.001')}
  - slug: vendor/old
    name: Old
    expiration_date: 2026-02-01
    endpoints:${endpoint('cheap', '0.01')}
  - slug: vendor/unbatched
    name: Unbatched
    endpoints:${endpoint('never', '0.001')}
`,
  },
]);

const BATCH: BatchHeader = { endpoint: '/v1/chat/completions', model: 'vendor/chat', only: null, callbackUrl: null };
const ALL: BatchAccess = { isUsable: () => true, hasOwnKey: () => false, permit: (endpoints) => [...endpoints] };

function route(changes: Partial<BatchHeader>, usable: (slug: string) => boolean = () => true): string {
  const header: BatchHeader = { ...BATCH, ...changes };
  try {
    return routeBatch(header, catalogue, { ...ALL, isUsable: ({ provider: { slug } }) => usable(slug) }).provider.slug;
  } catch (error) {
    if (error instanceof AppError) return `${error.status} ${error.message}`;
    throw error;
  }
}

describe(routeBatch, () => {
  it('prefers endpoints for which the caller has a key, whatever they cost', () => {
    const chosen = routeBatch(BATCH, catalogue, { ...ALL, hasOwnKey: ({ provider: { slug } }) => slug === 'dear' });
    expect(chosen.provider.slug).toBe('dear');
  });

  it('picks the cheapest endpoint that policies permit, and asks them only about what could run the batch', () => {
    const asked: string[][] = [];
    const permit: BatchAccess['permit'] = (endpoints) => {
      asked.push(endpoints.map(({ provider: { slug } }) => slug));
      return endpoints.filter(({ provider: { slug } }) => slug === 'dear');
    };
    expect(routeBatch(BATCH, catalogue, { ...ALL, permit }).provider.slug).toBe('dear');
    expect(asked).toEqual([['dear', 'cheap']]);
    const isUsable = (): boolean => false;
    expect(() => routeBatch(BATCH, catalogue, { ...ALL, isUsable, permit })).toThrow('No provider can run this batch');
    expect(asked).toHaveLength(1);
  });

  it('takes no batch for a model from the day of its expiration', () => {
    const on = (day: string): Endpoint =>
      routeBatch({ ...BATCH, model: 'vendor/old' }, catalogue, ALL, Date.parse(`${day}T12:00:00Z`));
    expect(on('2026-01-31').provider.slug).toBe('cheap');
    expect(() => on('2026-02-01')).toThrow(
      expect.objectContaining({
        code: 'not_found',
        availability: expect.objectContaining({ code: 'model_deprecated' }),
      }),
    );
  });

  it('picks the cheapest endpoint that can run a batch', () => {
    expect(route({})).toBe('cheap');
    expect(route({}, (slug) => slug !== 'cheap')).toBe('dear');
  });

  it('picks no other tier than the standard one, whatever it costs', () => {
    const model = catalogue.findModel('vendor/chat')!;
    const flex = { ...model.endpoints[1]!, capabilities: { service_tier: 'flex' } };
    const tiers = new Catalogue(catalogue.providers(), [{ ...model, endpoints: [flex, model.endpoints[0]!] }]);
    expect(routeBatch(BATCH, tiers, ALL).provider.slug).toBe('dear');
  });

  it('picks an endpoint that speaks another API, which lines are translated to', () => {
    expect(route({ endpoint: '/v1/responses' })).toBe('cheap');
    expect(route({ endpoint: '/v1/messages' })).toBe('cheap');
  });

  it('keeps to the providers that the caller names, by slug or by name', () => {
    expect(route({ only: ['dear'] })).toBe('dear');
    expect(route({ only: ['DEAR', 'never', 'unknown'] })).toBe('dear');
  });

  it('knows a model with and without its batch suffix', () => {
    expect(route({ model: 'vendor/chat:batch' })).toBe('cheap');
  });

  it.each([
    [{ model: 'vendor/unknown' }, '400 The model "vendor/unknown" does not exist'],
    [{ endpoint: '/v1/embeddings' as const }, '400 model has no batch endpoint for /v1/embeddings'],
    [{ model: 'vendor/unbatched' }, '400 model has no batch endpoint for /v1/chat/completions'],
    [{ model: 'vendor/chat:free' }, '422 Model variants cannot be used in a batch'],
    [{ model: 'vendor/chat:online' }, '422 Model variants cannot be used in a batch'],
    [
      { only: ['unknown', 'never'] },
      '404 No provider can run this batch: change model or provider.only, which names providers that are not known here: "unknown"',
    ],
    [{ only: ['never'] }, '404 No provider can run this batch: change model or provider.only'],
  ])('refuses %j', (changes, expected) => {
    expect(route(changes)).toBe(expected);
  });

  it('has nothing to offer when no provider has a key', () => {
    expect(route({}, () => false)).toBe('404 No provider can run this batch: change model or provider.only');
  });
});
