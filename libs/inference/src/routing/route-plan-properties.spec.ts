import fc from 'fast-check';
import { aCatalogue, aModel, anEndpoint, anOwnCredential, aProvider } from '../testing';
import { AppError } from '@libs/errors';
import type { Endpoint } from '../catalogue/catalogue';
import type { OwnCredential } from './credential-source';
import { isNamed, isNamedIn, rankIn } from './route-names';
import { planRoute, type Candidate, type RoutePlan, type RouteRequest, type RouteWorld } from './route-plan';
import { supportsParameter, traitsOf } from '../catalogue/endpoint-traits';

const SLUGS = ['a', 'b', 'c', 'c/turbo', 'd', 'd/priority', 'e/flex'];
const PARAMETERS = ['tools', 'seed', 'response_format'];

const endpoint: fc.Arbitrary<Endpoint> = fc
  .record({
    slug: fc.constantFrom(...SLUGS),
    dollars: fc.integer({ min: 0, max: 9 }),
    region: fc.constantFrom('global', 'eu', 'us-east-1'),
    quantization: fc.constantFrom('unknown', 'fp8', 'mxfp8', 'bf16'),
    zdr: fc.boolean(),
    retainsPrompts: fc.boolean(),
    trainsOnPrompts: fc.boolean(),
    parameters: fc.subarray(PARAMETERS),
    contextLength: fc.constantFrom(null, 1_000, 100_000),
    maxCompletionTokens: fc.constantFrom(null, 500, 50_000),
  })
  .map(({ slug, dollars, retainsPrompts, trainsOnPrompts, parameters, ...values }) =>
    anEndpoint({
      ...values,
      provider: aProvider({ slug, name: slug, dataPolicy: { retainsPrompts, trainsOnPrompts, zdr: false } }),
      pricing: { prompt: BigInt(dollars) * 10n ** 12n, completion: 0n },
      supportedParameters: parameters,
    }),
  );

const names = fc.uniqueArray(fc.constantFrom(...SLUGS, 'd/eu', 'nobody'), { minLength: 1, maxLength: 4 });
/** Now and then: with every wish at once, hardly any plan would be left. */
const maybe = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: values });

const request: fc.Arbitrary<RouteRequest> = fc.record({
  api: fc.constant('chat' as const),
  model: fc.constantFrom('acme/large', 'acme/large:nitro', 'acme/large:floor'),
  models: maybe(fc.constant(['acme/small'])),
  preferences: fc.record({
    order: maybe(names),
    only: maybe(names),
    ignore: maybe(names),
    allowFallbacks: maybe(fc.boolean()),
    requireParameters: maybe(fc.boolean()),
    dataCollection: maybe(fc.constantFrom('allow' as const, 'deny' as const)),
    zdr: maybe(fc.boolean()),
    quantizations: maybe(fc.constantFrom(['fp8'], ['bf16', 'unknown'])),
    sort: maybe(fc.constantFrom('price' as const, 'throughput' as const)),
    partition: maybe(fc.constantFrom('model' as const, 'none' as const)),
    maxPrice: maybe(fc.constant({ promptPerMillion: 5n * 10n ** 18n })),
  }),
  policies: fc.array(
    fc.record({
      allowedProviders: maybe(names),
      regions: maybe(fc.constant(['europe'])),
      isZdrRequired: fc.constantFrom(false, false, false, true),
    }),
    { maxLength: 2 },
  ),
  parameters: fc.subarray(PARAMETERS),
  maxOutputTokens: maybe(fc.constantFrom(400, 4_000)),
  capsOutput: fc.boolean(),
  serviceTier: maybe(fc.constantFrom('default', 'priority', 'flex')),
  estimatedPromptTokens: fc.constantFrom(10, 2_000),
  stickyKey: fc.constantFrom(
    () => 'key',
    () => null,
  ),
});

interface Scene {
  readonly world: RouteWorld;
  readonly resting: readonly string[];
}

const credential = (provider: string): OwnCredential => anOwnCredential({ id: `key of ${provider}`, provider });

