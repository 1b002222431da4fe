import { AppError } from '@libs/errors';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';
import { failedRouteOf } from './failed-route';
import type { RoutingPreferences } from './route-request';

const BODY = Buffer.from('{"model":"acme/large","messages":[{"role":"user","content":"Hello!"}]}');

let first: FakeUpstream;
let second: FakeUpstream;

beforeEach(async () => {
  first = await FakeUpstream.start();
  second = await FakeUpstream.start();
});

afterEach(() => Promise.all([first.close(), second.close()]));

async function failureOf(model: string, preferences: RoutingPreferences = {}): Promise<AppError> {
  const endpoints = [first, second].map(({ baseUrl }, index) =>
    anEndpoint({ provider: aProvider({ slug: `p${index}`, baseUrl, apiKeyEnv: null }) }),
  );
  const { engine, http } = anEngine([aModel({ endpoints })]);
  try {
    const { signal } = new AbortController();
    await engine.answer('chat', { generationId: 'gen-1-abc', model, body: BODY, signal, preferences });
  } catch (thrown) {
    return AppError.from(thrown);
  } finally {
    await http.close();
  }
  throw new Error('the call succeeded');
}

describe(failedRouteOf.name, () => {
  it('tells of every endpoint that was planned and every one that was tried', async () => {
    first.answers(503, '');
    second.answers(503, '');
    const route = failedRouteOf(await failureOf('acme/large'));
    expect(route?.plan).toMatchObject({ requested: 'acme/large', resolved: 'acme/large' });
    expect(route?.plan.candidates).toHaveLength(2);
    expect(route?.attempts.map(({ providerSlug, status }) => [providerSlug, status]).toSorted()).toEqual([
      ['p0', 503],
      ['p1', 503],
    ]);
  });

  it('tells of a single refusal', async () => {
    first.answers(400, '');
    second.answers(400, '');
    expect(failedRouteOf(await failureOf('acme/large'))?.attempts).toMatchObject([{ status: 400 }]);
  });

  it('tells of a plan that nothing was left of', async () => {
    const route = failedRouteOf(await failureOf('acme/large', { ignore: ['p0', 'p1'] }));
    expect(route).toMatchObject({
      plan: {
        requested: 'acme/large',
        candidates: [],
        considered: [{ excludedBy: 'provider.ignore' }, { excludedBy: 'provider.ignore' }],
      },
      attempts: [],
    });
    expect(failedRouteOf(await failureOf('acme/none'))?.plan).toMatchObject({ resolved: null, considered: [] });
  });

  it('knows nothing of an error that no plan ended in', () => {
    expect(failedRouteOf(new AppError('server', 'Internal error'))).toBeNull();
  });
});
