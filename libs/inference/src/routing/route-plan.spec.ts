import { AppError } from '@libs/errors';
import { parseRate } from '../pricing/money';
import { aCatalogue, aModel, anEndpoint, anOwnCredential, aProvider } from '../testing';
import type { Endpoint, Model } from '../catalogue/catalogue';
import type { OwnCredential } from './credential-source';
import { failedRouteOf } from './failed-route';
import { planRoute, type RoutePlan, type RouteRequest, type RouteWorld } from './route-plan';
import type { Rest } from './route-refusal';
import { traitsOf } from '../catalogue/endpoint-traits';

/** An endpoint at a provider of this slug, at so many dollars per million tokens. */
const at = (slug: string, dollars: number, values: Partial<Endpoint> = {}): Endpoint =>
  anEndpoint({
    provider: aProvider({ slug, name: slug.toUpperCase() }),
    pricing: { prompt: parseRate((dollars / 1e6).toFixed(9)), completion: 0n },
    ...values,
  });

const threeEndpoints = (): Endpoint[] => [at('dear', 4), at('cheap', 1), at('middle', 2)];

interface Given {
  readonly models?: readonly Model[];
  readonly out?: readonly string[];
  readonly without?: readonly string[];
  readonly dice?: number;
  /** By provider slug, followed by the id of the credential where there is one. */
  readonly resting?: Readonly<Record<string, Rest>>;
  readonly credentials?: readonly OwnCredential[];
  /** By provider slug. */
  readonly speed?: Readonly<Record<string, { readonly latency?: number; readonly throughput?: number }>>;
  /** Slug of the provider that served the conversation last. */
  readonly sticky?: string;
  readonly takesLinks?: RouteWorld['takesLinks'];
  readonly today?: string;
}

const planOf = (request: Partial<RouteRequest> = {}, given: Given = {}): RoutePlan => {
  const { models = [aModel({ endpoints: threeEndpoints() })], out = [], without = [], dice = 0 } = given;
  const { resting = {}, speed = {}, sticky } = given;
  const stay = models.flatMap(({ endpoints }) => endpoints).find(({ provider }) => provider.slug === sticky);
  const world: RouteWorld = {
    catalogue: aCatalogue(...models),
    health: {
      hadOutage: ({ provider }) => out.includes(provider.slug),
      restOf: ({ provider }, credential) => resting[[provider.slug, credential?.id ?? []].flat().join(' ')] ?? null,
    },
    statistics: {
      latencySeconds: ({ provider }) => speed[provider.slug]?.latency ?? null,
      tokensPerSecond: ({ provider }) => speed[provider.slug]?.throughput ?? null,
    },
    sticky: { find: (key) => (key === 'conversation' && stay ? traitsOf(stay).key : null) },
    credentials: given.credentials,
    takesLinks: given.takesLinks,
    today: given.today,
    isAvailable: ({ slug }) => !without.includes(slug),
    dice: () => dice,
  };
  return planRoute({ api: 'chat', model: 'acme/large', ...request }, world);
};

const plan = (request: Partial<RouteRequest> = {}, given: Given = {}): string[] =>
  planOf(request, given).candidates.map(({ model, endpoint, credential }) => {
    const { slug } = endpoint.provider;
    const name = credential ? `${slug} with ${credential.id}` : slug;
    return model.slug === 'acme/large' ? name : `${model.slug}@${name}`;
  });

const refusal = (request: Partial<RouteRequest>, given: Given = {}): AppError => {
  try {
    plan(request, given);
  } catch (thrown) {
    if (thrown instanceof AppError) return thrown;
  }
  throw new Error('no AppError was thrown');
};

