import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeUpstream } from '@libs/inference/testing';
import { catalogueOf, PROVIDER_KEY_VARIABLE, type TestModel } from '../support/catalogue';
import { answerJson, CHAT_ANSWER } from '../support/chat-answer';
import { Installation } from '../support/installation';
import { scriptOf } from '../support/provider-scripts';
import { openStream } from './event-stream';

const PRICING = { prompt: '0.000001', completion: '0.000002' };
/** The key of the operator at the providers. */
const SECRET = 'sk-operator-0123456789abcdef0123456789abcdef';
/** How the providers answer, by their names. */
const REFUSALS: Readonly<Record<string, readonly [status: number, body: object]>> = {
  keyless: [401, { error: { message: `Incorrect API key provided: ${SECRET}`, code: 'invalid_api_key' } }],
  ignorant: [404, { error: { message: 'The model `upstream-x` does not exist', code: 'model_not_found' } }],
  broken: [500, { error: { message: 'internal' } }],
  busy: [503, { error: { message: 'overloaded' } }],
};

interface Answered {
  readonly model?: string;
  readonly choices?: readonly unknown[];
  readonly error?: { readonly code: number; readonly message: string; readonly availability?: object };
  readonly sluice_metadata?: { readonly region: string | null };
}

let upstream: FakeUpstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, { path, body: asked }) => {
    if (path.startsWith('/steady/') && (JSON.parse(asked) as { stream?: boolean }).stream === true) {
      const { announcement, words, end } = scriptOf('chat', '').stream;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(announcement + words + end);
      return;
    }
    const [status, body] = REFUSALS[path.split('/')[1] ?? ''] ?? [200, CHAT_ANSWER];
    answerJson(response, body, status);
  };
  const model = (provider: string): TestModel => ({
    slug: `ends/${provider}`,
    provider,
    baseUrl: `${upstream.origin}/${provider}/v1`,
    apis: ['chat'],
    pricing: PRICING,
  });
  installation = await Installation.start({
    catalogue: catalogueOf([...Object.keys(REFUSALS), 'steady', 'untried'].map(model)),
    apps: ['auth', 'gateway'],
    environment: { [PROVIDER_KEY_VARIABLE]: SECRET, GATEWAY_REGION: 'eu-1' },
  });
}, 240_000);

afterAll(async () => {
  await installation?.stop();
  await upstream?.close();
});

async function ask(models: readonly string[], members: object = {}): Promise<Answered> {
  const answer = await fetch(`${installation.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${installation.seed.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: models[0], models, messages: [{ role: 'user', content: 'Hi' }], ...members }),
  });
  return (await answer.json()) as Answered;
}

async function counted(provider: string, outcome: string): Promise<number> {
  const text = await (await fetch(`${installation.healthUrlOf('gateway')}/metrics`)).text();
  const labels = [`provider="${provider}"`, `model="ends/${provider}"`, `outcome="${outcome}"`];
  const line = text
    .split('\n')
    .find((one) => one.startsWith('sluice_upstream_attempts_total{') && labels.every((label) => one.includes(label)));
  return Number(line?.split(' ').at(-1) ?? 0);
}

const CASES = [
  ['keyless', 'refused_key', 'The provider refused the key that it was called with'],
  ['ignorant', 'unknown_model', 'The provider does not know the model'],
  ['broken', 'down', 'The provider is not available'],
  ['busy', 'overloaded', 'The provider is overloaded'],
] as const;

describe('a provider that fails', () => {
  it.each(CASES)('is counted and logged although another one answers: %s is %s', async (provider, outcome) => {
    const [failed, answered] = [await counted(provider, outcome), await counted('steady', 'ok')];
    expect(await ask([`ends/${provider}`, 'ends/steady'])).toMatchObject({ model: 'ends/steady', choices: [{}] });
    expect([await counted(provider, outcome), await counted('steady', 'ok')]).toEqual([failed + 1, answered + 1]);
    const lines = readFileSync(join(installation.folder, 'gateway.log'), 'utf8').split('\n');
    const line = lines.find((one) => one.includes('A call to a provider failed') && one.includes(provider)) ?? '';
    expect(line).toContain(outcome);
    for (const secret of [SECRET, upstream.origin, '127.0.0.1']) expect(line).not.toContain(secret);
  });

  it.each(CASES)('gives the caller of %s the cause: %s', async (provider, _outcome, message) => {
    const answer = await ask([`ends/${provider}`], { model: `ends/${provider}` });
    expect(answer.error).toMatchObject({ message });
    for (const secret of [SECRET, 'upstream-x', '127.0.0.1']) expect(JSON.stringify(answer)).not.toContain(secret);
  });
});

interface ListedEndpoint {
  readonly status: number;
  readonly uptime_last_5m: number | null;
  readonly uptime_last_1d: number | null;
  readonly latency_last_30m: Readonly<Record<string, number>> | null;
}

async function endpointOf(model: string): Promise<ListedEndpoint> {
  const headers = { authorization: `Bearer ${installation.seed.apiKey}` };
  const answer = await fetch(`${installation.baseUrl}/models/${model}/endpoints`, { headers });
  const { data } = (await answer.json()) as { data: { endpoints: readonly ListedEndpoint[] } };
  return data.endpoints[0]!;
}

describe('a model that no provider knows', () => {
  it('is refused with 404, as one that is not there to be asked again for', async () => {
    const { error } = await ask(['ends/ignorant'], { models: undefined });
    expect(error).toMatchObject({
      code: 404,
      availability: { code: 'model_unavailable_upstream', retryable: false, requested_models: ['ends/ignorant'] },
    });
  });
});

describe('the endpoints of a model', () => {
  it('show what was measured of calls to them', async () => {
    expect(await endpointOf('ends/untried')).toMatchObject({
      status: 0,
      uptime_last_5m: null,
      uptime_last_1d: null,
      latency_last_30m: null,
    });
    await ask(['ends/broken', 'ends/steady']);
    const body = { model: 'ends/steady', messages: [{ role: 'user', content: 'Hi' }], stream: true };
    const stream = await openStream(installation.baseUrl, '/chat/completions', installation.seed.apiKey, body);
    await stream.rest();
    expect(await endpointOf('ends/broken')).toMatchObject({ status: -1, uptime_last_5m: 0, uptime_last_1d: 0 });
    const steady = await endpointOf('ends/steady');
    expect(steady).toMatchObject({ status: 0, uptime_last_5m: 100, uptime_last_1d: 100 });
    expect(steady.latency_last_30m!['p50']).toBeGreaterThan(0);
  });
});

describe('the region of the gateway', () => {
  it('is in the metadata of answers and of errors', async () => {
    const metadata = async (model: string): Promise<Answered> => {
      const answer = await fetch(`${installation.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${installation.seed.apiKey}`,
          'content-type': 'application/json',
          'x-sluice-metadata': 'enabled',
        },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
      });
      return (await answer.json()) as Answered;
    };
    expect((await metadata('ends/steady')).sluice_metadata).toMatchObject({ region: 'eu-1' });
    expect((await metadata('ends/ignorant')).sluice_metadata).toMatchObject({ region: 'eu-1' });
  });
});
