import type { InferenceEngine } from './engine';
import type { RoutedRequest } from './inference-call';
import { aModel, anEndpoint, anEngine, aProvider, FakeUpstream } from '../testing';

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});
const FILTERED = [400, { error: { message: 'no', code: 'content_policy_violation' } }] as const;
const TOO_LONG = [400, { error: { message: 'too long', code: 'context_length_exceeded' } }] as const;
const DOWN = [500, {}] as const;

type Refusal = readonly [status: number, body: object];

describe('a request that names other models', () => {
  let upstream: FakeUpstream;
  let closers: (() => Promise<void>)[];
  /** By the first part of the path, which is the provider; the others answer. */
  let refusals: Record<string, Refusal>;

  beforeEach(async () => {
    closers = [];
    refusals = {};
    upstream = await FakeUpstream.start();
    upstream.behaviour = (response, { path }) => {
      const [status, body] = refusals[path.split('/')[1]!] ?? [200, null];
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(body === null ? ANSWER : JSON.stringify(body));
    };
  });

  afterEach(async () => {
    await Promise.all(closers.map((close) => close()));
    await upstream.close();
  });

  /** Of each model, the providers that serve it. */
  const anEngineWith = (models: Readonly<Record<string, readonly string[]>>): InferenceEngine => {
    const provider = (slug: string) => aProvider({ slug, baseUrl: `${upstream.origin}/${slug}/v1`, apiKeyEnv: null });
    const made = Object.entries(models).map(([slug, names]) =>
      aModel({ slug, endpoints: names.map((name) => anEndpoint({ provider: provider(name) })) }),
    );
    const { engine, http } = anEngine(made);
    closers.push(() => http.close());
    return engine;
  };

  const aRequest = (values: Partial<RoutedRequest> = {}): RoutedRequest => ({
    generationId: 'gen-1-abc',
    model: 'acme/large',
    models: ['acme/other'],
    body: Buffer.from('{"model":"acme/large","messages":[{"role":"user","content":"Hi"}],"input":"Hi"}'),
    signal: new AbortController().signal,
    ...values,
  });

  const asked = (): string[] => upstream.requests.map(({ path }) => path.split('/')[1]!);

  it.each([
    ['content policy', FILTERED],
    ['length', TOO_LONG],
    ['fault', [400, { error: { message: 'no such member' } }] as const],
  ])('goes on with them when its first model refuses it for its %s', async (_why, refusal) => {
    refusals = { one: refusal };
    const engine = anEngineWith({ 'acme/large': ['one', 'one-more'], 'acme/other': ['two'] });
    const { model, attempts } = await engine.answer('chat', aRequest());
    expect(model.slug).toBe('acme/other');
    expect(attempts.map(({ model: slug, status }) => [slug, status])).toEqual([
      ['acme/large', 400],
      ['acme/other', 200],
    ]);
    // Another endpoint of the same model would say the same.
    expect(asked()).toEqual(['one', 'two']);
  });

  it('goes on with them however many endpoints its first model has', async () => {
    refusals = { one: DOWN, two: DOWN, three: DOWN, four: DOWN };
    const engine = anEngineWith({ 'acme/large': ['one', 'two', 'three', 'four'], 'acme/other': ['five'] });
    expect((await engine.answer('chat', aRequest())).model.slug).toBe('acme/other');
    expect(asked()).toEqual(['one', 'two', 'three', 'five']);
  });

  it('goes on at the provider that refused it without a retry being spent', async () => {
    refusals = { one: FILTERED };
    const engine = anEngineWith({ 'acme/large': ['one'], 'acme/other': ['one'], 'acme/third': ['two'] });
    const request = aRequest({ models: ['acme/other', 'acme/third'] });
    for (let call = 0; call < 5; call += 1) await engine.answer('chat', request);
    expect(asked()).toEqual(Array.from({ length: 5 }, () => ['one', 'one', 'two']).flat());
  });

  it('goes on with them before a response is said to be cut short', async () => {
    refusals = { one: TOO_LONG };
    const engine = anEngineWith({ 'acme/large': ['one'], 'acme/other': ['two'] });
    const result = await engine.answer('responses', aRequest());
    expect(result.model.slug).toBe('acme/other');
    expect(JSON.parse(result.body.toString())).toMatchObject({ status: 'completed' });
  });

  it('is cut short by the last of them', async () => {
    refusals = { one: TOO_LONG, two: TOO_LONG };
    const engine = anEngineWith({ 'acme/large': ['one'], 'acme/other': ['two'] });
    const result = await engine.answer('responses', aRequest());
    expect(result.model.slug).toBe('acme/other');
    expect(JSON.parse(result.body.toString())).toMatchObject({ status: 'incomplete' });
  });

  it('fails with what the last of them says, and tells of all', async () => {
    refusals = { one: FILTERED, two: TOO_LONG };
    const engine = anEngineWith({ 'acme/large': ['one'], 'acme/other': ['two'] });
    await expect(engine.answer('chat', aRequest())).rejects.toMatchObject({
      code: 'context_length_exceeded',
      metadata: {
        previous_errors: [
          { provider: 'One', code: 'content_policy_violation', status: 400 },
          { provider: 'Two', code: 'context_length_exceeded', status: 400 },
        ],
      },
    });
  });
});