describe(planRoute.name, () => {
  it('orders by price after the one that was drawn', () => {
    expect(plan()).toEqual(['cheap', 'middle', 'dear']);
    expect(plan({}, { dice: 0.999 })).toEqual(['dear', 'cheap', 'middle']);
  });

  it('draws the first by weight 1/price²', () => {
    // Weights 1, 1/4 and 1/16: shares of 16/21, 4/21 and 1/21.
    expect(plan({}, { dice: 15.9 / 21 })[0]).toBe('cheap');
    expect(plan({}, { dice: 16.1 / 21 })[0]).toBe('middle');
    expect(plan({}, { dice: 20.1 / 21 })[0]).toBe('dear');
  });

  it('draws among the free where something is free', () => {
    const models = [aModel({ endpoints: [at('a', 1), at('b', 0), at('c', 0)] })];
    expect(plan({}, { models, dice: 0.49 })[0]).toBe('b');
    expect(plan({}, { models, dice: 0.99 })[0]).toBe('c');
  });

  it('puts endpoints with an outage last', () => {
    expect(plan({}, { out: ['cheap'] })).toEqual(['middle', 'dear', 'cheap']);
    expect(plan({}, { out: ['cheap', 'middle', 'dear'] })).toEqual(['cheap', 'middle', 'dear']);
  });

  it('follows an order and then the price, without a draw', () => {
    expect(plan({ preferences: { order: ['middle', 'nobody'] } }, { dice: 0.999 })).toEqual([
      'middle',
      'cheap',
      'dear',
    ]);
    expect(plan({ preferences: { order: ['DEAR', 'Middle'] } }, { dice: 0.999 })).toEqual(['dear', 'middle', 'cheap']);
  });

  it('tries only the order, or only the first, where no fallbacks are wanted', () => {
    expect(plan({ preferences: { order: ['dear', 'middle'], allowFallbacks: false } })).toEqual(['dear', 'middle']);
    expect(plan({ preferences: { allowFallbacks: false } })).toEqual(['cheap']);
  });

  it('sorts without a draw when a sort is asked for, also by suffix', () => {
    expect(plan({ preferences: { sort: 'price' } }, { dice: 0.999 })).toEqual(['cheap', 'middle', 'dear']);
    expect(plan({ model: 'acme/large:floor' }, { dice: 0.999 })).toEqual(['cheap', 'middle', 'dear']);
    expect(plan({ model: 'acme/large:nitro' }, { dice: 0.999 })).toEqual(['cheap', 'middle', 'dear']);
  });

  it('sorts by the rates for prompts of this length', () => {
    const cheapWhenShort = at('short', 1, {
      pricing: {
        prompt: parseRate('0.000001'),
        completion: 0n,
        overrides: [{ minPromptTokens: 200, rates: { prompt: parseRate('0.000009') } }],
      },
    });
    const models = [aModel({ slug: 'acme/large', endpoints: [cheapWhenShort, at('even', 2)] })];
    const order = (estimatedPromptTokens: number): string[] =>
      planOf({ estimatedPromptTokens, preferences: { sort: 'price' } }, { models }).candidates.map(
        ({ endpoint }) => endpoint.provider.slug,
      );
    expect([order(199), order(200)]).toEqual([
      ['short', 'even'],
      ['even', 'short'],
    ]);
  });

  it('sorts by the rates for pictures where the request asks for them', () => {
    const words = { prompt: parseRate('0.000001'), completion: parseRate('0.000001') };
    const painter = at('painter', 1, { pricing: { ...words, imageOutputToken: parseRate('0.00012') } });
    const seller = at('seller', 2, { pricing: { ...words, imageOutput: parseRate('0.04') } });
    const even = at('even', 3, { pricing: { prompt: parseRate('0.000002'), completion: parseRate('0.000002') } });
    const { architecture } = aModel();
    const paints = { ...architecture, outputModalities: ['text', 'image'] };
    const models = [aModel({ slug: 'acme/large', architecture: paints, endpoints: [painter, seller, even] })];
    const order = (outputModalities: string[]): string[] =>
      planOf({ outputModalities, preferences: { sort: 'price' } }, { models }).candidates.map(
        ({ endpoint }) => endpoint.provider.slug,
      );
    expect(order([])).toEqual(['painter', 'seller', 'even']);
    expect(order(['image'])).toEqual(['even', 'seller', 'painter']);
  });

  it('takes a suffix for part of the name where a model is called so', () => {
    const models = [aModel(), aModel({ slug: 'acme/large:free' })];
    expect(plan({ model: 'acme/large:free' }, { models })).toEqual(['acme/large:free@acme']);
  });

  it('serves a model until the day before its expiration, and goes on with others after it', () => {
    const models = [aModel({ expirationDate: '2026-02-01', endpoints: [at('a', 1)] }), aModel({ slug: 'acme/new' })];
    expect(plan({}, { models, today: '2026-01-31' })).toEqual(['a']);
    expect(plan({ models: ['acme/new'] }, { models, today: '2026-02-02' })).toEqual(['acme/new@acme']);
  });

  it('keeps to what is allowed', () => {
    expect(plan({ preferences: { only: ['dear', 'CHEAP'] } })).toEqual(['cheap', 'dear']);
    expect(plan({ preferences: { ignore: ['cheap'] } })).toEqual(['middle', 'dear']);
  });

  it('knows the regions of a provider by its plain slug, and one region by its own', () => {
    const models = [aModel({ endpoints: [at('vertex/us', 1), at('vertex/eu', 2), at('vertexed', 3)] })];
    expect(plan({ preferences: { only: ['vertex'] } }, { models })).toEqual(['vertex/us', 'vertex/eu']);
    expect(plan({ preferences: { only: ['vertex/eu'] } }, { models })).toEqual(['vertex/eu']);
  });

  it('leaves out providers without a key', () => {
    expect(plan({}, { without: ['cheap'] })).toEqual(['middle', 'dear']);
  });

  it('keeps an endpoint that the prompt may not fit for the end', () => {
    const models = [
      aModel({ endpoints: [at('small', 1, { contextLength: 1_000 }), at('large', 9, { contextLength: null })] }),
    ];
    expect(plan({ estimatedPromptTokens: 1_001 }, { models })).toEqual(['large', 'small']);
    expect(plan({ estimatedPromptTokens: 1_000 }, { models })).toEqual(['small', 'large']);
  });

  it('goes on with the other models, each once, and skips those it cannot use', () => {
    const models = [aModel({ endpoints: [at('a', 1)] }), aModel({ slug: 'acme/small', endpoints: [at('b', 1)] })];
    const request = { models: ['no/such', 'acme/large', 'acme/small'] };
    expect(plan(request, { models })).toEqual(['a', 'acme/small@b']);
    expect(plan({ model: 'no/such', models: ['acme/small'] }, { models })).toEqual(['acme/small@b']);
  });

  it.each([
    ['an unknown model', { model: 'no/such' }, {}, 400, 'model_not_found'],
    ['no model at all', { model: '' }, {}, 400, 'model_not_found'],
    ['a suffix without its model', { model: 'no/such:floor' }, {}, 400, 'model_not_found'],
    ['a variant that does not exist', { model: 'acme/large:thinking' }, {}, 400, 'model_not_found'],
    ['a free variant of a model that costs something', { model: 'acme/large:free' }, {}, 404, 'free_variant_ended'],
    [
      'a model from the day of its expiration',
      {},
      { models: [aModel({ expirationDate: '2026-02-01' })], today: '2026-02-01' },
      404,
      'model_deprecated',
    ],
    [
      'a search of the web where no answer is written',
      { model: 'acme/large:online', api: 'embeddings' as const },
      { models: [aModel({ endpoints: [at('a', 1, { apis: ['embeddings'] })] })] },
      400,
      'wrong_endpoint',
    ],
    ['a model that does not speak the API', { api: 'video' as const }, {}, 400, 'wrong_endpoint'],
    ['a model without any key', {}, { without: ['cheap', 'middle', 'dear'] }, 404, 'no_endpoints'],
    ['nothing left of the allowed', { preferences: { only: ['nobody'] } }, {}, 404, 'constraint_filtered'],
    ['an empty list of allowed', { preferences: { only: [] } }, {}, 404, 'constraint_filtered'],
    [
      'an order without fallbacks',
      { preferences: { order: ['x'], allowFallbacks: false } },
      {},
      404,
      'constraint_filtered',
    ],
  ])('refuses %s', (_what, request, given, status, code) => {
    const error = refusal(request, given);
    expect(error.status).toBe(status);
    expect(error.availability).toMatchObject({ code, retryable: false });
  });

  it('tells of the first model when none can be used', () => {
    expect(refusal({ model: 'no/such', models: ['no/other'] }).availability).toMatchObject({
      requested_models: ['no/such'],
    });
  });

  it('names the model that there is not, unless it may be a key', () => {
    expect(refusal({ model: 'acme/larg' }).message).toBe(
      'The model "acme/larg" does not exist. Did you mean acme/large?',
    );
    expect(refusal({ model: 'acme/large:thinking' }).message).toBe(
      'The model "acme/large:thinking" does not exist in this variant',
    );
    expect(refusal({ model: 'acme/large:free' }).message).toBe('The model "acme/large:free" has no free endpoint');
    const mistaken = refusal({ model: 'sk-proj-0123456789' });
    expect(mistaken.message).toBe('The model does not exist');
    expect(mistaken.availability).toMatchObject({ requested_models: ['[redacted]'] });
    expect(failedRouteOf(mistaken)?.plan.requested).toBe('[redacted]');
  });

  it.each<[string, Partial<RouteRequest>, string]>([
    [
      'allowed providers',
      { preferences: { only: ['nobody'] } },
      'No provider of the model "acme/large" is allowed (it has DEAR, CHEAP, MIDDLE); change provider.only, or leave it out',
    ],
    [
      'another API',
      { api: 'video' },
      'The model "acme/large" cannot be used with POST /videos; use POST /chat/completions or POST /embeddings',
    ],
    [
      'a search where no answer is written',
      { model: 'acme/large:online', api: 'embeddings' },
      'The model "acme/large:online" cannot be used with POST /embeddings, which does not search the web; leave out :online',
    ],
  ])('says of %s which model is refused, and what to change', (_what, request, message) => {
    expect(refusal(request).message).toBe(message);
  });

  it('tells of what it considered, and what was against it', () => {
    const { considered, requested, resolved } = planOf({
      model: 'acme/large:floor',
      preferences: { ignore: ['dear'] },
    });
    expect(considered.map(({ endpoint, excludedBy }) => [endpoint.provider.slug, excludedBy])).toEqual([
      ['dear', 'provider.ignore'],
      ['cheap', null],
      ['middle', null],
    ]);
    expect([requested, resolved]).toEqual(['acme/large:floor', 'acme/large']);
  });
});

