import { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { InferenceEngine, type EngineParts } from '../engine/engine';
import type { RoutedRequest } from '../engine/inference-call';
import { aModel, anEndpoint, anEngine, anOwnCredential, aProvider, FakeUpstream } from '../testing';
import { CredentialSource, type OwnCredential, type ProviderFilter } from './credential-source';
import { ProviderHealth } from './provider-health';

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});

/** Callers' keys by id; the key of `own` is `sk-own`. No provider has a shared one. */
class FakeCredentials extends CredentialSource {
  constructor(private readonly credentials: readonly OwnCredential[]) {
    super();
  }

  override availableProviders(): ProviderFilter {
    return () => false;
  }

  override forProvider(): null {
    return null;
  }

  override ownCredentials(): readonly OwnCredential[] {
    return this.credentials;
  }

  override forOwnCredential({ id }: OwnCredential): Secret {
    return new Secret(`sk-${id}`);
  }
}

const credential = (id: string, sortOrder: number): OwnCredential => anOwnCredential({ id, sortOrder });

let upstream: FakeUpstream;
let closers: (() => Promise<void>)[];
let nowMs: number;
let health: ProviderHealth;

const aRequest = (values: Partial<RoutedRequest> = {}): RoutedRequest => ({
  generationId: 'gen-1-abc',
  model: 'acme/large',
  body: Buffer.from('{"model":"acme/large","messages":[{"role":"user","content":"Hello"}]}'),
  signal: new AbortController().signal,
  ...values,
});

/** One model at providers of these slugs, the first the cheapest; two models where asked for. */
function anInstallation(slugs: readonly string[], parts: Partial<EngineParts> = {}): InferenceEngine {
  const endpoints = slugs.map((slug, i) =>
    anEndpoint({
      provider: aProvider({ slug, baseUrl: upstream.baseUrl, apiKeyEnv: null }),
      pricing: { prompt: 10n ** 12n * BigInt(i + 1), completion: 0n },
    }),
  );
  const small = aModel({
    slug: 'acme/small',
    endpoints: endpoints.map((endpoint) => ({ ...endpoint, upstreamModel: 'small' })),
  });
  const { engine, http } = anEngine([aModel({ endpoints }), small], { clock: () => nowMs, health, ...parts });
  closers.push(() => http.close());
  return engine;
}

const failure = async (run: Promise<unknown>): Promise<AppError> => {
  const thrown: unknown = await run.then(
    () => 'an answer',
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(AppError);
  return thrown as AppError;
};

beforeEach(async () => {
  nowMs = Date.now();
  health = new ProviderHealth(() => nowMs);
  closers = [];
  upstream = await FakeUpstream.start();
});

afterEach(async () => {
  await upstream.close();
  await Promise.all(closers.map((close) => close()));
});

describe('what an engine remembers between requests', () => {
  it('leaves a model of a provider alone for as long as it was asked to, and calls its other models', async () => {
    const engine = anInstallation(['acme']);
    upstream.answers(429, '', { 'retry-after': '7' });
    expect((await failure(engine.answer('chat', aRequest()))).status).toBe(429);
    nowMs += 1_000;
    const refused = await failure(engine.answer('chat', aRequest()));
    expect(refused).toMatchObject({ status: 429, retryAfterSeconds: 6 });
    expect(refused.availability).toMatchObject({ code: 'capacity_exhausted' });
    expect(upstream.requests).toHaveLength(1);
    upstream.answers(200, ANSWER);
    expect((await engine.answer('chat', aRequest({ model: 'acme/small' }))).status).toBe(200);
    expect(upstream.requests).toHaveLength(2);
    nowMs += 6_000;
    expect((await engine.answer('chat', aRequest())).status).toBe(200);
  });

  it('stops calling an upstream that only fails, but for a probe in five seconds, until one succeeds', async () => {
    const engine = anInstallation(['acme']);
    upstream.answers(503, '');
    for (let i = 0; i < 25; i += 1) await failure(engine.answer('chat', aRequest()));
    expect(upstream.requests).toHaveLength(20);
    const refused = await failure(engine.answer('chat', aRequest()));
    expect(refused.availability).toMatchObject({ code: 'temporarily_unavailable', retryable: true });
    nowMs += 5_000;
    const together = await Promise.all([1, 2, 3].map(() => failure(engine.answer('chat', aRequest()))));
    expect(together.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(upstream.requests).toHaveLength(21);
    nowMs += 5_000;
    upstream.answers(200, ANSWER);
    expect((await engine.answer('chat', aRequest())).status).toBe(200);
    expect((await engine.answer('chat', aRequest())).status).toBe(200);
  });

  it('stays with the provider that served a conversation', async () => {
    upstream.answers(200, ANSWER);
    const engine = anInstallation(['cheap', 'dear']);
    const served = async (more: object = {}) =>
      (await engine.answer('chat', aRequest({ stickyKey: () => 'a', ...more }))).endpoint.provider.slug;
    const drawn = await served();
    const other = drawn === 'cheap' ? 'dear' : 'cheap';
    expect(await served({ preferences: { only: [other] } })).toBe(other);
    expect(await served()).toBe(other);
  });

  it('draws a conversation alike in every gateway, and conversations apart', async () => {
    upstream.answers(200, ANSWER);
    const gateways = [0, 0.99].map((chance) => anInstallation(['cheap', 'dear'], { dice: () => chance }));
    const conversations = Array.from({ length: 20 }, (_, number) => `conversation ${number}`);
    const servedBy = async (engine: InferenceEngine): Promise<readonly string[]> => {
      const served: string[] = [];
      for (const stickyKey of conversations) {
        const answer = await engine.answer('chat', aRequest({ stickyKey: () => stickyKey }));
        served.push(answer.endpoint.provider.slug);
      }
      return served;
    };
    const [one, two] = [await servedBy(gateways[0]!), await servedBy(gateways[1]!)];
    expect(one).toEqual(two);
    expect(new Set(one)).toEqual(new Set(['cheap', 'dear']));
  });

  it('measures how fast an endpoint is', async () => {
    upstream.behaviour = (response) => {
      nowMs += 500;
      response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER);
    };
    const { endpoint } = await anInstallation(['acme']).answer('chat', aRequest());
    const perSecond = health.statistics.tokensPerSecond(endpoint, 'p50')!;
    expect(Math.abs(perSecond / 10 - 1)).toBeLessThan(0.05);
  });

  it('tries the next key of a caller when one is refused, and says whose key served', async () => {
    upstream.behaviour = (response, { headers }) => {
      const isGood = headers.authorization === 'Bearer sk-good';
      response.writeHead(isGood ? 200 : 401, { 'content-type': 'application/json' }).end(isGood ? ANSWER : '{}');
    };
    const credentials = new FakeCredentials([credential('good', 1), credential('revoked', 0)]);
    const result = await anInstallation(['acme'], { credentials }).answer('chat', aRequest());
    expect(result).toMatchObject({ credential: { id: 'good' }, attempts: [{ status: 502 }, { status: 200 }] });
  });

  it('hands on the plan that was followed', async () => {
    upstream.answers(200, ANSWER);
    const { plan } = await anInstallation(['cheap', 'dear']).answer(
      'chat',
      aRequest({ preferences: { ignore: ['dear'] } }),
    );
    expect(plan?.candidates.map(({ endpoint }) => endpoint.provider.slug)).toEqual(['cheap']);
    expect(plan?.considered).toHaveLength(2);
  });
});
