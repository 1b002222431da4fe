import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '@libs/contracts';
import {
  aModel,
  anEndpoint,
  anEngine,
  aProvider,
  FakeUpstream,
  FIXTURE_KEY,
  type ReceivedRequest,
  textOf,
} from '../testing';
import { regionOfHost } from './aws-signature';
import { BedrockProvider } from './bedrock.provider';
import type { UpstreamCall } from '../wire/upstream-call';
import { describeConformance } from './testing/conformance';
import { bedrockEvent, bedrockException } from './testing/event-stream-encoder';
import { UpstreamHttp } from '../wire/upstream-http';

describeConformance('bedrock', 'conversation');
describeConformance('bedrock', 'messages');

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET, region: 'eu-west-1' };

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The signature that AWS works out from what it received, by the rules of Signature Version 4. */
function signatureOf({ method, path, headers, body }: ReceivedRequest, secret: string): string {
  const [, scope = '', names = ''] = /Credential=[^/]+\/(\S+), SignedHeaders=(\S+),/.exec(headers.authorization!)!;
  const canonicalPath = path.split('/').map(encodeURIComponent).join('/');
  const lines = names.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  const request = [method, canonicalPath, '', lines.join(''), names, sha256(body)].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(request)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return hmac(key, toSign).toString('hex');
}