describe('slugs of providers', () => {
  const models = [
    aModel({
      endpoints: [
        at('acme', 1, { region: 'us-east-1' }),
        at('acme', 2, { region: 'eu-west-1' }),
        at('acme/turbo', 3),
        at('acme/priority', 4),
        at('other', 5, { capabilities: { service_tier: 'flex' } }),
        at('other', 6, { quantization: 'fp8' }),
      ],
    }),
  ];
  const prices = (only: readonly string[]): number[] =>
    planOf({ preferences: { only, sort: 'price' } }, { models }).candidates.map(
      ({ endpoint }) => Number(endpoint.pricing.prompt) / 1e12,
    );

  it.each([
    [['acme'], [1, 2, 3]],
    [['ACME/Turbo'], [3]],
    [['acme/eu-west-1'], [2]],
    [['acme/priority'], [4]],
    [
      ['acme/priority', 'acme'],
      [1, 2, 3, 4],
    ],
    [['other'], [6]],
    [['other/flex'], [5]],
    [['Other/fp8'], [6]],
  ])('%j means the endpoints at %j dollars', (only, expected) => {
    expect(prices(only)).toEqual(expected);
  });

  it('ignores the tiers of an ignored provider too', () => {
    const request = { preferences: { ignore: ['acme'] }, serviceTier: 'priority' };
    expect(plan(request, { models })).toEqual(['other']);
  });
});

