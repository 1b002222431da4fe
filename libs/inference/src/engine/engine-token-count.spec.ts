import { InferenceEngine } from './engine';
import type { Endpoint } from '../catalogue/catalogue';
import { ProviderHealth } from '../routing/provider-health';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';

const BODY = Buffer.from('{"model":"acme/large","max_tokens":5,"messages":[{"role":"user","content":"Hello!"}]}');
const CHEAP = { prompt: 1n, completion: 1n };

let upstream: FakeUpstream;

beforeEach(async () => {
  upstream = await FakeUpstream.start();
});

afterEach(() => upstream.close());

const endpointOf = (protocol: string, values: Partial<Endpoint> = {}): Endpoint => {
  const provider = aProvider({ slug: protocol, protocol, baseUrl: upstream.baseUrl, apiKeyEnv: null });
  return anEndpoint({ provider, apis: [protocol === 'anthropic' ? 'messages' : 'chat'], ...values });
};

async function countOf(...endpoints: Endpoint[]): Promise<number | null> {
  const { engine, http } = anEngine([aModel({ endpoints })]);
  const signal = new AbortController().signal;
  try {
    return await engine.countTokens({ generationId: 'gen-1-abc', model: 'acme/large', body: BODY, signal });
  } finally {
    await http.close();
  }
}

describe(`${InferenceEngine.name}.countTokens`, () => {
  it('asks the provider that would answer', async () => {
    upstream.answers(200, '{"input_tokens":17}');
    expect(await countOf(endpointOf('anthropic', { pricing: CHEAP }), endpointOf('openai'))).toBe(17);
    expect(upstream.requests).toMatchObject([{ path: '/v1/messages/count_tokens' }]);
    expect(JSON.parse(upstream.requests[0]!.body)).toEqual({
      model: 'acme-large-2026',
      messages: [{ role: 'user', content: 'Hello!' }],
    });
  });

  it('asks nobody where the first endpoint cannot count', async () => {
    expect(await countOf(endpointOf('openai', { pricing: CHEAP }), endpointOf('anthropic'))).toBeNull();
    expect(upstream.requests).toEqual([]);
  });

  it.each([404, 405, 501])('is unknown where the provider has no such route, by %d', async (status) => {
    upstream.answers(status, '<html>Not Found</html>');
    expect(await countOf(endpointOf('anthropic', { pricing: CHEAP }), endpointOf('openai'))).toBeNull();
  });

  it('takes nothing from the health of an endpoint that cannot count', async () => {
    upstream.answers(404, '{}');
    const health = new ProviderHealth(Date.now);
    const endpoint = endpointOf('anthropic');
    const { engine, http } = anEngine([aModel({ endpoints: [endpoint] })], { health });
    const signal = new AbortController().signal;
    await engine.countTokens({ generationId: 'gen-1-abc', model: 'acme/large', body: BODY, signal });
    await http.close();
    expect(health.hadOutage(endpoint)).toBe(false);
  });

  it('fails as the provider does', async () => {
    upstream.answers(429, '{}');
    await expect(countOf(endpointOf('anthropic'))).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
  });
});
