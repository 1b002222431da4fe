import { AppError } from '@libs/errors';
import type { CallableApi } from '../dialects/dialect-pairs';
import type { RoutedRequest } from './inference-call';
import type { Api } from '../catalogue/catalogue';
import { failedRouteOf } from '../routing/failed-route';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';

const SUPPORTED = ['max_tokens', 'stop', 'tools', 'seed', 'logit_bias', 'logprobs', 'top_k', 'reasoning'];
const PROTOCOLS: Partial<Record<Api, string>> = { messages: 'anthropic' };
const DEAR = { prompt: 4_000_000_000_000n, completion: 8_000_000_000_000n };

const BODIES: Partial<Record<CallableApi, object>> = {
  chat: { messages: [{ role: 'user', content: 'Hello!' }] },
  responses: { input: 'Hello!' },
  messages: { messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 100 },
};

let upstream: FakeUpstream;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
  upstream.answers(503, '');
});

afterEach(() => upstream.close());

/** The cheapest endpoint first; each speaks one API. */
async function ask(api: CallableApi, spoken: readonly Api[], members: object, values: Partial<RoutedRequest> = {}) {
  const endpoints = spoken.map((one, index) =>
    anEndpoint({
      provider: aProvider({
        slug: `speaks-${one}`,
        baseUrl: `${upstream.origin}/${one}/v1`,
        protocol: PROTOCOLS[one] ?? 'openai',
        apiKeyEnv: null,
      }),
      apis: [one],
      supportedParameters: SUPPORTED,
      ...(index > 0 && { pricing: DEAR }),
    }),
  );
  const { engine, http } = anEngine([aModel({ endpoints, supportedParameters: SUPPORTED })]);
  const body = Buffer.from(JSON.stringify({ model: 'acme/large', ...BODIES[api], ...members }));
  const request = {
    generationId: 'gen-1-abc',
    model: 'acme/large',
    body,
    signal: new AbortController().signal,
    preferences: { requireParameters: true },
    ...values,
  };
  try {
    await engine.answer(api, request);
  } catch (thrown) {
    return { error: AppError.from(thrown), asked: upstream.requests.map(({ path }) => path.split('/')[1]) };
  } finally {
    await http.close();
  }
  throw new Error('the call succeeded');
}

/** What an API can ask for that another one has no word for. */
const LOST: readonly [CallableApi, Api, object, string][] = [
  ['chat', 'responses', { stop: ['.'] }, 'stop'],
  ['chat', 'responses', { n: 2 }, 'n'],
  ['chat', 'messages', { seed: 7 }, 'seed'],
  ['chat', 'messages', { logit_bias: { '50256': -100 } }, 'logit_bias'],
  ['chat', 'messages', { prediction: { type: 'content', content: 'x' } }, 'prediction'],
  ['responses', 'chat', { truncation: 'auto' }, 'truncation'],
  ['responses', 'messages', { metadata: { order: '7' } }, 'metadata'],
  ['messages', 'chat', { context_management: { edits: [] } }, 'context_management'],
  ['messages', 'responses', { stop_sequences: ['.'] }, 'stop'],
];

describe('require_parameters', () => {
  it.each(LOST)('keeps %s away from an endpoint that is asked through %s for %j', async (api, foreign, members) => {
    expect((await ask(api, [foreign, api], members)).asked).toEqual([api]);
    expect((await ask(api, [foreign, api], {})).asked).toContain(foreign);
  });

  it.each(LOST)(
    'refuses %s where only %s is left for %j, and says what is lost',
    async (api, foreign, members, lost) => {
      const { error, asked } = await ask(api, [foreign], members);
      expect(asked).toEqual([]);
      expect(error).toMatchObject({
        code: 'not_found',
        availability: {
          code: 'constraint_filtered',
          excluded_by: 'require_parameters',
          constraint: { field: 'provider.require_parameters', detail: expect.stringContaining(`not carried: ${lost}`) },
        },
      });
      expect(failedRouteOf(error)?.plan.considered).toMatchObject([{ excludedBy: 'provider.require_parameters' }]);
    },
  );

  it.each<[CallableApi, object, string]>([
    ['chat', { min_p: 0.1 }, 'min_p'],
    ['chat', { image_config: { aspect_ratio: '1:1' } }, 'image_config'],
    ['responses', { cache_control: { type: 'ephemeral' } }, 'cache_control'],
  ])('refuses %s with %j also where the upstream speaks the API and does not take it', async (api, members, lost) => {
    const { error, asked } = await ask(api, [api], members);
    expect(asked).toEqual([]);
    expect(error.availability).toMatchObject({
      constraint: { detail: expect.stringContaining(`not carried: ${lost}`) },
    });
  });

  it('says what is wrong with a member, not that nobody takes it, where the upstream speaks the API', async () => {
    const { error } = await ask('chat', ['chat'], { reasoning: 'high' });
    expect(error).toMatchObject({ code: 'invalid_request', message: 'reasoning must be an object (it is "high")' });
  });

  it('is not asked for by itself: without it a translation may leave members out', async () => {
    expect((await ask('chat', ['messages'], { seed: 7 }, { preferences: {} })).asked).toEqual(['messages']);
  });

  it('lets a member be carried by something near it', async () => {
    const thinking = { thinking: { type: 'enabled', budget_tokens: 50 } };
    expect((await ask('messages', ['chat'], thinking)).asked).toEqual(['chat']);
  });

  it('holds for what is between the caller and the gateway as for nothing', async () => {
    const own = { provider: { require_parameters: true }, session_id: 's', trace: { trace_id: 't' }, user: 'u' };
    expect((await ask('chat', ['messages'], own)).asked).toEqual(['messages']);
  });

  it('keeps a member that no translation understands for those who need none', async () => {
    const odd = { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: 7 }] }] };
    expect((await ask('chat', ['messages', 'chat'], odd)).asked).toEqual(['chat']);
    expect((await ask('chat', ['messages'], odd)).error.availability).toMatchObject({
      excluded_by: 'require_parameters',
    });
  });

  it('goes on with the other models of the request', async () => {
    const { asked } = await ask(
      'chat',
      ['messages', 'chat'],
      { seed: 7 },
      { model: 'no/such', models: ['acme/large'] },
    );
    expect(asked).toEqual(['chat']);
  });
});