describe('hard filters', () => {
  const keeping = { retainsPrompts: true, trainsOnPrompts: false, zdr: false };
  const training = { retainsPrompts: false, trainsOnPrompts: true, zdr: false };
  const withPolicy = (slug: string, dataPolicy: typeof keeping, zdr = false): Endpoint =>
    at(slug, 1, { provider: aProvider({ slug, name: slug, dataPolicy }), zdr });
  /** A dollar per million tokens, and two for long prompts. */
  const withOverride = (slug: string, minPromptTokens: number): Endpoint =>
    at(slug, 1, {
      pricing: {
        prompt: parseRate('0.000001'),
        completion: 0n,
        overrides: [{ minPromptTokens, rates: { prompt: parseRate('0.000002') } }],
      },
    });
  const rated = (slug: string, rates: Record<string, string>): Endpoint =>
    at(slug, 1, {
      pricing: {
        prompt: 0n,
        completion: 0n,
        ...Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, parseRate(rate)])),
      },
    });

  const cases: readonly [string, Partial<RouteRequest>, Endpoint, Endpoint, object][] = [
    [
      'data collection',
      { preferences: { dataCollection: 'deny' } },
      withPolicy('yes', { ...keeping, retainsPrompts: false }),
      withPolicy('no', training),
      { code: 'privacy_restricted', excluded_by: 'data_policy:training' },
    ],
    [
      'kept prompts',
      { preferences: { dataCollection: 'deny' } },
      withPolicy('yes', keeping, true),
      withPolicy('no', keeping),
      { code: 'privacy_restricted', excluded_by: 'data_policy:training' },
    ],
    [
      'zero retention',
      { preferences: { zdr: true } },
      at('yes', 1, { zdr: true }),
      at('no', 1),
      { code: 'privacy_restricted', excluded_by: 'data_policy:zdr' },
    ],
    [
      'distillation',
      { preferences: { enforceDistillableText: true } },
      at('yes', 1, { capabilities: { distillable_text: true } }),
      at('no', 1),
      { code: 'constraint_filtered', constraint: { field: 'provider.enforce_distillable_text' } },
    ],
    [
      'quantization',
      { preferences: { quantizations: ['bf16'] } },
      at('yes', 1, { quantization: 'bf16' }),
      at('no', 1, { quantization: 'fp8' }),
      { code: 'constraint_filtered', excluded_by: 'quantization' },
    ],
    [
      'quantization by four bits of any kind',
      { preferences: { quantizations: ['fp4', 'fp8'] } },
      at('yes', 1, { quantization: 'nvfp4' }),
      at('no', 1, { quantization: 'int4' }),
      { excluded_by: 'quantization' },
    ],
    [
      'quantization of one special kind',
      { preferences: { quantizations: ['mxfp8'] } },
      at('yes', 1, { quantization: 'mxfp8' }),
      at('no', 1, { quantization: 'fp8' }),
      { excluded_by: 'quantization' },
    ],
    [
      'the price of prompts',
      { preferences: { maxPrice: { promptPerMillion: parseRate('1.5') } } },
      at('yes', 1.5),
      at('no', 1.501),
      { code: 'constraint_filtered', excluded_by: 'max_price' },
    ],
    [
      'the price of long prompts',
      { estimatedPromptTokens: 300, preferences: { maxPrice: { promptPerMillion: parseRate('1.5') } } },
      withOverride('yes', 501),
      withOverride('no', 500),
      { code: 'constraint_filtered', excluded_by: 'max_price' },
    ],
    [
      'the price of answers',
      { preferences: { maxPrice: { completionPerMillion: parseRate('3') } } },
      rated('yes', { completion: '0.000003' }),
      rated('no', { completion: '0.0000030001' }),
      { excluded_by: 'max_price' },
    ],
    [
      'the price of audio, which is that of text where there is none',
      { preferences: { maxPrice: { audioPerMillion: parseRate('3') } } },
      rated('yes', { prompt: '0.000009', audio: '0.000003' }),
      rated('no', { prompt: '0.000009' }),
      { excluded_by: 'max_price' },
    ],
    [
      'the price of a picture',
      { preferences: { maxPrice: { image: parseRate('0.01') } } },
      rated('yes', { image: '0.01' }),
      rated('no', { image: '0.011' }),
      { excluded_by: 'max_price' },
    ],
    [
      'the price of a request',
      { preferences: { maxPrice: { request: parseRate('0.01') } } },
      rated('yes', {}),
      rated('no', { request: '0.011' }),
      { excluded_by: 'max_price' },
    ],
    [
      'parameters',
      { parameters: ['seed', 'max_tokens'], preferences: { requireParameters: true } },
      at('yes', 1, { supportedParameters: ['seed', 'max_completion_tokens'] }),
      at('no', 1),
      { code: 'constraint_filtered', excluded_by: 'require_parameters' },
    ],
    [
      'the length of the answer',
      { maxOutputTokens: 20_000, capsOutput: false },
      at('yes', 1, { maxCompletionTokens: null }),
      at('no', 1),
      { code: 'constraint_filtered', excluded_by: 'context_length', constraint: { field: 'max_tokens' } },
    ],
    [
      'the length of the prompt',
      { estimatedPromptTokens: 4_001 },
      at('yes', 1, { contextLength: 1_001 }),
      at('no', 1, { contextLength: 1_000 }),
      { code: 'constraint_filtered', excluded_by: 'context_length' },
    ],
    [
      'a region of the policy',
      { policies: [{ regions: ['europe'] }] },
      at('yes', 1, { region: 'eu-west-1' }),
      at('no', 1, { region: 'europium' }),
      { code: 'region_restricted', excluded_by: 'data_region' },
    ],
    [
      'the zero retention of the policy',
      { policies: [{ isZdrRequired: true }], preferences: { zdr: false } },
      at('yes', 1, { zdr: true }),
      at('no', 1),
      { code: 'privacy_restricted', excluded_by: 'data_policy:zdr', constraint: { field: 'policy.zdr' } },
    ],
    [
      'the data collection of the policy',
      { policies: [{ isDataCollectionDenied: true }] },
      withPolicy('yes', { ...keeping, retainsPrompts: false }),
      withPolicy('no', training),
      { excluded_by: 'data_policy:training' },
    ],
    [
      'the providers of the policy',
      { policies: [{ allowedProviders: ['yes', 'other'], ignoredProviders: ['other'] }] },
      at('yes', 1),
      at('other', 1),
      { excluded_by: 'allowed_providers' },
    ],
  ];

  it.each(cases)('keep to %s', (_what, request, fitting, other, availability) => {
    expect(plan(request, { models: [aModel({ endpoints: [other, fitting] })] })).toEqual(['yes']);
    const error = refusal(request, { models: [aModel({ endpoints: [other] })] });
    expect(error.availability).toMatchObject({
      retryable: false,
      requested_models: ['acme/large'],
      affected_providers: [other.provider.name],
      ...availability,
    });
    const isPolicy = request.policies !== undefined;
    const isSize = request.preferences === undefined && request.estimatedPromptTokens !== undefined;
    const isLength = request.maxOutputTokens !== undefined || isSize;
    expect(error.status).toBe(isPolicy ? 403 : isLength ? 400 : 404);
  });

  it('say the numbers where a request is too long', () => {
    const long = refusal({ maxOutputTokens: 32_000, capsOutput: false });
    expect(long.message).toBe(
      'No provider of the model "acme/large" gives that many output tokens: 32000 were asked for, and 16000 are the most (it has DEAR, CHEAP, MIDDLE); lower max_tokens',
    );
    expect(long).toMatchObject({ code: 'max_tokens_exceeded', availability: { constraint: { field: 'max_tokens' } } });
    expect(refusal({ estimatedPromptTokens: 600_000 }).message).toBe(
      'The prompt is longer than the context of the model "acme/large": about 600000 tokens, and 128000 are the most',
    );
  });

  it('rule out no endpoint for a long answer, unless the operator or the request wants it so', () => {
    const models = [aModel({ endpoints: [at('short', 1, { maxCompletionTokens: 4_096 }), at('long', 2)] })];
    expect(plan({ maxOutputTokens: 8_000 }, { models })).toEqual(['long', 'short']);
    expect(plan({ maxOutputTokens: 4_000 }, { models })).toEqual(['short', 'long']);
    expect(plan({ maxOutputTokens: 32_000 }, { models })).toEqual(['short', 'long']);
    expect(plan({ maxOutputTokens: 8_000, capsOutput: false }, { models })).toEqual(['long']);
    expect(plan({ maxOutputTokens: 8_000, preferences: { requireParameters: true } }, { models })).toEqual(['long']);
    expect(refusal({ maxOutputTokens: 32_000, preferences: { requireParameters: true } }).status).toBe(400);
  });

  it('leave models alone that the policy does not name', () => {
    const models = [aModel(), aModel({ slug: 'acme/small' })];
    const request = { models: ['acme/small'], policies: [{ allowedModels: ['acme/small'] }] };
    expect(plan(request, { models })).toEqual(['acme/small@acme']);
    expect(refusal({ policies: [{ ignoredModels: ['acme/large'] }] }).code).toBe('permission_denied');
  });

  it('need a model for every kind of content', () => {
    const { architecture } = aModel();
    const seeing = aModel({ slug: 'acme/eyes', architecture: { ...architecture, inputModalities: ['text', 'image'] } });
    const request = { models: ['acme/eyes'], inputModalities: ['image'] };
    expect(plan(request, { models: [aModel(), seeing] })).toEqual(['acme/eyes@acme']);
    const gives = { code: 'no_endpoints', constraint: { field: 'modalities' } };
    expect(refusal({ outputModalities: ['image'] }).availability).toMatchObject(gives);
    const takes = refusal({ inputModalities: ['image', 'audio'] });
    expect(takes.message).toContain('takes every kind of content of the request (text, image, audio)');
    expect(takes.message).not.toContain('modalities');
    expect(takes.availability).not.toHaveProperty('constraint');
  });

  it('put the policy before the preferences', () => {
    const request = { policies: [{ isZdrRequired: true }], preferences: { only: ['nobody'] } };
    expect(refusal(request).code).toBe('permission_denied');
  });
});

