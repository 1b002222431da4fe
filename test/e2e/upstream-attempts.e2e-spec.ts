import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeUpstream } from '@libs/inference/testing';
import { catalogueOf, PROVIDER_KEY_VARIABLE, type TestModel } from '../support/catalogue';
import { answerJson, CHAT_ANSWER } from '../support/chat-answer';
import { Installation } from '../support/installation';

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
  readonly error?: { readonly code: number; readonly message: string };
}

let upstream: FakeUpstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, { path }) => {
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
    catalogue: catalogueOf([...Object.keys(REFUSALS), 'steady'].map(model)),
    apps: ['auth', 'gateway'],
    environment: { [PROVIDER_KEY_VARIABLE]: SECRET },
  });
}, 240_000);

afterAll(async () => {
  await installation?.stop();
  await upstream?.close();
}, 60_000);

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
