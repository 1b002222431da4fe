import { FakeUpstream } from '@libs/inference/testing';
import { catalogueOf } from '../support/catalogue';
import { answerJson, CHAT_ANSWER } from '../support/chat-answer';
import type { ApiClient } from '../support/client';
import type { Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';

/** What a 429 of one model of a provider does to calls of its other models. */

const PRICING = { prompt: '0.000000123', completion: '0.000000457' };
const BOOT_TIMEOUT_MS = 240_000;

let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;

/** One provider with models of these names; those of `grouped` share a quota. */
function catalogue(names: readonly string[], grouped: readonly string[]): string {
  const models = [...names, ...grouped].map((name) => ({
    slug: `fake/${name}`,
    provider: 'fake',
    baseUrl: `${upstream.origin}/v1`,
    upstreamModel: name,
    pricing: PRICING,
  }));
  const whole = JSON.parse(catalogueOf(models)) as { providers: object[]; models: { endpoints: object[] }[] };
  const isGrouped = (endpoint: object): boolean =>
    'upstream_model' in endpoint && grouped.some((name) => name === endpoint.upstream_model);
  const entries = whole.models.map((model) => ({
    ...model,
    endpoints: model.endpoints.map((one) => (isGrouped(one) ? { ...one, quota_group: 'shared' } : one)),
  }));
  return JSON.stringify({ providers: whole.providers.slice(0, 1), models: entries });
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, { body }) => {
    const { model } = JSON.parse(body) as { model: string };
    const isLimited = model === 'chat' || model === 'one';
    if (isLimited) answerJson(response, {}, 429, { 'retry-after': '30' });
    else answerJson(response, CHAT_ANSWER);
  };
  installation = await shareInstallation({
    apps: ['auth', 'gateway'],
    catalogue: catalogue(['chat', 'other'], ['one', 'two']),
  });
  client = installation.client();
}, BOOT_TIMEOUT_MS);

afterAll(async () => {
  await client?.close();
  await giveBack(installation);
  await upstream?.close();
}, BOOT_TIMEOUT_MS);

beforeEach(() => upstream.requests.splice(0));

const ask = (model: string) =>
  client.request('POST', '/chat/completions', {
    model: `fake/${model}`,
    messages: [{ role: 'user', content: 'Hello' }],
  });
const asked = (): string[] => upstream.requests.map(({ body }) => (JSON.parse(body) as { model: string }).model);

describe('a model whose provider answers 429 with Retry-After', () => {
  it('is not called until then, and another model of the same provider is', async () => {
    expect((await ask('chat')).status).toBe(429);
    expect((await ask('chat')).status).toBe(429);
    expect((await ask('other')).status).toBe(200);
    expect(asked()).toEqual(['chat', 'other']);
  });

  it('takes the other models of its quota group along', async () => {
    expect((await ask('one')).status).toBe(429);
    expect((await ask('two')).status).toBe(429);
    expect(asked()).toEqual(['one']);
  });
});