describe('soft preferences', () => {
  const plain = at('plain', 1);
  const able = at('able', 9, { supportedParameters: ['tools'] });

  it('put endpoints first that know the tools of a request', () => {
    const models = [aModel({ endpoints: [plain, able] })];
    expect(plan({ parameters: ['tools'] }, { models, dice: 0.999 })).toEqual(['able', 'plain']);
    expect(plan({ parameters: ['seed'] }, { models })).toEqual(['plain', 'able']);
    expect(plan({ parameters: ['verbosity'] }, { models })).toEqual(['plain', 'able']);
  });

  it('put endpoints last that lose pictures behind links', () => {
    const world = { takesLinks: ({ provider }: Endpoint) => provider.slug !== 'cheap' };
    expect(plan({ hasLinkedMedia: true }, world)).toEqual(['middle', 'dear', 'cheap']);
    expect(plan({ hasLinkedMedia: false }, world)).toEqual(['cheap', 'middle', 'dear']);
  });

  it('put endpoints last that are known to be too slow', () => {
    const speed = { cheap: { throughput: 20, latency: 3 }, middle: { throughput: 50, latency: 1 } };
    const atLeast = (p90: number) => ({ preferences: { preferredMinThroughput: { p90 } } });
    expect(plan(atLeast(50), { speed })).toEqual(['middle', 'dear', 'cheap']);
    expect(plan(atLeast(20), { speed })).toEqual(['cheap', 'middle', 'dear']);
    expect(plan({ preferences: { preferredMaxLatency: { p50: 2 } } }, { speed })).toEqual(['middle', 'dear', 'cheap']);
  });

  it('do not change an order that was asked for', () => {
    const request = { parameters: ['tools'], preferences: { order: ['plain', 'able'] } };
    expect(plan(request, { models: [aModel({ endpoints: [plain, able] })] })).toEqual(['plain', 'able']);
  });
});

