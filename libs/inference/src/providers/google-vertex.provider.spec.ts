import { Secret } from '@libs/contracts';
import { anEndpoint, aProvider, FakeUpstream, FIXTURE_KEY } from '../testing';
import type { Endpoint } from '../catalogue/catalogue';
import { GoogleVertexProvider } from './google-vertex.provider';
import { describeConformance } from './testing/conformance';
import { aServiceAccount, startTokenEndpoint, tokensFrom } from './testing/service-account';
import { UpstreamHttp } from '../wire/upstream-http';

describeConformance('google-vertex', 'conversation');
describeConformance('google-vertex', 'messages');

describe(GoogleVertexProvider.name, () => {
  let upstream: FakeUpstream;
  let tokens: FakeUpstream;
  let http: UpstreamHttp;
  let provider: GoogleVertexProvider;

  beforeEach(async () => {
    [upstream, tokens] = await Promise.all([FakeUpstream.start(), startTokenEndpoint()]);
    upstream.answers(200, '{}');
    http = new UpstreamHttp();
    provider = new GoogleVertexProvider(http, tokensFrom(tokens, http));
  });

  afterEach(async () => {
    await Promise.all([upstream.close(), tokens.close()]);
    await http.close();
  });

  const call = (values: Partial<Endpoint> & { key?: object | string; body?: object; baseUrl?: string } = {}) => {
    const { key = aServiceAccount(), body = {}, baseUrl = upstream.baseUrl, ...endpoint } = values;
    return {
      endpoint: anEndpoint({
        provider: aProvider({ protocol: 'google-vertex', baseUrl }),
        upstreamModel: 'gemini-3.5-flash',
        ...endpoint,
      }),
      apiKey: new Secret(typeof key === 'string' ? key : JSON.stringify(key)),
      body: Buffer.from(JSON.stringify(body)),
      signal: new AbortController().signal,
      timeouts: { headersMs: 2_000, idleMs: 2_000, totalMs: 2_000 },
    };
  };
  const paths = () => upstream.requests.map(({ path }) => path);

  it('asks in the project of the document and the region of the endpoint', async () => {
    await provider.converse(call());
    await provider.converse(call({ region: 'us-east5' }));
    expect(paths()).toEqual([
      '/v1/projects/acme-prod/locations/global/publishers/google/models/gemini-3.5-flash:generateContent',
      '/v1/projects/acme-prod/locations/us-east5/publishers/google/models/gemini-3.5-flash:generateContent',
    ]);
    expect(upstream.requests[0]!.headers).toMatchObject({ authorization: 'Bearer ya29.token' });
    expect(upstream.requests[0]!.headers).not.toHaveProperty('x-goog-api-key');
  });

  it('asks in the project that the catalogue names, with a tuned model too', async () => {
    const baseUrl = `${upstream.origin}/v1/projects/other/locations/us`;
    await provider.converse(call({ baseUrl, upstreamModel: 'endpoints/123' }));
    expect(paths()).toEqual(['/v1/projects/other/locations/us/endpoints/123:generateContent']);
  });

  it('needs no project with an API key', async () => {
    await provider.converse(call({ key: FIXTURE_KEY }));
    expect(paths()).toEqual(['/v1/publishers/google/models/gemini-3.5-flash:generateContent']);
    expect(upstream.requests[0]!.headers).toMatchObject({ 'x-goog-api-key': FIXTURE_KEY });
    expect(tokens.requests).toHaveLength(0);
  });

  it('fetches a token anew when the upstream no longer accepts it', async () => {
    await provider.converse(call());
    upstream.answers(401, '{"error":{"code":401,"status":"UNAUTHENTICATED"}}');
    await expect(provider.converse(call())).rejects.toMatchObject({ code: 'provider_unavailable' });
    upstream.answers(200, '{}');
    await provider.converse(call());
    expect(tokens.requests).toHaveLength(2);
  });

  it.each<[string, object | string]>([
    ['no JSON', '{"type":'],
    ['another kind of credential', { type: 'authorized_user', refresh_token: '1//secret' }],
    ['no project', { ...aServiceAccount(), project_id: '../..' }],
  ])('cannot use a document with %s, and shows nothing of it', async (_what, key) => {
    const thrown = await provider.converse(call({ key })).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: 'provider_unavailable', message: 'The provider is not available' });
    expect(JSON.stringify([thrown, String((thrown as { internal?: string }).internal)])).not.toMatch(/secret|PRIVATE/);
    expect(upstream.requests).toHaveLength(0);
  });

  it('marks the last block of an Anthropic model for the cache where the caller marks the whole', async () => {
    const cache_control = { type: 'ephemeral' };
    const body = { max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] };
    await provider.messages(call({ body: { ...body, cache_control }, key: FIXTURE_KEY }));
    const content = [{ type: 'text', text: 'Hi', cache_control }];
    expect(JSON.parse(upstream.requests[0]!.body)).toEqual({
      ...body,
      messages: [{ role: 'user', content }],
      anthropic_version: 'vertex-2023-10-16',
    });
  });

  it('asks Anthropic models in their own API, the model in the path', async () => {
    const body = { model: 'claude-x@2026', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] };
    const claude = { upstreamModel: 'claude-x@2026', body, key: FIXTURE_KEY };
    await provider.messages({ ...call(claude), headers: { 'anthropic-beta': 'a' } });
    upstream.streams('event: ping\ndata: {}\n\n');
    (await provider.messagesStream(call({ ...claude, body: { ...body, stream: true } }))).cancel();
    upstream.answers(200, '{"input_tokens":7}');
    await provider.countTokens(call(claude));
    expect(paths()).toEqual([
      '/v1/publishers/anthropic/models/claude-x@2026:rawPredict',
      '/v1/publishers/anthropic/models/claude-x@2026:streamRawPredict',
      '/v1/publishers/anthropic/models/count-tokens:rawPredict',
    ]);
    expect(upstream.requests[0]!.headers).toMatchObject({ 'anthropic-beta': 'a' });
    const { model, ...rest } = body;
    const version = { anthropic_version: 'vertex-2023-10-16' };
    expect(upstream.requests.map((request) => JSON.parse(request.body) as unknown)).toEqual([
      { ...rest, ...version },
      { ...rest, stream: true, ...version },
      { model, ...rest, ...version },
    ]);
  });

  const embed = async (upstreamModel: string, body: object) =>
    JSON.parse((await provider.embed(call({ upstreamModel, body }))).body.toString()) as {
      data: { embedding: number[] }[];
      usage?: object;
    };

  it('asks the second generation of embeddings for one content at a time', async () => {
    upstream.behaviour = (response, { body }) => {
      const { content } = JSON.parse(body) as { content: { parts: { text: string }[] } };
      const values = [Number(content.parts[0]!.text)];
      response.writeHead(200).end(JSON.stringify({ embedding: { values }, usageMetadata: { promptTokenCount: 2 } }));
    };
    const { data, usage } = await embed('gemini-embedding-2', { input: ['1', '2', '3'], dimensions: 1 });
    expect(data.map(({ embedding }) => embedding[0])).toEqual([1, 2, 3]);
    expect(usage).toEqual({ prompt_tokens: 6, total_tokens: 6 });
    expect(paths()[0]).toMatch(/gemini-embedding-2:embedContent$/);
    expect(JSON.parse(upstream.requests[0]!.body)).toMatchObject({ embedContentConfig: { outputDimensionality: 1 } });
  });

  it('asks the first for predictions, one text at a time', async () => {
    upstream.answers(200, '{"predictions":[{"embeddings":{"values":[1],"statistics":{"token_count":2}}}]}');
    const { usage } = await embed('gemini-embedding-001', { input: ['a', 'b'], input_type: 'document', dimensions: 1 });
    expect(usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });
    expect(upstream.requests).toHaveLength(2);
    expect(JSON.parse(upstream.requests[0]!.body)).toEqual({
      instances: [{ content: 'a', task_type: 'RETRIEVAL_DOCUMENT' }],
      parameters: { autoTruncate: false, outputDimensionality: 1 },
    });
  });

  it('refuses media where only text is embedded', async () => {
    const image_url = { url: 'data:image/png;base64,YQ==' };
    await expect(
      embed('text-embedding-005', { input: [{ content: [{ type: 'image_url', image_url }] }] }),
    ).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