const scene: fc.Arbitrary<Scene> = fc
  .record({
    endpoints: fc.array(endpoint, { minLength: 1, maxLength: 8 }),
    more: fc.array(endpoint, { minLength: 1, maxLength: 3 }),
    out: fc.subarray(SLUGS),
    resting: fc.subarray(SLUGS, { maxLength: 2 }),
    own: fc.subarray(SLUGS, { maxLength: 2 }),
    dice: fc.double({ min: 0, max: 0.999, noNaN: true }),
  })
  .map(({ endpoints, more, out, resting, own, dice }) => ({
    resting,
    world: {
      catalogue: aCatalogue(aModel({ endpoints }), aModel({ slug: 'acme/small', endpoints: more })),
      health: {
        hadOutage: ({ provider }) => out.includes(provider.slug),
        restOf: ({ provider }) => (resting.includes(provider.slug) ? { forMs: 1, because: 'quota' } : null),
      },
      isAvailable: ({ slug }) => slug !== 'b',
      sticky: { find: () => traitsOf(endpoints[0]!).key },
      statistics: { latencySeconds: () => null, tokensPerSecond: ({ pricing }) => Number(pricing.prompt) },
      credentials: own.map(credential),
      dice: () => dice,
    },
  }));

/** The plan, or nothing where the request is refused as it may be. */
function tryPlan(given: RouteRequest, world: RouteWorld): RoutePlan | null {
  try {
    return planRoute(given, world);
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.availability !== undefined) return null;
    throw thrown;
  }
}

type Rule = (candidate: Candidate, wish: RouteRequest, resting: readonly string[]) => boolean;

/** The rules of A.1 in their plainest form, independent of the code under test. */
const RULES: Readonly<Record<string, Rule>> = {
  key: ({ endpoint: one, credential: key }) => key !== null || one.provider.slug !== 'b',
  rest: ({ endpoint: one }, _wish, resting) => !resting.includes(one.provider.slug),
  only: ({ endpoint: one }, { preferences }) => !preferences?.only || isNamedIn(one, preferences.only),
  ignore: ({ endpoint: one }, { preferences }) => !preferences?.ignore || !isNamedIn(one, preferences.ignore),
  order: ({ endpoint: one }, { preferences }) =>
    !preferences?.order || preferences.allowFallbacks !== false || isNamedIn(one, preferences.order),
  dataCollection: ({ endpoint: { provider, zdr } }, { preferences }) =>
    preferences?.dataCollection !== 'deny' ||
    (!provider.dataPolicy.trainsOnPrompts && (!provider.dataPolicy.retainsPrompts || zdr)),
  zdr: ({ endpoint: one }, { preferences, policies = [] }) =>
    one.zdr || (preferences?.zdr !== true && !policies.some(({ isZdrRequired }) => isZdrRequired)),
  allowed: ({ endpoint: one }, { policies = [] }) =>
    policies.every(({ allowedProviders }) => !allowedProviders || isNamedIn(one, allowedProviders)),
  region: ({ endpoint: one }, { policies = [] }) => policies.every(({ regions }) => !regions || one.region === 'eu'),
  quantization: ({ endpoint: one }, { preferences }) =>
    !preferences?.quantizations || preferences.quantizations.includes(one.quantization.replace('mxfp8', 'fp8')),
  price: ({ endpoint: one }, { preferences }) => !preferences?.maxPrice || one.pricing.prompt <= 5n * 10n ** 12n,
  parameters: ({ endpoint: one }, { preferences, parameters = [] }) =>
    preferences?.requireParameters !== true || parameters.every((name) => supportsParameter(one, name)),
  length: ({ endpoint: one }, { maxOutputTokens, capsOutput, preferences }) =>
    (capsOutput !== false && preferences?.requireParameters !== true) ||
    (maxOutputTokens ?? 0) <= (one.maxCompletionTokens ?? one.contextLength ?? Number.POSITIVE_INFINITY),
};

function broken(candidate: Candidate, wish: RouteRequest, resting: readonly string[]): readonly string[] {
  return Object.entries(RULES).flatMap(([name, rule]) => (rule(candidate, wish, resting) ? [] : [name]));
}