describe('sorting', () => {
  const speed = { dear: { throughput: 90, latency: 0.2 }, cheap: { throughput: 10, latency: 0.4 } };

  it('goes by measurements, and by price where there are none', () => {
    expect(plan({ preferences: { sort: 'throughput' } }, { speed })).toEqual(['dear', 'cheap', 'middle']);
    expect(plan({ preferences: { sort: 'latency' } }, { speed })).toEqual(['dear', 'cheap', 'middle']);
    expect(plan({ model: 'acme/large:nitro' }, { speed })).toEqual(['dear', 'cheap', 'middle']);
  });

  it('goes by what the workspace prefers only where the request, its model and its tier say nothing', () => {
    const speeds = { speed, dice: 0.999 };
    const [byPrice, bySpeed] = [
      ['cheap', 'middle', 'dear'],
      ['dear', 'cheap', 'middle'],
    ];
    expect(plan({ defaultSort: 'price' }, speeds)).toEqual(byPrice);
    expect(plan({ defaultSort: 'throughput' }, { speed, dice: 0 })).toEqual(bySpeed);
    expect(plan({ defaultSort: 'throughput', preferences: { sort: 'price' } }, speeds)).toEqual(byPrice);
    expect(plan({ defaultSort: 'throughput', model: 'acme/large:floor' }, speeds)).toEqual(byPrice);
    const ordered = { defaultSort: 'throughput', preferences: { order: ['middle'] } } as const;
    expect(plan(ordered, speeds)).toEqual(['middle', 'cheap', 'dear']);
  });

  it('goes by how well tools are called', () => {
    const models = [
      aModel({
        endpoints: [
          at('poor', 1, { capabilities: { tool_call_quality: 0.5 } }),
          at('unknown', 1),
          at('good', 9, { capabilities: { tool_call_quality: 0.9 } }),
        ],
      }),
    ];
    expect(plan({ model: 'acme/large:exacto' }, { models })).toEqual(['good', 'poor', 'unknown']);
  });

  it('sorts all models together without a partition', () => {
    const models = [
      aModel({ endpoints: [at('a', 3), at('b', 1)] }),
      aModel({ slug: 'acme/small', endpoints: [at('c', 2)] }),
    ];
    const request = { models: ['acme/small'], preferences: { sort: 'price' as const } };
    expect(plan(request, { models })).toEqual(['b', 'a', 'acme/small@c']);
    expect(plan({ ...request, preferences: { sort: 'price', partition: 'none' } }, { models })).toEqual([
      'b',
      'acme/small@c',
      'a',
    ]);
  });
});

