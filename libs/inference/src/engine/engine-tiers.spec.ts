import { createProviderAdapters } from '../providers';
import { UpstreamHttp } from '../wire/upstream-http';
import { readRouteFacts } from '../routing/route-facts';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';
import type { Endpoint } from '../catalogue/catalogue';
import type { EndpointTier } from '../catalogue/service-tiers';
import { InferenceEngine } from './engine';

let upstream: FakeUpstream;
let http: UpstreamHttp;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
  upstream.answers(503, '{}');
  http = new UpstreamHttp();
});

afterEach(async () => {
  await upstream.close();
  await http.close();
});

type Api = 'chat' | 'responses' | 'messages';

const PROTOCOLS = { chat: 'openai', responses: 'openai', messages: 'anthropic' } as const;

/** An endpoint that sells this tier, at a provider that is named for it. */
function endpointOf(tier: EndpointTier, api: Api, protocol: string = PROTOCOLS[api]): Endpoint {
  const provider = aProvider({ slug: tier, protocol, baseUrl: `${upstream.origin}/${tier}/v1`, apiKeyEnv: null });
  const capabilities = tier === 'standard' ? {} : { service_tier: tier };
  return anEndpoint({ provider, apis: [api], capabilities });
}

const BODIES: Readonly<Record<Api, object>> = {
  chat: { messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
  messages: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 },
};

/** Who is asked, in order, and for what: `provider:member`, where `-` means that no tier is named. */
async function asked(
  api: Api,
  endpoints: readonly Endpoint[],
  members: object,
  model = 'acme/large',
): Promise<string[]> {
  const { engine, http: own } = anEngine([aModel({ endpoints })], { adapters: createProviderAdapters(http) });
  const body = { model, ...BODIES[api], ...members };
  const request = {
    ...readRouteFacts(body),
    generationId: 'gen-1-abc',
    model,
    body: Buffer.from(JSON.stringify(body)),
    signal: new AbortController().signal,
  };
  await engine.answer(api, request).catch(() => undefined);
  await own.close();
  return upstream.requests.map(({ path, body: sent }) => {
    const { service_tier: tier = '-', speed } = JSON.parse(sent) as { service_tier?: string; speed?: string };
    return [path.split('/')[1], tier, ...(speed === undefined ? [] : [speed])].join(':');
  });
}