describe(BedrockProvider.name, () => {
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

  const provider = () => new BedrockProvider(http, () => Date.parse('2026-11-21T12:34:56.789Z'));
  const call = (values: Partial<UpstreamCall> = {}, upstreamModel = 'eu.anthropic.claude-x-v1:0'): UpstreamCall => ({
    endpoint: anEndpoint({ provider: aProvider({ protocol: 'bedrock', baseUrl: upstream.baseUrl }), upstreamModel }),
    apiKey: new Secret(FIXTURE_KEY),
    body: Buffer.from('{"model":"m","stream":true,"messages":[],"max_tokens":5,"service_tier":"auto"}'),
    signal: new AbortController().signal,
    timeouts: { headersMs: 1_000, idleMs: 1_000, totalMs: 1_000 },
    ...values,
  });
  const withKeys = (keys: object) => ({ apiKey: new Secret(JSON.stringify(keys)) });

  describe('authorisation', () => {
    it('sends an API key as it is, and the id of the model encoded in the path', async () => {
      upstream.answers(200, '{}');
      await provider().converse(call());
      expect(upstream.requests[0]!.path).toBe('/v1/model/eu.anthropic.claude-x-v1%3A0/converse');
      expect(upstream.requests[0]!.headers.authorization).toBe(`Bearer ${FIXTURE_KEY}`);
      expect(upstream.requests[0]!.headers).not.toHaveProperty('x-amz-date');
    });

    it.each<[string, 'converse' | 'messages', string]>([
      ['a conversation', 'converse', 'eu.anthropic.claude-x-v1:0'],
      ['messages, whose body is rewritten', 'messages', 'eu.anthropic.claude-x-v1:0'],
      [
        'the name of a resource',
        'converse',
        'arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-x-v1:0',
      ],
    ])('signs exactly what is sent: %s', async (_what, method, model) => {
      upstream.answers(200, '{}');
      await provider()[method](call(withKeys(KEYS), model));
      const [request] = upstream.requests;
      const { authorization = '' } = request!.headers;
      expect(authorization).toContain('Credential=AKIDEXAMPLE/20261121/eu-west-1/bedrock/aws4_request');
      expect(authorization).toContain('SignedHeaders=host;x-amz-content-sha256;x-amz-date,');
      expect(authorization.split('Signature=')[1]).toBe(signatureOf(request!, SECRET));
      expect(JSON.stringify(request)).not.toContain(SECRET);
    });

    it('signs the token of temporary keys along', async () => {
      upstream.answers(200, '{}');
      await provider().converse(call(withKeys({ ...KEYS, sessionToken: 'FwoGZXIvYXdzEXAMPLE' })));
      const { headers } = upstream.requests[0]!;
      expect(headers['x-amz-security-token']).toBe('FwoGZXIvYXdzEXAMPLE');
      expect(headers.authorization).toContain(';x-amz-security-token,');
      expect(headers.authorization!.split('Signature=')[1]).toBe(signatureOf(upstream.requests[0]!, SECRET));
    });

    it.each([
      ['without a secret', { accessKeyId: 'AKIDEXAMPLE' }],
      ['without a region on a host that names none', { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET }],
    ])('does not call with keys %s, and does not repeat them', async (_what, keys) => {
      const error = await provider()
        .converse(call(withKeys(keys)))
        .catch((thrown: unknown) => thrown as Error & { internal: string });
      expect(error).toMatchObject({ code: 'provider_unavailable' });
      expect(JSON.stringify([error, (error as Error).stack])).not.toMatch(/AKIDEXAMPLE|wJalr/);
      expect(upstream.requests).toHaveLength(0);
    });

    it('does not call with a key that is half JSON', async () => {
      await expect(provider().converse(call({ apiKey: new Secret('{"accessKeyId":') }))).rejects.toMatchObject({
        code: 'provider_unavailable',
      });
    });

    it.each([
      ['bedrock-runtime.us-east-1.amazonaws.com', 'us-east-1'],
      ['bedrock-runtime-fips.us-gov-west-1.amazonaws.com', 'us-gov-west-1'],
      ['vpce-0123-abc.bedrock-runtime.ap-southeast-2.vpce.amazonaws.com', 'ap-southeast-2'],
      ['127.0.0.1:8080', null],
      ['bedrock.example.com', null],
    ])('reads the region of the host %s', (host, region) => {
      expect(regionOfHost(host)).toBe(region);
    });
  });

  describe("Anthropic's messages", () => {
    it('name the version in the body, and the model and the stream in the path', async () => {
      upstream.answers(200, '{}');
      await provider().messages(call({ headers: { 'Anthropic-Beta': 'a, b', 'x-other': 'c' } }));
      expect(upstream.requests[0]).toMatchObject({
        path: '/v1/model/eu.anthropic.claude-x-v1%3A0/invoke',
        body: '{"messages":[],"max_tokens":5,"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["a","b"]}',
        headers: { 'x-other': 'c' },
      });
      expect(upstream.requests[0]!.headers).not.toHaveProperty('anthropic-beta');
    });

    it('have the mark for the cache on their last block', async () => {
      upstream.answers(200, '{}');
      const mark = '"cache_control":{"type":"ephemeral"}';
      await provider().messages(call({ body: Buffer.from(`{${mark},"messages":[{"role":"user","content":"Hi"}]}`) }));
      expect(upstream.requests[0]!.body).toBe(
        `{"messages":[{"role":"user","content":[{"type":"text","text":"Hi",${mark}}]}],"anthropic_version":"bedrock-2023-05-31"}`,
      );
    });

    it('come out of their chunks as the events that they are', async () => {
      const bytes = Buffer.from('{"type":"ping", "amazon-bedrock-invocationMetrics":{"inputTokenCount":1}}');
      upstream.streams(bedrockEvent('chunk', { bytes: bytes.toString('base64'), p: 'abc' }));
      const stream = await provider().messagesStream(call());
      expect(String(await stream.read())).toBe('event: ping\ndata: {"type":"ping"}\n\n');
      expect(await stream.read()).toBeNull();
      expect(upstream.requests[0]!.path).toMatch(/\/invoke-with-response-stream$/);
    });

    it.each([
      ['has no bytes', bedrockEvent('chunk', { p: 'abc' })],
      ['is no chunk', bedrockEvent('other', { bytes: 'e30=' })],
      ['holds no JSON', bedrockEvent('chunk', { bytes: 'PGh0bWw+' })],
      ['holds an event without a type', bedrockEvent('chunk', { bytes: 'e30=' })],
    ])('are broken by a message that %s', async (_what, message) => {
      upstream.streams(message);
      const stream = await provider().messagesStream(call());
      await expect(stream.read()).rejects.toMatchObject({ code: 'provider_unavailable' });
    });
  });

  describe('in the engine', () => {
    const recorded = (name: string) => readFileSync(join(__dirname, '__fixtures__', 'bedrock', name));
    const endpoints = () =>
      ['acme', 'other'].map((slug) =>
        anEndpoint({
          provider: aProvider({ slug, protocol: 'bedrock', baseUrl: upstream.baseUrl }),
          apis: ['chat'],
        }),
      );
    const request = (body: object) => ({
      generationId: 'gen-1-abc',
      model: 'acme/large',
      body: Buffer.from(JSON.stringify({ model: 'acme/large', ...body })),
      signal: new AbortController().signal,
    });
    const messages = [{ role: 'user', content: 'Hi' }];

    it.each([
      ['chat', { messages }],
      ['responses', { input: 'Hi' }],
      ['messages', { messages, max_tokens: 9 }],
    ] as const)('serves callers of %s through the same conversation', async (api, body) => {
      upstream.answers(200, recorded('conversation.json'));
      const { engine, http: own } = anEngine([aModel({ endpoints: endpoints() })]);
      const { body: answer, usage } = await engine.answer(api, request(body));
      await own.close();
      expect(upstream.requests[0]!.path).toMatch(/\/converse$/);
      expect(JSON.parse(upstream.requests[0]!.body)).toMatchObject({
        messages: [{ role: 'user', content: [{ text: 'Hi' }] }],
      });
      expect(answer.toString()).toContain('Grüße! 1 < 2');
      expect(usage).toMatchObject({ promptTokens: 19, cachedTokens: 8, completionTokens: 10 });
    });

    it('tries another endpoint when a stream tells of an error before it said anything', async () => {
      const start = bedrockEvent('messageStart', { role: 'assistant' });
      const failing = Buffer.concat([start, bedrockException('throttlingException', 'Too many requests')]);
      const bodies = [failing, recorded('conversation-stream.bin')];
      upstream.behaviour = (response) => response.writeHead(200).end(bodies[upstream.requests.length - 1]);
      const { engine, http: own } = anEngine([aModel({ endpoints: endpoints() })]);
      const { stream, attempts } = await engine.stream('chat', request({ messages, stream: true }));
      const text = await textOf(stream);
      await own.close();
      expect(text).toContain('Grüße');
      expect(attempts).toMatchObject([{ errorCode: 'rate_limit_exceeded' }, { errorCode: null }]);
    });

    it('ends a stream that had begun with the error it tells of', async () => {
      const delta = bedrockEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Well' } });
      upstream.streams(delta, bedrockException('modelStreamErrorException', 'The model broke off'));
      const { engine, http: own } = anEngine([aModel({ endpoints: endpoints() })]);
      const { stream } = await engine.stream('chat', request({ messages, stream: true }));
      const text = await textOf(stream);
      await own.close();
      expect(text).toContain('Well');
      expect(await stream.outcome).toMatchObject({ state: 'failed', error: { code: 'provider_unavailable' } });
    });
  });

  describe('embeddings', () => {
    const embed = async (model: string, body: object) => {
      const { body: answer } = await provider().embed(call({ body: Buffer.from(JSON.stringify(body)) }, model));
      return JSON.parse(answer.toString()) as { data: { index: number; embedding: unknown }[]; usage?: object };
    };
    const asked = () => upstream.requests.map(({ body }) => JSON.parse(body) as Record<string, unknown>);

    it('ask Titan once for every text and keep their order', async () => {
      upstream.behaviour = (response, { body }) => {
        const { inputText } = JSON.parse(body) as { inputText: string };
        const answer = () => response.end(JSON.stringify({ embedding: [Number(inputText)], inputTextTokenCount: 2 }));
        // Later texts are answered first.
        setTimeout(answer, 40 - Number(inputText));
      };
      const input = Array.from({ length: 20 }, (_, i) => String(i));
      const { data, usage } = await embed('amazon.titan-embed-text-v2:0', { input, dimensions: 256 });
      expect(data.map(({ index, embedding }) => [index, embedding])).toEqual(input.map((_, i) => [i, [i]]));
      expect(usage).toEqual({ prompt_tokens: 40, total_tokens: 40 });
      expect(asked()).toHaveLength(20);
      expect(asked()[0]).toEqual({ inputText: expect.any(String) as string, dimensions: 256 });
    });

    it('are written as bytes of floats where the caller wants that', async () => {
      upstream.answers(200, '{"embedding":[1,-0.5],"inputTextTokenCount":2}');
      const { data } = await embed('amazon.titan-embed-text-v2:0', { input: 'a', encoding_format: 'base64' });
      expect(data[0]!.embedding).toBe('AACAPwAAAL8=');
    });

    it('ask Cohere for many texts at once and take the count from the header', async () => {
      upstream.answers(200, '{"embeddings":{"float":[[1],[2]]}}', { 'x-amzn-bedrock-input-token-count': '7' });
      const { data, usage } = await embed('cohere.embed-v4:0', { input: ['a', 'b'], input_type: 'search_query' });
      expect(data.map(({ embedding }) => embedding)).toEqual([[1], [2]]);
      expect(usage).toEqual({ prompt_tokens: 7, total_tokens: 7 });
      expect(asked()).toEqual([
        { texts: ['a', 'b'], input_type: 'search_query', truncate: 'NONE', embedding_types: ['float'] },
      ]);
    });

    it('ask Nova for one text and leave out a count that nobody made', async () => {
      upstream.answers(200, '{"embeddings":[{"embeddingType":"TEXT","embedding":[1]}]}');
      const { data, usage } = await embed('amazon.nova-2-multimodal-embeddings-v1:0', { input: 'a', dimensions: 256 });
      expect(data[0]!.embedding).toEqual([1]);
      expect(usage).toBeUndefined();
      expect(asked()[0]).toMatchObject({
        taskType: 'SINGLE_EMBEDDING',
        singleEmbeddingParams: { embeddingDimension: 256, text: { value: 'a' } },
      });
    });

    it.each([
      ['cohere.embed-v4:0', 'query', { input_type: 'search_query' }],
      ['cohere.embed-v4:0', 'Passage', { input_type: 'search_document' }],
      ['cohere.embed-v4:0', 'image', { input_type: 'image' }],
      ['amazon.nova-2-multimodal-embeddings-v1:0', 'search_query', 'GENERIC_RETRIEVAL'],
      ['amazon.nova-2-multimodal-embeddings-v1:0', 'document', 'GENERIC_INDEX'],
      ['amazon.nova-2-multimodal-embeddings-v1:0', 'TEXT_RETRIEVAL', 'TEXT_RETRIEVAL'],
    ])('tell %s in its own words that they are for %s', async (model, inputType, told) => {
      upstream.answers(200, '{"embeddings":[{"embedding":[1]}]}');
      await embed(model, { input: 'a', input_type: inputType });
      const expected = typeof told === 'string' ? { singleEmbeddingParams: { embeddingPurpose: told } } : told;
      expect(asked()[0]).toMatchObject(expected);
    });

    it('end with the first call that fails', async () => {
      upstream.behaviour = (response) => {
        if (upstream.requests.length === 8) response.writeHead(400).end('{"message":"Malformed input request"}');
      };
      const input = Array.from({ length: 100 }, (_, i) => String(i));
      await expect(embed('amazon.titan-embed-text-v2:0', { input })).rejects.toMatchObject({ code: 'invalid_request' });
      expect(upstream.requests).toHaveLength(8);
      expect(await Promise.all(upstream.endings)).toEqual([...Array<boolean>(7).fill(false), true]);
    });

    it.each([[[[1, 2]]], [[1]], [{ text: 'a' }]])('refuse the input %j, which is no text', async (input) => {
      await expect(embed('amazon.titan-embed-text-v2:0', { input })).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('input') as string,
      });
    });
  });
});