describe('service tiers', () => {
  const models = [
    aModel({
      endpoints: [at('a', 2), at('a/priority', 4), at('b/priority', 5), at('a/flex', 1), at('a/ultrafast', 9)],
    }),
  ];
  const speed = { 'b/priority': { throughput: 90 }, 'a/priority': { throughput: 10 } };
  const order = (serviceTier: string | null, model = 'acme/large'): string[] =>
    plan({ serviceTier, model }, { models, speed });

  it.each([
    [null, ['a']],
    ['auto', ['a']],
    ['scale', ['a']],
    ['default', ['a']],
    ['priority', ['b/priority', 'a/priority', 'a']],
    ['fast', ['b/priority', 'a/priority', 'a']],
    ['flex', ['a/flex']],
    ['ultrafast', ['a/ultrafast', 'b/priority', 'a/priority', 'a']],
  ])('%s is served by %j', (tier, expected) => {
    expect(order(tier)).toEqual(expected);
  });

  it('lets tiers in by suffix, unless the default is asked for', () => {
    expect(order(null, 'acme/large:nitro')).toEqual(['b/priority', 'a/priority', 'a']);
    expect(order(null, 'acme/large:floor')).toEqual(['a/flex', 'a']);
    expect(order('default', 'acme/large:floor')).toEqual(['a']);
  });

  it('takes no flex for normal where the model has none', () => {
    expect(plan({ serviceTier: 'flex' })).toEqual(['cheap', 'middle', 'dear']);
  });

  it('refuses a model that is only served in tiers nobody asked for', () => {
    const error = refusal({}, { models: [aModel({ endpoints: [at('a/flex', 1)] })] });
    expect(error.availability).toMatchObject({ constraint: { field: 'service_tier' } });
  });
});

describe('stickiness', () => {
  it('stays with the endpoint that served before', () => {
    expect(plan({ stickyKey: () => 'conversation' }, { sticky: 'dear' })).toEqual(['dear', 'cheap', 'middle']);
    expect(plan({ stickyKey: () => 'another' }, { sticky: 'dear' })).toEqual(['cheap', 'middle', 'dear']);
    expect(plan({}, { sticky: 'dear' })).toEqual(['cheap', 'middle', 'dear']);
  });

  it('gives way to an order, an outage and the filters', () => {
    const request = { stickyKey: () => 'conversation' };
    expect(plan({ ...request, preferences: { order: ['cheap'] } }, { sticky: 'dear' })[0]).toBe('cheap');
    expect(plan(request, { sticky: 'dear', out: ['dear'] })).toEqual(['cheap', 'middle', 'dear']);
    expect(plan({ ...request, preferences: { ignore: ['dear'] } }, { sticky: 'dear' })).toEqual(['cheap', 'middle']);
  });
});

describe('resting endpoints', () => {
  const quota: Rest = { forMs: 7_000, because: 'quota' };
  const broken: Rest = { forMs: 1_500, because: 'breaker' };

  it('are not called', () => {
    expect(plan({}, { resting: { cheap: quota } })).toEqual(['middle', 'dear']);
  });

  it('are waited for when nothing else is left', () => {
    const limited = refusal({}, { resting: { cheap: quota, middle: quota, dear: { ...quota, forMs: 9_000 } } });
    expect(limited).toMatchObject({ status: 429, retryAfterSeconds: 7 });
    expect(limited.availability).toMatchObject({
      code: 'capacity_exhausted',
      retryable: true,
      retry_after: 7,
      affected_providers: ['DEAR', 'CHEAP', 'MIDDLE'],
    });
    const down = refusal({}, { resting: { cheap: quota, middle: broken, dear: quota } });
    expect(down).toMatchObject({ status: 503, retryAfterSeconds: 2 });
    expect(down.availability).toMatchObject({ code: 'temporarily_unavailable', retryable: true });
  });

  it('leave the way to another model', () => {
    const models = [aModel({ endpoints: [at('a', 1)] }), aModel({ slug: 'acme/small', endpoints: [at('b', 1)] })];
    expect(plan({ models: ['acme/small'] }, { models, resting: { a: broken } })).toEqual(['acme/small@b']);
  });
});

