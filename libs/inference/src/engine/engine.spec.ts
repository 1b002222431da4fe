import { joinFrames } from '../model/answer-frame';
import type { ServerResponse } from 'node:http';
import { AppError } from '@libs/errors';
import { createParser } from 'eventsource-parser';
import { InferenceEngine, type EngineParts } from './engine';
import { callStatus } from '../apis/call-status';
import type { RoutedRequest, StreamResult } from './inference-call';
import { attemptsBefore } from '../routing/failed-route';
import { ProviderHealth } from '../routing/provider-health';
import { upstreamStatusOf } from '../wire/upstream-error';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream, textOf } from '../testing';

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});

const chunk = (delta: object, values: object = {}): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-7',
    object: 'chat.completion.chunk',
    created: 1763715601,
    model: 'acme-large-2026',
    choices: [{ index: 0, delta, finish_reason: null }],
    ...values,
  })}\n\n`;
const finish = (reason: string): string => chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: reason }] });
const usage = chunk({}, { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } });
const DONE = 'data: [DONE]\n\n';

interface Chunk {
  id: string;
  model: string;
  provider: string;
  created: number;
  choices: { delta: { content?: string }; finish_reason: string | null }[];
  usage?: { cost: number; prompt_tokens: number; completion_tokens: number };
  error?: { code: number; message: string; metadata: object };
}

let first: FakeUpstream;
let second: FakeUpstream;
let closers: (() => Promise<void>)[];
let controller: AbortController;
let nowMs: number;

const providers = () => ({
  cheap: aProvider({ slug: 'cheap', baseUrl: first.baseUrl, apiKeyEnv: null }),
  dear: aProvider({ slug: 'dear', baseUrl: second.baseUrl, apiKeyEnv: null }),
});

/** An engine with one model at two providers; the dice pick the cheap one. */
function twoProviders(parts: Partial<EngineParts> = {}): InferenceEngine {
  const { cheap, dear } = providers();
  const pricing = { prompt: 4_000_000_000_000n, completion: 8_000_000_000_000n };
  const endpoints = [anEndpoint({ provider: dear, pricing }), anEndpoint({ provider: cheap })];
  const { engine, http } = anEngine([aModel({ endpoints })], { clock: () => nowMs, ...parts });
  closers.push(() => http.close());
  return engine;
}

function oneProvider(maxConcurrency = 16): InferenceEngine {
  const provider = { ...providers().cheap, maxConcurrency };
  const { engine, http } = anEngine([aModel({ endpoints: [anEndpoint({ provider })] })]);
  closers.push(() => http.close());
  return engine;
}

const aRequest = (values: Partial<RoutedRequest> = {}): RoutedRequest => ({
  generationId: 'gen-1-abc',
  model: 'acme/large',
  body: Buffer.from('{"model":"acme/large","messages":[{"role":"user","content":"sixteen bytes :)"}]}'),
  signal: controller.signal,
  ...values,
});

const refusal = async (run: Promise<unknown>): Promise<AppError> => {
  const thrown: unknown = await run.then(
    () => 'an answer',
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(AppError);
  return thrown as AppError;
};

/** Everything a caller reads, as an independent parser sees it. */
async function readAll({ stream }: StreamResult) {
  const events: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => events.push(data) });
  parser.feed(await textOf(stream));
  const chunks = events.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data) as Chunk);
  return { events, chunks, text: chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('') };
}

beforeEach(async () => {
  controller = new AbortController();
  nowMs = Date.now();
  closers = [];
  first = await FakeUpstream.start();
  second = await FakeUpstream.start();
});

afterEach(async () => {
  await Promise.all([first.close(), second.close()]);
  await Promise.all(closers.map((close) => close()));
});

describe(InferenceEngine.name, () => {
  it('answers from the first endpoint of the plan and says where the answer came from', async () => {
    first.answers(200, ANSWER);
    const result = await twoProviders().answer('chat', aRequest());
    expect(result).toMatchObject({
      status: 200,
      model: { slug: 'acme/large' },
      endpoint: { provider: { slug: 'cheap' } },
      upstreamId: 'chatcmpl-1',
      cost: { totalCost: 20_000_000n },
      attempts: [{ model: 'acme/large', providerName: 'Cheap', providerSlug: 'cheap', status: 200, errorCode: null }],
    });
    expect(first.requests).toMatchObject([{ method: 'POST', path: '/v1/chat/completions' }]);
    expect(first.requests[0]?.headers).not.toHaveProperty('authorization');
    expect(JSON.parse(first.requests[0]!.body)).toMatchObject({ model: 'acme-large-2026' });
  });

  it('sends the headers of the catalogue', async () => {
    first.answers(200, ANSWER);
    const provider = { ...providers().cheap, headers: { 'x-team': 'blue' } };
    const { engine, http } = anEngine([aModel({ endpoints: [anEndpoint({ provider })] })]);
    closers.push(() => http.close());
    await engine.answer('chat', aRequest());
    expect(first.requests[0]?.headers).toMatchObject({ 'x-team': 'blue' });
  });

  it('falls back when another endpoint may do better', async () => {
    first.answers(503, '');
    second.answers(200, ANSWER);
    const { endpoint, attempts } = await twoProviders().answer('chat', aRequest());
    expect(endpoint.provider.slug).toBe('dear');
    expect(attempts).toMatchObject([
      { providerSlug: 'cheap', status: 503, errorCode: 'provider_overloaded' },
      { providerSlug: 'dear', status: 200 },
    ]);
  });

  it('asks first who takes links where a picture stands behind one', async () => {
    second.answers(200, ANSWER);
    const provider = { ...providers().cheap, protocol: 'bedrock' };
    const pricing = { prompt: 4_000_000_000_000n, completion: 8_000_000_000_000n };
    const endpoints = [anEndpoint({ provider }), anEndpoint({ provider: providers().dear, pricing })];
    const { engine, http } = anEngine([aModel({ endpoints })]);
    closers.push(() => http.close());
    await engine.answer('chat', aRequest({ hasLinkedMedia: true }));
    expect([first.requests.length, second.requests.length]).toEqual([0, 1]);
  });

  it('does not fall back when the caller is to blame', async () => {
    first.answers(400, '{"error":{"message":"bad temperature"}}');
    expect(await refusal(twoProviders().answer('chat', aRequest()))).toMatchObject({ code: 'invalid_request' });
    expect(second.requests).toHaveLength(0);
  });

  it('tells of every attempt, and the shortest wait, when all have failed', async () => {
    first.answers(429, '', { 'retry-after': '9' });
    second.answers(429, '', { 'retry-after': '4' });
    const { model } = aRequest();
    const availability = {
      code: 'capacity_exhausted',
      retryable: true,
      requested_models: [model],
      docs_url: 'docs/errors.md#capacity_exhausted',
      retry_after: 4,
      affected_providers: ['Cheap', 'Dear'],
    };
    expect((await refusal(twoProviders().answer('chat', aRequest()))).toWire()).toEqual({
      code: 'rate_limit_exceeded',
      message: 'The provider limits the rate of requests',
      availability,
      retryAfterSeconds: 4,
      metadata: {
        provider_name: 'Dear',
        provider_code: '429',
        previous_errors: [
          { provider: 'Cheap', code: 'rate_limit_exceeded', status: 429, outcome: 'rate_limited' },
          { provider: 'Dear', code: 'rate_limit_exceeded', status: 429, outcome: 'rate_limited' },
        ],
      },
    });
  });

  it.each([
    [429, ''],
    [404, '{"error":{"code":"model_not_found","message":"The model does not exist"}}'],
  ])('keeps the status %d of the only provider for the batch worker', async (status, body) => {
    first.answers(status, body);
    const { engine, http } = anEngine([aModel({ endpoints: [anEndpoint({ provider: providers().cheap })] })]);
    closers.push(() => http.close());
    const error = await refusal(engine.answer('chat', aRequest()));
    expect(error.availability).toBeDefined();
    expect(upstreamStatusOf(error)).toBe(status);
  });

  it('tries three endpoints and no more', async () => {
    first.answers(500, '');
    const endpoints = ['a', 'b', 'c', 'd'].map((slug) =>
      anEndpoint({ provider: { ...providers().cheap, slug, name: slug } }),
    );
    const { engine, http } = anEngine([aModel({ endpoints })]);
    closers.push(() => http.close());
    await refusal(engine.answer('chat', aRequest()));
    expect(first.requests).toHaveLength(3);
  });

  it('keeps away from an endpoint that failed in the last half minute', async () => {
    first.answers(500, '');
    second.answers(200, ANSWER);
    const engine = twoProviders({ health: new ProviderHealth(() => nowMs) });
    await engine.answer('chat', aRequest());
    await engine.answer('chat', aRequest());
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
    nowMs += 31_000;
    await engine.answer('chat', aRequest());
    expect([first.requests.length, second.requests.length]).toEqual([2, 3]);
  });

  it('starts nothing more once the deadline has passed', async () => {
    first.behaviour = (response) => {
      nowMs += 5_000;
      response.writeHead(503).end();
    };
    const error = await refusal(twoProviders().answer('chat', aRequest({ deadlineMs: nowMs + 5_000 })));
    expect(error.code).toBe('provider_overloaded');
    expect(second.requests).toHaveLength(0);
    expect(await refusal(twoProviders().answer('chat', aRequest({ deadlineMs: nowMs })))).toMatchObject({
      code: 'timeout',
    });
  });

  it('starts nothing more once the caller has left', async () => {
    first.behaviour = () => controller.abort();
    expect(await refusal(twoProviders().answer('chat', aRequest()))).toMatchObject({ code: 'request_timeout' });
    expect(second.requests).toHaveLength(0);
  });

  it('remembers whom it asked when the caller leaves before the next one is', async () => {
    first.behaviour = () => controller.abort();
    const { cheap, dear } = providers();
    const other = aModel({ slug: 'acme/small', endpoints: [anEndpoint({ provider: dear })] });
    const { engine, http } = anEngine([aModel({ endpoints: [anEndpoint({ provider: cheap })] }), other]);
    closers.push(() => http.close());
    const error = await refusal(engine.answer('chat', aRequest({ models: ['acme/small'] })));
    expect(second.requests).toHaveLength(0);
    expect(attemptsBefore(error)).toMatchObject([{ providerSlug: 'cheap', errorCode: 'request_timeout' }]);
  });

  it('tells in previous_errors with which status each would have been the answer', async () => {
    first.answers(503, '');
    second.answers(504, '');
    const body = Buffer.from('{"model":"acme/large","input":"a"}');
    const error = await refusal(twoProviders().answer('embeddings', aRequest({ body })));
    expect(callStatus('embeddings', error)).toBe(524);
    expect(error.metadata).toMatchObject({
      previous_errors: [
        { provider: 'Cheap', code: 'provider_overloaded', status: 529 },
        { provider: 'Dear', code: 'timeout', status: 524 },
      ],
    });
  });

  it('embeds', async () => {
    first.answers(200, '{"data":[{"index":0,"embedding":[0.5]}],"usage":{"prompt_tokens":2,"total_tokens":2}}');
    const body = Buffer.from('{"model":"acme/large","input":"a"}');
    expect(await twoProviders().answer('embeddings', aRequest({ body }))).toMatchObject({
      usage: { promptTokens: 2 },
      finishReason: null,
    });
    expect(first.requests).toMatchObject([{ path: '/v1/embeddings' }]);
  });

  it('falls back from embeddings that do not fit the inputs', async () => {
    first.answers(200, '{"data":[]}');
    second.answers(200, '{"data":[{"index":0,"embedding":[0.5]}]}');
    const body = Buffer.from('{"model":"acme/large","input":"a"}');
    expect((await twoProviders().answer('embeddings', aRequest({ body }))).endpoint.provider.slug).toBe('dear');
  });

  it('calls one endpoint and no other for a line of a batch, at batch prices', async () => {
    const endpoint = anEndpoint({ provider: providers().cheap });
    const engine = twoProviders();
    first.answers(200, ANSWER);
    const result = await engine.callEndpoint(
      'chat',
      { model: aModel(), endpoint },
      { ...aRequest(), priceList: 'batch' },
    );
    expect(result.cost.totalCost).toBe(10_000_000n);
    first.answers(503, '');
    expect(await refusal(engine.callEndpoint('chat', { model: aModel(), endpoint }, aRequest()))).toMatchObject({
      code: 'provider_overloaded',
    });
    expect(second.requests).toHaveLength(0);
  });

  it('does not call a provider whose key is gone', async () => {
    const endpoint = anEndpoint({ provider: { ...providers().cheap, apiKeyEnv: 'NO_SUCH_KEY' } });
    const error = await refusal(oneProvider().callEndpoint('chat', { model: aModel(), endpoint }, aRequest()));
    expect(error).toMatchObject({ code: 'provider_unavailable' });
    expect(first.requests).toHaveLength(0);
  });

  it('refuses calls beyond what may run and wait at a provider', async () => {
    first.behaviour = () => undefined;
    const engine = oneProvider(1);
    const running = [engine.answer('chat', aRequest()), engine.answer('chat', aRequest())].map(refusal);
    expect(await refusal(engine.answer('chat', aRequest()))).toMatchObject({ code: 'provider_overloaded' });
    controller.abort();
    for (const error of await Promise.all(running)) expect(error.code).toBe('request_timeout');
    controller = new AbortController();
    first.answers(200, ANSWER);
    expect((await engine.answer('chat', aRequest())).status).toBe(200);
  });

  it('leaves a provider alone for as long as an error inside its answer says', async () => {
    const said = { message: 'Rate limit reached. Please try again in 6.4s.', code: 'rate_limit_exceeded' };
    first.answers(200, JSON.stringify({ error: said }));
    const engine = oneProvider();
    const told = { code: 'rate_limit_exceeded', retryAfterSeconds: 7 };
    expect(await refusal(engine.answer('chat', aRequest()))).toMatchObject(told);
    expect(await refusal(engine.answer('chat', aRequest()))).toMatchObject({ ...told, availability: {} });
    expect(first.requests).toHaveLength(1);
  });

  it('takes no provider for broken because calls are refused here', async () => {
    first.behaviour = () => undefined;
    const engine = oneProvider(1);
    const running = [engine.answer('chat', aRequest()), engine.answer('chat', aRequest())].map(refusal);
    const refused = await Promise.all(Array.from({ length: 30 }, () => refusal(engine.answer('chat', aRequest()))));
    controller.abort();
    await Promise.all(running);
    // Each was refused for want of room, and none because the endpoint was given a rest.
    expect(new Set(refused.map(({ availability }) => availability))).toEqual(new Set([undefined]));
    controller = new AbortController();
    first.answers(200, ANSWER);
    expect((await engine.answer('chat', aRequest())).status).toBe(200);
  });
});

describe('a streamed answer', () => {
  it('is the upstream stream under our names, with the cost, and ends once', async () => {
    first.streams(
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hé' }),
      chunk({ content: '😀' }),
      finish('stop'),
      usage,
      DONE,
    );
    const result = await twoProviders().stream('chat', aRequest());
    const { chunks, events, text } = await readAll(result);
    expect(text).toBe('Hé😀');
    expect(events.filter((data) => data === '[DONE]')).toHaveLength(1);
    for (const one of chunks) {
      expect(one).toMatchObject({ id: 'gen-1-abc', model: 'acme/large', provider: 'Cheap', created: 1763715601 });
    }
    expect(chunks.at(-2)?.choices).toEqual([
      { index: 0, delta: {}, finish_reason: 'stop', native_finish_reason: 'stop' },
    ]);
    expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, cost: 0.00002 });
    expect(await result.stream.outcome).toEqual({
      state: 'completed',
      usage: expect.objectContaining({ promptTokens: 10, completionTokens: 5, provenance: 'upstream' }),
      cost: { totalCost: 20_000_000n, promptCost: 10_000_000n, completionCost: 10_000_000n },
      finishReason: 'stop',
      nativeFinishReason: 'stop',
      upstreamId: 'chatcmpl-7',
      error: null,
    });
    expect(JSON.parse(first.requests[0]!.body)).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('is the same however the network cuts it', async () => {
    const whole = Buffer.from(
      [
        chunk({ content: 'Grüße "id":"chatcmpl-7" 😀' }),
        ': ping\n\n',
        chunk({ content: '!' }),
        finish('stop'),
        usage,
        DONE,
      ].join(''),
    );
    first.streams(...Array.from({ length: Math.ceil(whole.length / 7) }, (_, i) => whole.subarray(i * 7, i * 7 + 7)));
    const result = await oneProvider().stream('chat', aRequest());
    const { text, chunks } = await readAll(result);
    expect(text).toBe('Grüße "id":"chatcmpl-7" 😀!');
    expect(chunks).toHaveLength(4);
    expect(await result.stream.outcome).toMatchObject({ state: 'completed' });
  });

  it.each([
    ['other heads', (i: number) => chunk({ content: `${i}` }, { created: i })],
    [
      'its names behind the choices',
      (i: number) => `data: {"choices":[{"delta":{"content":"${i}"}}],"id":"x","model":"y","created":${i}}\n\n`,
    ],
    ['a second id behind the choices', (i: number) => chunk({ content: `${i}` }).replace('}\n\n', ',"id":"late"}\n\n')],
    ['no names at all', (i: number) => `data: {"choices":[{"delta":{"content":"${i}"}}]}\n\n`],
    [
      'a native finish reason',
      (i: number) => `data: {"choices":[{"delta":{"content":"${i}"},"native_finish_reason":null}],"model":"y"}\n\n`,
    ],
  ])('carries our names in every event when the upstream has %s', async (_what, make) => {
    first.streams(...[0, 1, 2, 3, 4, 5].map(make), finish('stop'), usage, DONE);
    const { chunks, text } = await readAll(await oneProvider().stream('chat', aRequest()));
    expect(text).toBe('012345');
    for (const one of chunks) expect(one).toMatchObject({ id: 'gen-1-abc', model: 'acme/large', provider: 'Cheap' });
  });

  it('gets an estimated usage when the upstream sends none', async () => {
    first.streams(chunk({ content: 'x'.repeat(40) }), finish('length'), DONE);
    const result = await oneProvider().stream('chat', aRequest());
    const { chunks } = await readAll(result);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 10 } });
    expect(await result.stream.outcome).toMatchObject({ state: 'incomplete', usage: { provenance: 'estimated' } });
  });

  it('is whole without [DONE] when a finish reason was seen', async () => {
    first.streams(chunk({ content: 'x' }), finish('tool_calls'), usage);
    const result = await oneProvider().stream('chat', aRequest());
    expect((await readAll(result)).events.at(-1)).toBe('[DONE]');
    expect(await result.stream.outcome).toMatchObject({ state: 'completed', finishReason: 'tool_calls' });
  });

  it.each([
    ['a refusal', (upstream: FakeUpstream) => upstream.answers(500, '')],
    ['an empty stream', (upstream: FakeUpstream) => upstream.streams('')],
    ['comments only', (upstream: FakeUpstream) => upstream.streams(': hello\n\n', ': hello\n\n')],
    ['nothing but the end', (upstream: FakeUpstream) => upstream.streams(DONE)],
    ['an error as first event', (upstream: FakeUpstream) => upstream.streams('data: {"error":{"message":"boom"}}\n\n')],
    ['an event that is no JSON', (upstream: FakeUpstream) => upstream.streams('data: {"choices":[}\n\n')],
    ['a page', (upstream: FakeUpstream) => upstream.answers(200, '<html></html>')],
    ['a whole answer that is no stream', (upstream: FakeUpstream) => upstream.answers(200, ANSWER)],
    [
      'a stall before the first event',
      (upstream: FakeUpstream) => (upstream.behaviour = (response) => response.writeHead(200).write(': wait\n\n')),
    ],
  ])('comes from the next endpoint when the first gives %s', async (_what, misbehave) => {
    misbehave(first);
    second.streams(chunk({ content: 'ok' }), finish('stop'), usage, DONE);
    const result = await twoProviders().stream('chat', aRequest({ timeouts: { idleMs: 100 } }));
    expect(result.endpoint.provider.slug).toBe('dear');
    expect(result.attempts).toHaveLength(2);
    expect((await readAll(result)).text).toBe('ok');
  });

  it.each<[string, string, (response: ServerResponse) => void]>([
    ['is cut', 'provider_unavailable', (response) => response.destroy()],
    ['just ends', 'provider_unavailable', (response) => response.end()],
    ['stalls', 'timeout', () => undefined],
    ['sends nonsense', 'provider_unavailable', (response) => response.write('data: {nonsense\n\n')],
    [
      'reports an error',
      'rate_limit_exceeded',
      (response) => response.write('data: {"error":{"code":429,"message":"sk-secret12345"}}\n\n'),
    ],
  ])('that %s ends with an error event, [DONE] and a bill for what was sent', async (what, code, misbehave) => {
    let response: ServerResponse | undefined;
    first.behaviour = (answer) => {
      response = answer.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ content: 'y'.repeat(80) }));
    };
    const result = await twoProviders().stream('chat', aRequest({ timeouts: { idleMs: 150 } }));
    misbehave(response!);
    const { chunks, events, text } = await readAll(result);
    expect(text).toBe('y'.repeat(80));
    expect(events.filter((data) => data === '[DONE]')).toEqual([events.at(-1)]);
    expect(chunks.at(-1)).toMatchObject({
      id: 'gen-1-abc',
      object: 'chat.completion.chunk',
      created: 1763715601,
      model: 'acme/large',
      provider: 'Cheap',
      error: { metadata: { error_type: code, provider_name: 'Cheap' } },
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
      usage: { prompt_tokens: 10, completion_tokens: 38 },
    });
    expect(events.join('')).not.toContain('sk-secret');
    const { error, ...outcome } = await result.stream.outcome;
    expect(chunks.at(-1)?.error?.code).toBe(error?.status);
    expect(outcome).toMatchObject({
      state: 'failed',
      usage: { promptTokens: 10, completionTokens: 38, provenance: 'partial' },
    });
    expect(second.requests).toHaveLength(0);
    expect(await first.endings[0]).toBe(what === 'just ends');
  });

  it('that breaks off after a usage is billed by that usage', async () => {
    first.streams(chunk({ content: 'x' }, { usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 } }));
    const result = await oneProvider().stream('chat', aRequest());
    await readAll(result);
    expect(await result.stream.outcome).toMatchObject({
      state: 'failed',
      usage: { promptTokens: 10, completionTokens: 1, provenance: 'partial' },
      cost: { totalCost: 12_000_000n },
    });
  });

  it('costs nothing when it broke off before any content', async () => {
    first.streams(chunk({ role: 'assistant', content: '' }));
    const result = await oneProvider().stream('chat', aRequest());
    await readAll(result);
    expect(await result.stream.outcome).toMatchObject({
      state: 'failed',
      usage: { promptTokens: 0, completionTokens: 0, provenance: 'partial' },
      cost: { totalCost: 0n },
    });
  });

  it.each(['by its signal', 'by ceasing to read', 'by cancelling'])(
    'ends the upstream within a second when the caller leaves %s',
    async (how) => {
      first.behaviour = (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk({ content: 'z'.repeat(40) }));
      };
      const { stream } = await oneProvider().stream('chat', aRequest());
      const startMs = performance.now();
      for await (const frames of stream) {
        expect(joinFrames(frames).length).toBeGreaterThan(40);
        if (how === 'by its signal') controller.abort();
        else if (how === 'by cancelling') stream.cancel();
        else break;
      }
      // A call that is left is billed as it was reserved, one that is cut off as ordinary text.
      const promptTokens = how === 'by its signal' ? 10 : 13;
      expect(await stream.outcome).toMatchObject({
        state: 'cancelled',
        error: null,
        usage: { promptTokens, completionTokens: 12, provenance: 'partial' },
      });
      expect(await first.endings[0]).toBe(false);
      expect(performance.now() - startMs).toBeLessThan(1_000);
    },
  );

  it('lets the next call use its connection', async () => {
    first.streams(chunk({ content: 'x' }), finish('stop'), usage, DONE);
    const engine = oneProvider(1);
    for (let i = 0; i < 3; i += 1) await readAll(await engine.stream('chat', aRequest()));
    expect(first.connections).toBe(1);
  });

  it('takes an upstream that failed mid-stream out of the first place', async () => {
    first.streams(chunk({ content: 'x' }));
    second.streams(chunk({ content: 'x' }), finish('stop'), usage, DONE);
    const engine = twoProviders();
    await readAll(await engine.stream('chat', aRequest()));
    expect((await engine.stream('chat', aRequest())).endpoint.provider.slug).toBe('dear');
  });
});