describe(`service tiers of ${InferenceEngine.name}`, () => {
  const S: EndpointTier[] = ['standard'];
  const SP: EndpointTier[] = ['standard', 'priority'];
  const SF: EndpointTier[] = ['standard', 'flex'];
  const SPU: EndpointTier[] = ['standard', 'priority', 'ultrafast'];
  const SPF: EndpointTier[] = ['standard', 'priority', 'flex'];

  it.each<[unknown, EndpointTier[], string, string[]]>([
    // What the request says, what there is, the suffix of the model; who is asked for what.
    [undefined, S, '', ['standard:-']],
    [undefined, SPF, '', ['standard:-']],
    [undefined, SPF, ':nitro', ['standard:-', 'priority:priority']],
    [undefined, SPF, ':floor', ['standard:-', 'flex:flex']],
    [null, SP, '', ['standard:null']],
    ['auto', SPF, '', ['standard:auto']],
    ['auto', SP, ':nitro', ['standard:auto', 'priority:priority']],
    ['default', S, '', ['standard:default']],
    ['default', SPF, '', ['standard:default']],
    ['default', SP, ':nitro', ['standard:default']],
    ['default', SF, ':floor', ['standard:default']],
    ['default', ['priority'], ':nitro', []],
    ['priority', S, '', ['standard:-']],
    ['priority', SPF, '', ['priority:priority', 'standard:-']],
    ['priority', SPF, ':floor', ['priority:priority', 'standard:-', 'flex:flex']],
    ['fast', SP, '', ['priority:priority', 'standard:-']],
    ['fast', S, ':nitro', ['standard:-']],
    ['flex', S, '', ['standard:-']],
    ['flex', SPF, '', ['flex:flex']],
    ['flex', SF, ':nitro', ['flex:flex']],
    ['ultrafast', SPU, '', ['ultrafast:ultrafast', 'priority:priority', 'standard:-']],
    ['ultrafast', SP, '', ['priority:priority', 'standard:-']],
    ['ultrafast', S, '', ['standard:-']],
    ['scale', SP, '', ['standard:-']],
    ['scale', SP, ':nitro', ['standard:-', 'priority:priority']],
  ])('%s with %j under %s asks %j', async (tier, tiers, suffix, expected) => {
    for (const api of ['chat', 'responses'] as const) {
      upstream.requests.length = 0;
      const endpoints = tiers.map((one) => endpointOf(one, api));
      expect({ api, asked: await asked(api, endpoints, { service_tier: tier }, `acme/large${suffix}`) }).toEqual({
        api,
        asked: expected.map((one) => one.replace('null', '')),
      });
    }
  });

  it.each<[object, EndpointTier[], string, string[]]>([
    [{}, SP, '', ['standard:-']],
    [{}, SP, ':nitro', ['standard:-', 'priority:auto']],
    [{ service_tier: 'auto' }, SP, '', ['standard:auto']],
    [{ service_tier: 'standard_only' }, SP, '', ['standard:standard_only']],
    [{ service_tier: 'standard_only' }, SP, ':nitro', ['standard:standard_only']],
    [{ service_tier: 'standard_only' }, SF, ':floor', ['standard:standard_only']],
    [{ service_tier: 'standard_only' }, ['priority'], '', []],
    [{ service_tier: 'default' }, SP, ':nitro', ['standard:standard_only']],
    [{ service_tier: 'priority' }, SP, '', ['priority:auto', 'standard:-']],
    [{ service_tier: 'flex' }, SF, '', ['flex:auto']],
    [{ speed: 'fast' }, SP, '', ['priority:auto:fast', 'standard:-']],
    [{ speed: 'fast', service_tier: 'auto' }, SP, '', ['priority:auto:fast', 'standard:auto']],
    [{ speed: 'fast', service_tier: 'standard_only' }, SP, '', ['standard:standard_only']],
    [{ speed: 'standard' }, SP, '', ['standard:-:standard']],
  ])('on messages %j with %j under %s asks %j', async (members, tiers, suffix, expected) => {
    const endpoints = tiers.map((tier) => endpointOf(tier, 'messages'));
    expect(await asked('messages', endpoints, members, `acme/large${suffix}`)).toEqual(expected);
  });

  it.each(['only', 'order'] as const)('asks an endpoint by the name of the tier that %s names', async (member) => {
    const base = aProvider({ slug: 'acme', baseUrl: `${upstream.origin}/acme/v1`, apiKeyEnv: null });
    const tiered = aProvider({ ...base, slug: 'acme/priority', baseUrl: `${upstream.origin}/tiered/v1` });
    const endpoints = [anEndpoint({ provider: base }), anEndpoint({ provider: tiered })];
    const { engine, http: own } = anEngine([aModel({ endpoints })]);
    const body = Buffer.from(JSON.stringify({ model: 'acme/large', ...BODIES.chat }));
    const { signal } = new AbortController();
    const preferences = { [member]: ['acme/priority'], allowFallbacks: false };
    const request = { generationId: 'gen-1-abc', model: 'acme/large', body, signal };
    await engine.answer('chat', { ...request, preferences }).catch(() => undefined);
    expect(upstream.requests[0]).toMatchObject({ path: '/tiered/v1/chat/completions' });
    expect(JSON.parse(upstream.requests[0]!.body)).toMatchObject({ service_tier: 'priority' });
    upstream.requests.length = 0;
    await engine.answer('chat', { ...request, preferences, serviceTier: 'default' }).catch(() => undefined);
    await own.close();
    expect(upstream.requests.filter(({ path }) => path.startsWith('/tiered'))).toEqual([]);
  });

  /** Callers of one API, endpoints of another. */
  it.each<[Api, string, Api, EndpointTier, object, unknown]>([
    ['chat', 'openai', 'responses', 'priority', {}, { service_tier: 'priority' }],
    ['chat', 'openai', 'responses', 'ultrafast', { service_tier: 'ultrafast' }, { service_tier: 'ultrafast' }],
    ['chat', 'openai', 'responses', 'standard', { service_tier: 'fast' }, { service_tier: undefined }],
    ['responses', 'openai', 'chat', 'flex', { service_tier: 'flex' }, { service_tier: 'flex' }],
    ['responses', 'openai', 'chat', 'ultrafast', {}, { service_tier: 'ultrafast' }],
    ['responses', 'openai', 'chat', 'standard', { service_tier: 'priority' }, { service_tier: undefined }],
    ['messages', 'openai', 'chat', 'standard', { service_tier: 'standard_only' }, { service_tier: 'default' }],
    ['messages', 'openai', 'chat', 'priority', { speed: 'fast' }, { service_tier: 'priority' }],
    ['chat', 'anthropic', 'messages', 'priority', {}, { service_tier: 'auto' }],
    ['chat', 'anthropic', 'messages', 'standard', { service_tier: 'default' }, { service_tier: 'standard_only' }],
    ['chat', 'anthropic', 'messages', 'standard', { service_tier: 'flex' }, { service_tier: undefined }],
    ['chat', 'google', 'chat', 'flex', {}, { serviceTier: 'flex' }],
    ['chat', 'google', 'chat', 'priority', {}, { serviceTier: 'priority' }],
    ['chat', 'google', 'chat', 'standard', { service_tier: 'flex' }, { serviceTier: undefined }],
    ['chat', 'google', 'chat', 'standard', { service_tier: 'default' }, { serviceTier: 'standard' }],
    ['chat', 'bedrock', 'chat', 'priority', {}, { serviceTier: { type: 'priority' } }],
    ['chat', 'bedrock', 'chat', 'flex', {}, { serviceTier: { type: 'flex' } }],
    ['chat', 'bedrock', 'chat', 'standard', { service_tier: 'flex' }, { serviceTier: undefined }],
    ['chat', 'bedrock', 'chat', 'standard', { service_tier: 'default' }, { serviceTier: { type: 'default' } }],
    ['chat', 'mistral', 'chat', 'standard', { service_tier: 'priority' }, { service_tier: undefined }],
    ['chat', 'cohere', 'chat', 'standard', { service_tier: 'flex' }, { service_tier: undefined }],
  ])('for %s asks %s in %s at a %s endpoint, given %j, with %j', async (api, protocol, speaks, tier, members, sent) => {
    const endpoint = endpointOf(tier, speaks, protocol);
    // The suffix lets the tier in where the request does not ask for it.
    const suffix = tier === 'priority' ? ':nitro' : tier === 'flex' ? ':floor' : '';
    const wish = tier === 'ultrafast' ? { service_tier: 'ultrafast' } : {};
    await asked(api, [endpoint], { ...wish, ...members }, `acme/large${suffix}`);
    const { service_tier, serviceTier } = JSON.parse(upstream.requests[0]!.body) as Record<string, unknown>;
    expect({ service_tier, serviceTier }).toEqual({
      service_tier: undefined,
      serviceTier: undefined,
      ...(sent as object),
    });
  });

  describe('what a request lost that names a tier', () => {
    const chat = { id: 'up', choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }] };
    const message = { id: 'up', type: 'message', content: [], stop_reason: 'end_turn', usage: {} };
    const answers = { chat, messages: message };
    type Spoken = keyof typeof answers;

    async function answered(api: Spoken, endpoint: Endpoint, members: object, isStrict = false) {
      const adapters = createProviderAdapters(http);
      const { engine, http: own } = anEngine([aModel({ endpoints: [endpoint] })], { adapters });
      const body = { model: 'acme/large', ...BODIES[api], ...members };
      try {
        return await engine.answer(api, {
          ...readRouteFacts(body),
          generationId: 'gen-1-abc',
          model: 'acme/large',
          body: Buffer.from(JSON.stringify(body)),
          signal: new AbortController().signal,
          preferences: { requireParameters: isStrict },
        });
      } finally {
        await own.close();
      }
    }

    const pairs = [
      ['chat', 'chat'],
      ['chat', 'messages'],
      ['messages', 'messages'],
      ['messages', 'chat'],
    ] as const;
    const cases: readonly [EndpointTier, object, readonly string[]][] = [
      ['standard', { service_tier: 'priority' }, ['service_tier']],
      ['standard', { service_tier: 'ultrafast' }, ['service_tier']],
      ['priority', { service_tier: 'priority' }, []],
      ['standard', { service_tier: 'default' }, []],
      ['standard', {}, []],
    ];

    it.each(pairs.flatMap((pair) => cases.map((one) => [...pair, ...one] as const)))(
      'for %s of an endpoint of %s of the %s tier, given %j: %j',
      async (api, spoken, tier, members, lost) => {
        upstream.answers(200, JSON.stringify(answers[spoken]));
        const endpoint = { ...endpointOf(tier, spoken), supportedParameters: ['max_tokens'] };
        expect((await answered(api, endpoint, members)).losses.dropped).toEqual(lost);
        const strict = answered(api, endpoint, members, true);
        if (lost.length === 0) await strict;
        else await expect(strict).rejects.toMatchObject({ availability: { excluded_by: 'require_parameters' } });
      },
    );
  });

  it.each<[string, Api, string, EndpointTier, string | undefined]>([
    ['google-vertex', 'chat', 'x-vertex-ai-llm-shared-request-type', 'priority', 'priority'],
    ['google-vertex', 'chat', 'x-vertex-ai-llm-shared-request-type', 'flex', 'flex'],
    ['google-vertex', 'chat', 'x-vertex-ai-llm-shared-request-type', 'standard', undefined],
    ['bedrock', 'messages', 'x-amzn-bedrock-service-tier', 'priority', 'priority'],
    ['bedrock', 'messages', 'x-amzn-bedrock-service-tier', 'flex', 'flex'],
    ['bedrock', 'messages', 'x-amzn-bedrock-service-tier', 'standard', undefined],
  ])('asks %s for the tier of an endpoint of %s in %s: %s', async (protocol, api, header, tier, value) => {
    const suffix = tier === 'priority' ? ':nitro' : tier === 'flex' ? ':floor' : '';
    await asked(api, [endpointOf(tier, api, protocol)], {}, `acme/large${suffix}`);
    expect(upstream.requests[0]!.headers[header]).toBe(value);
    expect(JSON.parse(upstream.requests[0]!.body)).not.toHaveProperty('serviceTier');
  });
});