describe("a caller's own keys", () => {
  const key = (id: string, provider: string, values: Partial<OwnCredential> = {}): OwnCredential =>
    anOwnCredential({ id, provider, ...values });
  const shared = ['cheap', 'middle', 'dear'];

  it('come before shared capacity in their order, fallbacks after it', () => {
    const credentials = [
      key('last', 'cheap', { isFallback: true, sortOrder: 1 }),
      key('second', 'dear', { sortOrder: 1 }),
      key('first', 'dear'),
      key('late', 'dear', { isFallback: true }),
    ];
    const expected = ['dear with first', 'dear with second', ...shared, 'dear with late', 'cheap with last'];
    expect(plan({}, { credentials })).toEqual(expected);
    expect(plan({ preferences: { order: ['middle'] } }, { credentials })[0]).toBe('dear with first');
    expect(plan({ preferences: { allowFallbacks: false } }, { credentials })).toEqual(['dear with first']);
  });

  it("follow the caller's order of providers before their own", () => {
    const credentials = [key('a', 'dear'), key('b', 'cheap', { sortOrder: 5 })];
    expect(plan({ preferences: { order: ['cheap', 'dear'] } }, { credentials }).slice(0, 2)).toEqual([
      'cheap with b',
      'dear with a',
    ]);
  });

  it('need no shared key of the provider, and pass the same filters', () => {
    const credentials = [key('a', 'dear')];
    expect(plan({}, { credentials, without: shared })).toEqual(['dear with a']);
    expect(plan({ preferences: { ignore: ['dear'] } }, { credentials })).toEqual(['cheap', 'middle']);
  });

  it('are good for the regions of their provider', () => {
    const models = [aModel({ endpoints: [at('vertex/us', 1), at('vertexed', 1)] })];
    expect(plan({}, { models, credentials: [key('a', 'vertex')] })).toEqual([
      'vertex/us with a',
      'vertex/us',
      'vertexed',
    ]);
  });

  it.each([
    ['it is disabled', { isDisabled: true }],
    ['it is for other models', { allowedModels: ['acme/small'] }],
    ['it is for no model', { allowedModels: [] }],
    ['it is for other API keys', { allowedApiKeyHashes: ['bbb'] }],
    ['it is for other users', { allowedUserIds: ['someone'] }],
  ])('are not used where %s', (_why, values) => {
    expect(plan({ scope: { apiKeyHash: 'aaa' } }, { credentials: [key('a', 'dear', values)] })).toEqual(shared);
  });

  it('are used where they are allowed by name', () => {
    const values = { allowedModels: ['acme/large'], allowedApiKeyHashes: ['aaa'], allowedUserIds: ['me'] };
    const scope = { apiKeyHash: 'aaa', userId: 'me' };
    expect(plan({ scope }, { credentials: [key('a', 'dear', values)] })[0]).toBe('dear with a');
  });

  it('take shared capacity of their provider away when nothing else may be used there', () => {
    const credentials = [key('a', 'cheap', { isByokOnly: true, allowedModels: ['acme/small'] })];
    expect(plan({}, { credentials })).toEqual(['middle', 'dear']);
  });

  it('take all shared capacity away from the models that require them', () => {
    const models = [aModel(), aModel({ slug: 'acme/small', endpoints: [at('b', 1), at('c', 1)] })];
    const credentials = [key('a', 'b', { isRequired: true, allowedModels: ['acme/small'] })];
    expect(plan({ models: ['acme/small'] }, { models, credentials })).toEqual(['acme', 'acme/small@b with a']);
  });

  it('declare what their owner has agreed with the provider', () => {
    const plain = [key('a', 'dear'), key('b', 'dear', { declaredZdr: true, sortOrder: 1 })];
    expect(plan({ preferences: { zdr: true } }, { credentials: plain })).toEqual(['dear with b']);
    const never = [key('a', 'dear', { declaredZdr: false })];
    const models = [aModel({ endpoints: [at('dear', 1, { zdr: true })] })];
    expect(plan({ preferences: { zdr: true } }, { models, credentials: never })).toEqual(['dear']);
  });

  it('declare a region for endpoints that are bound to none', () => {
    const models = [aModel({ endpoints: [at('dear', 1), at('cheap', 1, { region: 'us-east-1' })] })];
    const credentials = ['dear', 'cheap'].map((slug) => key(slug, slug, { declaredRegion: 'europe' }));
    expect(plan({ policies: [{ regions: ['europe'] }] }, { models, credentials })).toEqual(['dear with dear']);
  });

  it('rest one by one', () => {
    const credentials = [key('a', 'dear'), key('b', 'dear', { sortOrder: 1 })];
    const resting: Given['resting'] = { 'dear a': { forMs: 1, because: 'quota' } };
    expect(plan({}, { credentials, resting })[0]).toBe('dear with b');
  });
});
