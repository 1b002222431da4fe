import { AppError } from '@libs/errors';
import { parseRate } from '../pricing/money';
import { aCatalogue, aModel, anEndpoint, aProvider } from '../testing';
import type { Endpoint, Model } from './catalogue';
import { planRoute, type RouteRequest, type RouteWorld } from './route-plan';

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
}

const plan = (request: Partial<RouteRequest> = {}, given: Given = {}): string[] => {
  const { models = [aModel({ endpoints: threeEndpoints() })], out = [], without = [], dice = 0 } = given;
  const world: RouteWorld = {
    catalogue: aCatalogue(...models),
    health: { hadOutage: ({ provider }) => out.includes(provider.slug) },
    isAvailable: ({ slug }) => !without.includes(slug),
    dice: () => dice,
  };
  const candidates = planRoute({ api: 'chat', model: 'acme/large', ...request }, world);
  return candidates.map(({ model, endpoint }) =>
    model.slug === 'acme/large' ? endpoint.provider.slug : `${model.slug}@${endpoint.provider.slug}`,
  );
};

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

  it('takes a suffix for part of the name where a model is called so', () => {
    const models = [aModel(), aModel({ slug: 'acme/large:free' })];
    expect(plan({ model: 'acme/large:free' }, { models })).toEqual(['acme/large:free@acme']);
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
    ['a variant that does not exist', { model: 'acme/large:free' }, {}, 400, 'model_not_found'],
    ['an online variant', { model: 'acme/large:online' }, {}, 400, 'model_not_found'],
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
    expect(error.metadata).toMatchObject({ availability: { code, retryable: false } });
  });

  it('tells of the first model when none can be used', () => {
    expect(refusal({ model: 'no/such', models: ['no/other'] }).metadata).toMatchObject({
      availability: { requested_models: ['no/such'] },
    });
  });
});