describe(planRoute.name, () => {
  it('never plans an endpoint that must not serve, nor any twice', () => {
    let plans = 0;
    fc.assert(
      fc.property(request, scene, (wish, { world, resting }) => {
        const plan = tryPlan(wish, world);
        if (plan === null) return;
        plans += 1;
        expect(plan.candidates.length).toBeGreaterThan(0);
        expect(plan.candidates.flatMap((one) => broken(one, wish, resting))).toEqual([]);
        const calls = plan.candidates.map((one) => [one.model.slug, one.endpoint, one.credential] as const);
        calls.forEach((call, i) => {
          expect(calls.findIndex((other) => other.every((part, j) => part === call[j]))).toBe(i);
        });
      }),
      { numRuns: 400 },
    );
    expect(plans).toBeGreaterThan(150);
  });

  it('says of everything it considered whether it is in the plan', () => {
    fc.assert(
      fc.property(request, scene, (wish, { world }) => {
        const plan = tryPlan({ ...wish, preferences: { ...wish.preferences, allowFallbacks: null } }, world);
        if (plan === null) return;
        const kept = plan.considered.filter(({ model, excludedBy }) => {
          const hasPlan = plan.candidates.some((one) => one.model === model);
          return hasPlan && excludedBy === null;
        });
        expect(kept).toHaveLength(plan.candidates.length);
      }),
    );
  });

  it('follows an order', () => {
    fc.assert(
      fc.property(request, names, scene, (wish, order, { world }) => {
        const preferences = { ...wish.preferences, order, partition: null };
        const plan = tryPlan({ ...wish, models: null, preferences, estimatedPromptTokens: 1 }, world);
        const ranks = (isOwn: boolean) =>
          (plan?.candidates ?? [])
            .filter(({ credential: key }) => (key !== null) === isOwn)
            .map((one) => rankIn(order, one.endpoint));
        for (const each of [ranks(true), ranks(false)]) expect(each).toEqual(each.toSorted((a, b) => a - b));
      }),
    );
  });

  it("puts the caller's own keys before shared capacity, and models in their order", () => {
    fc.assert(
      fc.property(request, scene, (wish, { world }) => {
        const preferences = { ...wish.preferences, partition: null };
        const plan = tryPlan({ ...wish, preferences }, world);
        const places = (plan?.candidates ?? []).map(
          ({ model, credential: key }) => (model.slug === 'acme/large' ? 0 : 2) + (key === null ? 1 : 0),
        );
        expect(places).toEqual(places.toSorted((a, b) => a - b));
      }),
    );
  });

  it('makes the same plan of the same things', () => {
    fc.assert(
      fc.property(request, scene, (wish, { world }) => {
        expect(tryPlan(wish, world)?.candidates).toEqual(tryPlan(wish, world)?.candidates);
      }),
    );
  });

  it('draws the first as often as 1/price² says', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 6 }), (prices) => {
        const endpoints = prices.map((dollars, i) =>
          anEndpoint({
            provider: aProvider({ slug: `p${i}` }),
            pricing: { prompt: BigInt(dollars) * 10n ** 11n, completion: 0n },
          }),
        );
        const draws = 2_000;
        const counts = prices.map(() => 0);
        const unsorted: bigint[][] = [];
        for (let i = 0; i < draws; i += 1) {
          const { candidates } = planRoute(
            { api: 'chat', model: 'acme/large' },
            {
              catalogue: aCatalogueOf(endpoints),
              health: { hadOutage: () => false, restOf: () => null },
              isAvailable: () => true,
              dice: () => (i + 0.5) / draws,
            },
          );
          counts[endpoints.indexOf(candidates[0]!.endpoint)]! += 1;
          const rest = candidates.slice(1).map(({ endpoint: one }) => one.pricing.prompt);
          if (rest.some((price, at) => at > 0 && price < rest[at - 1]!)) unsorted.push(rest);
        }
        expect(unsorted.slice(0, 3)).toEqual([]);
        const total = prices.reduce((sum, price) => sum + price ** -2, 0);
        prices.forEach((price, i) => expect(Math.abs(counts[i]! / draws - price ** -2 / total)).toBeLessThan(0.002));
      }),
      { numRuns: 15 },
    );
  });
});

/** Hashing a catalogue costs more than planning with it. */
const catalogues = new WeakMap<readonly Endpoint[], ReturnType<typeof aCatalogue>>();

function aCatalogueOf(endpoints: readonly Endpoint[]): ReturnType<typeof aCatalogue> {
  const catalogue = catalogues.get(endpoints) ?? aCatalogue(aModel({ endpoints }));
  catalogues.set(endpoints, catalogue);
  return catalogue;
}

describe(isNamed.name, () => {
  it('takes a plain slug for all of a provider, and a suffixed one for no other endpoint', () => {
    fc.assert(
      fc.property(endpoint, endpoint, (one, other) => {
        const [plain = ''] = one.provider.slug.split('/');
        expect(isNamed(one, plain.toUpperCase())).toBe(true);
        const suffixed = traitsOf(one).suffixedSlugs[0] ?? one.provider.slug;
        if (isNamed(other, suffixed)) expect(other.provider.slug).toBe(one.provider.slug);
      }),
    );
  });
});
