import { APIS } from '../apis/apis';
import type { InferenceEngine } from './engine';
import type { RoutedRequest } from './inference-call';
import type { Api } from '../catalogue/catalogue';
import { leftCallOf } from './left-call';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream, textOf } from '../testing';

const COMPLAINT = { error: { message: 'too long', type: 'invalid_request_error', code: 'context_length_exceeded' } };
const CUT = { status: 'incomplete', error: null, incomplete_details: { reason: 'max_output_tokens' }, output: [] };
const FREE = { cost: { totalCost: 0n }, usage: { promptTokens: 0, completionTokens: 0 } };

describe('a prompt that the endpoint of a response finds too long', () => {
  let upstream: FakeUpstream;
  let close: () => Promise<void>;

  beforeEach(async () => {
    upstream = await FakeUpstream.start();
    upstream.behaviour = (response) => response.writeHead(400).end(JSON.stringify(COMPLAINT));
  });

  afterEach(async () => {
    await close();
    await upstream.close();
  });

  const anEngineSpeaking = (...apis: Api[]): InferenceEngine => {
    const provider = aProvider({ slug: 'one', baseUrl: upstream.baseUrl, apiKeyEnv: null });
    const pricing = { prompt: 1_000_000_000_000n, completion: 1_000_000_000_000n, request: 5_000_000_000_000n };
    const { engine, http } = anEngine([aModel({ endpoints: [anEndpoint({ provider, apis, pricing })] })]);
    close = () => http.close();
    return engine;
  };

  const requestOf = (body: object): RoutedRequest => ({
    generationId: 'gen-1-abc',
    model: 'acme/large',
    body: Buffer.from(JSON.stringify({ model: 'acme/large', ...body })),
    signal: new AbortController().signal,
  });

  it.each(['responses', 'chat'] as const)(
    'is an answer cut short, whichever API the endpoint speaks: %s',
    async (api) => {
      const result = await anEngineSpeaking(api).answer('responses', requestOf({ input: 'Hi', temperature: 0.5 }));
      expect(JSON.parse(result.body.toString())).toMatchObject({ ...CUT, id: 'gen-1-abc', temperature: 0.5 });
      expect(result).toMatchObject({
        ...FREE,
        finishReason: 'length',
        nativeFinishReason: 'context_length_exceeded',
        upstreamId: null,
      });
      expect(upstream.requests).toHaveLength(1);
    },
  );

  it.each(['responses', 'chat'] as const)('is a stream that ends as it begins: %s', async (api) => {
    const engine = anEngineSpeaking(api);
    const { stream } = await engine.stream('responses', requestOf({ input: 'Hi', stream: true }));
    const text = await textOf(stream);
    expect([...text.matchAll(/^data: \{"type":"([a-z_.]+)"/gm)].map(([, name]) => name)).toEqual([
      'response.created',
      'response.in_progress',
      'response.incomplete',
    ]);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(text).toContain('"incomplete_details":{"reason":"max_output_tokens"}');
    expect(await stream.outcome).toMatchObject({ ...FREE, state: 'incomplete', finishReason: 'length', error: null });
  });

  it('is a stream that can be left', async () => {
    const engine = anEngineSpeaking('responses');
    const { stream } = await engine.stream('responses', requestOf({ input: 'Hi', stream: true }));
    stream.cancel();
    expect(await stream.outcome).toMatchObject({ ...FREE, state: 'cancelled' });
  });

  it('is a turn that was cut short', async () => {
    const conversation = APIS.responses.caller.readRequest({ model: 'acme/large', input: 'Hi' });
    const engine = anEngineSpeaking('chat');
    const { turn } = await engine.converse('responses', { ...requestOf({ input: 'Hi' }), conversation }, false);
    expect(await turn.outcome).toMatchObject({ ...FREE, state: 'incomplete', finishReason: 'length' });
  });

  it('is an error on every other API', async () => {
    const engine = anEngineSpeaking('chat');
    const messages = [{ role: 'user', content: 'Hi' }];
    for (const api of ['chat', 'messages'] as const) {
      await expect(engine.answer(api, requestOf({ messages, max_tokens: 5 }))).rejects.toMatchObject({
        code: 'context_length_exceeded',
      });
    }
  });

  it('is an error like every other where it is not about the length', async () => {
    upstream.behaviour = (response) => response.writeHead(400).end('{"error":{"message":"no such tool"}}');
    const engine = anEngineSpeaking('responses');
    await expect(engine.answer('responses', requestOf({ input: 'Hi' }))).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});

describe('an answer that is longer than can be read', () => {
  it('is paid for in full, and asked of no other endpoint', async () => {
    const upstream = await FakeUpstream.start();
    upstream.behaviour = (response) => response.writeHead(200).end('x'.repeat(2_000));
    const pricing = { prompt: 0n, completion: 1_000_000_000_000n };
    const endpoints = ['one', 'two'].map((slug) =>
      anEndpoint({
        provider: aProvider({ slug, baseUrl: upstream.baseUrl, apiKeyEnv: null }),
        apis: ['chat'],
        pricing,
      }),
    );
    const { engine, http } = anEngine([aModel({ endpoints })], {}, { largestBodyBytes: 1_000 });
    const body = { model: 'acme/large', messages: [{ role: 'user', content: 'Hi' }], n: 4, max_tokens: 250 };
    const thrown: unknown = await engine
      .answer('chat', {
        generationId: 'gen-1-abc',
        model: 'acme/large',
        body: Buffer.from(JSON.stringify(body)),
        signal: new AbortController().signal,
        expected: () => APIS.chat.outputOf(body),
      })
      .catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: 'unprocessable', retryable: false });
    expect(leftCallOf(thrown)?.usage).toMatchObject({ completionTokens: 1_000 });
    expect(upstream.requests).toHaveLength(1);
    await http.close();
    await upstream.close();
  });
});
