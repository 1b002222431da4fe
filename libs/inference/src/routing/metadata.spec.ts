import { aCatalogue, aModel, anEndpoint, aProvider } from '../testing';
import { NO_LOSS } from '../model/loss-report';
import type { Attempt } from './attempt';
import { routingMetadata, translationReport } from './metadata';
import { planRoute, type RouteRequest } from './route-plan';

const at = (slug: string) => anEndpoint({ provider: aProvider({ slug, name: slug.toUpperCase() }) });
const models = [
  aModel({ endpoints: [at('a'), at('b'), at('c')] }),
  aModel({ slug: 'acme/small-2', endpoints: [at('d')] }),
];
const planOf = (request: Partial<RouteRequest> = {}) =>
  planRoute(
    { api: 'chat', model: 'acme/large', preferences: { ignore: ['c'] }, ...request },
    {
      catalogue: aCatalogue(...models),
      health: { hadOutage: () => false, restOf: () => null },
      isAvailable: () => true,
      dice: () => 0,
      credentials: [],
    },
  );
const attempt = (providerName: string, status: number): Attempt => ({
  model: 'acme/large',
  providerName,
  providerSlug: providerName.toLowerCase(),
  status,
  errorCode: null,
  end: 'ok',
  tookMs: 5,
  isByok: false,
});

describe(routingMetadata.name, () => {
  it('tells how a request was served', () => {
    const plan = planOf();
    const attempts = [attempt('A', 503), attempt('B', 200)];
    expect(routingMetadata({ plan, attempts, served: plan.candidates[1]!, generationMs: 1_249.6 })).toEqual({
      attempt: 2,
      attempts: [
        { model: 'acme/large', provider: 'A', status: 503 },
        { model: 'acme/large', provider: 'B', status: 200 },
      ],
      endpoints: {
        available: [
          { model: 'acme/large', provider: 'A', selected: false },
          { model: 'acme/large', provider: 'B', selected: true },
        ],
        excluded: [{ model: 'acme/large', provider: 'C', excluded_by: 'provider.ignore' }],
        total: 3,
      },
      is_byok: false,
      region: null,
      requested: 'acme/large',
      strategy: 'direct',
      summary: 'available=2, selected=B',
      generation_time: 1_250,
    });
  });

  it('selects nothing where every attempt failed, and leaves attempts out where none was allowed', () => {
    const plan = planOf();
    const failed = routingMetadata({ plan, attempts: [attempt('A', 500)], served: null });
    expect(failed).toMatchObject({ attempt: 1, is_byok: false, summary: 'available=2, selected=none' });
    expect(failed.endpoints.available.some(({ selected }) => selected)).toBe(false);
    expect(routingMetadata({ plan, attempts: [], served: null })).toMatchObject({ attempt: 0, attempts: [] });
    const blocked = routingMetadata({ plan, attempts: null, served: null });
    expect(blocked.attempt).toBe(0);
    expect(blocked).not.toHaveProperty('attempts');
  });

  it.each([
    [{}, 0, 'direct'],
    [{ model: 'acme/large:floor' }, 0, 'direct'],
    [{ model: '~acme/small-latest' }, 0, 'latest'],
    [{ models: ['acme/small-2'] }, 0, 'direct'],
    [{ models: ['acme/small-2'] }, 2, 'fallback'],
    [{ model: 'no/such', models: ['acme/large'] }, 0, 'fallback'],
  ] as const)('calls the strategy of %j at candidate %d %s', (request, index, strategy) => {
    const plan = planOf(request);
    expect(routingMetadata({ plan, attempts: [], served: plan.candidates[index]! })).toMatchObject({
      strategy,
      requested: 'model' in request ? request.model : 'acme/large',
    });
  });

  it('counts no endpoint as ruled out that some key can be used with', () => {
    const plan = planOf({ preferences: {} });
    const [first] = plan.considered;
    const considered = [...plan.considered, { ...first!, excludedBy: 'quota' }];
    const { endpoints } = routingMetadata({ plan: { ...plan, considered }, attempts: [], served: null });
    expect(endpoints).toMatchObject({ total: 3 });
    expect(endpoints).not.toHaveProperty('excluded');
  });

  it("names an endpoint once, with whatever key it is called, and says whether it was the caller's", () => {
    const plan = planOf();
    const own = { ...plan.candidates[0]!, credential: { id: 'k' } as never };
    const both = { ...plan, candidates: [own, ...plan.candidates] };
    const metadata = routingMetadata({ plan: both, attempts: [attempt('A', 200)], served: own });
    expect(metadata).toMatchObject({ is_byok: true, summary: 'available=2, selected=A' });
  });

  it('carries parameters, the region and the stages of the pipeline', () => {
    const plan = { ...planOf(), region: 'eu' };
    const translation = translationReport('messages', 'chat', { dropped: ['top_k'], approximated: ['thinking'] });
    const pipeline = [{ type: 'plugin', name: 'web' }] as const;
    const report = {
      plan,
      attempts: [],
      served: null,
      params: { quality_floor: 1 },
      pipeline,
      translation,
    };
    expect(routingMetadata(report)).toMatchObject({
      region: 'eu',
      params: { quality_floor: 1 },
      pipeline: [{ type: 'plugin', name: 'web' }],
      translation: { from: 'messages', to: 'chat', dropped: ['top_k'], approximated: ['thinking'] },
    });
    expect(routingMetadata({ ...report, pipeline: [], translation: null })).not.toHaveProperty('translation');
  });
});

describe(translationReport.name, () => {
  it('has nothing to tell where the bytes passed', () => {
    expect(translationReport('chat', 'chat', NO_LOSS)).toBeNull();
    expect(translationReport('chat', 'messages', NO_LOSS)).not.toBeNull();
  });
});
