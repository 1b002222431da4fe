import type { InferenceEngine } from './engine';
import type { RoutedRequest } from './inference-call';
import type { UpstreamHttp } from '../wire/upstream-http';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream, type Behaviour } from '../testing';

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});
const WORDS = 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n';
const STOP = 'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
const BODY = Buffer.from('{"model":"acme/large","messages":[{"role":"user","content":"Hello!"}]}');
const DEAR = { prompt: 4_000_000_000_000n, completion: 8_000_000_000_000n };

let first: FakeUpstream;
let second: FakeUpstream;
let engine: InferenceEngine;
let http: UpstreamHttp;
let ends: string[];

beforeEach(async () => {
  first = await FakeUpstream.start();
  second = await FakeUpstream.start();
  second.answers(200, ANSWER);
  ends = [];
  const provider = (slug: string, { baseUrl }: FakeUpstream) =>
    aProvider({ slug, name: slug, baseUrl, apiKeyEnv: null });
  const endpoints = [
    anEndpoint({ provider: provider('cheap', first) }),
    anEndpoint({ provider: provider('dear', second), pricing: DEAR }),
  ];
  ({ engine, http } = anEngine([aModel({ endpoints })], {
    onAttempt: ({ endpoint, model }, end) => void ends.push(`${endpoint.provider.slug} ${model.slug} ${end}`),
  }));
});

afterEach(async () => {
  await http.close();
  await Promise.all([first.close(), second.close()]);
});

const aRequest = (signal: AbortSignal = new AbortController().signal): RoutedRequest => ({
  generationId: 'gen-1-abc',
  model: 'acme/large',
  body: BODY,
  signal,
});

/** Errors as providers write them. */
const NO_MODEL = '{"error":{"message":"The model `gpt-9` does not exist","code":"model_not_found"}}';
const NO_KEY = '{"error":{"message":"Incorrect API key provided: sk-proj-abc","code":"invalid_api_key"}}';
const NO_CREDIT = '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}';
const NO_DEPLOYMENT = '{"error":{"code":"DeploymentNotFound","message":"The API deployment does not exist."}}';

const hangUp: Behaviour = (response) => void response.destroy();

describe('a call that another provider answers after a failure', () => {
  it.each<[string, string, number | Behaviour, string]>([
    ['refused_key', 'OpenAI refuses the key', 401, NO_KEY],
    ['refused_key', 'Gemini refuses the key, by 400', 400, '{"error":{"message":"Invalid API key.","code":400}}'],
    ['refused_account', 'the account has no credit', 429, NO_CREDIT],
    ['refused_account', 'a bill is not paid', 402, ''],
    ['unknown_model', 'OpenAI has no such model', 404, NO_MODEL],
    ['unknown_model', 'Anthropic has no such model', 404, '{"error":{"type":"not_found_error","message":"model: x"}}'],
    ['unknown_model', 'Azure has no such deployment', 404, NO_DEPLOYMENT],
    ['unknown_model', 'Mistral has no such model, by 400', 400, '{"message":"Invalid model: x","code":"1500"}'],
    [
      'unknown_model',
      'Bedrock has no such model, by 400',
      400,
      '{"message":"The provided model identifier is invalid."}',
    ],
    ['down', 'there is no such path', 404, '<html>Not Found</html>'],
    ['down', 'it fails inside', 500, ''],
    ['down', 'it hangs up', hangUp, ''],
    ['down', 'its answer cannot be read', 200, '<html>'],
    ['overloaded', 'it is overloaded', 503, ''],
    ['rate_limited', 'it limits the rate', 429, ''],
    ['timeout', 'its gateway waits in vain', 504, ''],
  ])('is reported as %s where %s', async (end, _why, status, body) => {
    if (typeof status === 'number') first.answers(status, body);
    else first.behaviour = status;
    await engine.answer('chat', aRequest());
    expect(ends).toEqual([`cheap acme/large ${end}`, 'dear acme/large ok']);
  });
});

describe('a call that ends at its first provider', () => {
  it('is reported once where the provider refuses the request', async () => {
    first.answers(400, '{"error":{"message":"messages must not be empty"}}');
    await expect(engine.answer('chat', aRequest())).rejects.toMatchObject({ code: 'invalid_request' });
    expect(ends).toEqual(['cheap acme/large refused_request']);
  });

  it('is reported when its stream is over, and not before', async () => {
    let finish!: () => void;
    first.behaviour = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(WORDS);
      finish = () => void response.end(`${STOP}data: [DONE]\n\n`);
    };
    const { stream } = await engine.stream('chat', aRequest());
    expect(ends).toEqual([]);
    finish();
    for await (const _frames of stream);
    expect(ends).toEqual(['cheap acme/large ok']);
  });

  it('is reported as cut where its stream breaks off', async () => {
    first.behaviour = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(WORDS, () => response.destroy());
    };
    const { stream } = await engine.stream('chat', aRequest());
    for await (const _frames of stream);
    expect(ends).toEqual(['cheap acme/large cut']);
  });

  it('is reported as abandoned where its caller leaves, before the answer or in the middle of a stream', async () => {
    const controller = new AbortController();
    first.behaviour = () => controller.abort();
    await expect(engine.answer('chat', aRequest(controller.signal))).rejects.toMatchObject({ code: 'request_timeout' });
    first.behaviour = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(WORDS);
    };
    const { stream } = await engine.stream('chat', aRequest());
    for await (const _frames of stream) stream.cancel();
    await stream.outcome;
    expect(ends).toEqual(['cheap acme/large abandoned', 'cheap acme/large abandoned']);
  });
});

describe('a call that fails everywhere', () => {
  it.each([
    [401, NO_KEY, 'The provider refused the key that it was called with'],
    [404, NO_MODEL, 'The provider does not know the model'],
    [500, '', 'The provider is not available'],
    [503, '', 'The provider is overloaded'],
  ])('gives the caller the cause of %d without words of the provider', async (status, body, message) => {
    second.answers(status, body);
    first.answers(500, '');
    const error = await engine.answer('chat', aRequest()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message });
    const shown = JSON.stringify((error as { toWire(): object }).toWire());
    for (const secret of ['sk-proj', 'gpt-9', '127.0.0.1']) expect(shown).not.toContain(secret);
  });

  it('lists how the call to each provider ended, without trouble of the account of the operator', async () => {
    first.answers(401, NO_KEY);
    second.answers(429, NO_CREDIT);
    await expect(engine.answer('chat', aRequest())).rejects.toMatchObject({
      metadata: { previous_errors: [{ outcome: 'refused_key' }, { outcome: 'down' }] },
    });
    expect(ends).toEqual(['cheap acme/large refused_key', 'dear acme/large refused_account']);
  });
});
