import { Secret } from '@libs/contracts';
import { readTokenCount, toTokenCount } from '../dialects/anthropic-messages';
import { anEndpoint, aProvider, FakeUpstream, FIXTURE_KEY } from '../testing';
import { AnthropicProvider } from './anthropic.provider';
import { describeConformance } from './testing/conformance';
import { UpstreamHttp } from '../wire/upstream-http';

describeConformance('anthropic', 'messages');

describe(AnthropicProvider.name, () => {
  const body = { model: 'acme/large', messages: [{ role: 'user', content: 'Say hello' }], max_tokens: 5 };
  let upstream: FakeUpstream;
  let http: UpstreamHttp;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    http = new UpstreamHttp();
  });

  afterEach(async () => {
    await upstream.close();
    await http.close();
  });

  const call = (headers: Record<string, string> = {}, providerHeaders: Record<string, string> = {}) => {
    const provider = aProvider({ protocol: 'anthropic', baseUrl: upstream.baseUrl, headers: providerHeaders });
    const endpoint = anEndpoint({ provider, apis: ['messages'] });
    return {
      endpoint,
      apiKey: new Secret(FIXTURE_KEY),
      body: toTokenCount(Buffer.from(JSON.stringify(body)), endpoint),
      signal: new AbortController().signal,
      timeouts: { headersMs: 1_000, idleMs: 1_000, totalMs: 1_000 },
      headers,
    };
  };

  it('names the version it speaks and passes the betas of a call', async () => {
    upstream.answers(200, '{"input_tokens":7}');
    await new AnthropicProvider(http).countTokens(call({ 'anthropic-beta': 'a,b' }));
    expect(upstream.requests[0]!.headers).toMatchObject({
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'a,b',
      'x-api-key': FIXTURE_KEY,
    });
    expect(upstream.requests[0]!.headers).not.toHaveProperty('authorization');
  });

  it('speaks the version that the catalogue names', async () => {
    upstream.answers(200, '{"input_tokens":7}');
    await new AnthropicProvider(http).messages(call({}, { 'Anthropic-Version': '2026-01-01' }));
    expect(upstream.requests[0]!.headers['anthropic-version']).toBe('2026-01-01');
  });

  it('counts the tokens of a prompt', async () => {
    upstream.answers(200, '{"input_tokens":7,"context_management":null}');
    const sent = call();
    const { body: counted } = await new AnthropicProvider(http).countTokens(sent);
    expect(readTokenCount(counted, sent.endpoint.provider)).toBe(7);
    expect(upstream.requests[0]).toMatchObject({
      path: '/v1/messages/count_tokens',
      body: '{"model":"acme-large-2026","messages":[{"role":"user","content":"Say hello"}]}',
    });
  });

  it('maps errors of a count as those of an answer', async () => {
    upstream.answers(529, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}');
    await expect(new AnthropicProvider(http).countTokens(call())).rejects.toMatchObject({
      code: 'provider_overloaded',
    });
  });

  it.each(['{}', '{"input_tokens":-1}', '{"input_tokens":"7"}', '[7]', '<html>'])('calls %s no count', (answer) => {
    expect(() => readTokenCount(Buffer.from(answer), aProvider())).toThrow(
      expect.objectContaining({ code: 'provider_unavailable' }) as Error,
    );
  });
});
