import { randomBytes } from 'node:crypto';
import { FakeUpstream } from '@libs/inference/testing';
import { freePorts } from '../../scripts/services/ports';
import { catalogueOf, PROVIDER_KEY_VARIABLE } from '../support/catalogue';
import { answerJson, CHAT_ANSWER } from '../support/chat-answer';
import { ApiClient, type ApiAnswer } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation, PROVIDER_KEY } from '../support/installation';

const MODEL = 'changes/talker';
/** Within which an event comes to another gateway; a machine of tests may be busy. */
const EVENT_MS = 500;

let upstream: FakeUpstream;
let installation: Installation;
let manager: ApiClient;
let otherUrl: string;

function catalogue(): string {
  const provider = { slug: 'openai', name: 'OpenAI', base_url: `${upstream.origin}/openai/v1`, protocol: 'openai' };
  const endpoint = { provider: 'openai', upstream_model: 'talk', apis: ['chat'] };
  return JSON.stringify({
    ...(JSON.parse(catalogueOf([])) as object),
    providers: [{ ...provider, api_key_env: PROVIDER_KEY_VARIABLE }],
    models: [
      {
        slug: MODEL,
        name: 'Talker',
        endpoints: [{ ...endpoint, pricing: { prompt: '0.000001', completion: '0.000002' } }],
      },
    ],
  });
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response) => answerJson(response, CHAT_ANSWER);
  installation = await Installation.start({ catalogue: catalogue(), apps: ['auth', 'gateway', 'credentials'] });
  const [port = 0] = await freePorts(1);
  // Whichever of two answers a call publishes what it changed.
  await installation.startApp('auth', 'auth-2');
  await installation.startApp('gateway', 'gateway-2', [{ PORT: String(port) }]);
  otherUrl = `http://127.0.0.1:${port}/api/v1`;
  manager = installation.client(installation.seed.managementKey);
}, 240_000);

afterAll(async () => {
  await manager?.close();
  await installation?.stop();
  await upstream?.close();
});

interface Caller {
  readonly hash: string;
  readonly workspaceId: string;
  readonly here: ApiClient;
  readonly there: ApiClient;
}

/** A key of a workspace of its own that both gateways know. */
async function caller(): Promise<Caller> {
  const slug = `w-${randomBytes(6).toString('hex')}`;
  const workspace = await manager.request<{ data: { id: string } }>('POST', '/workspaces', { name: 'Changes', slug });
  expect({ status: workspace.status, text: workspace.text }).toMatchObject({ status: 201 });
  const members = { name: 'changes', workspace_id: workspace.body.data.id };
  const made = await manager.request<{ data: { hash: string }; key: string }>('POST', '/keys', members);
  expect({ status: made.status, text: made.text }).toMatchObject({ status: 201 });
  const here = new ApiClient(installation.baseUrl, made.body.key);
  const there = new ApiClient(otherUrl, made.body.key);
  for (const client of [here, there]) expect((await chat(client)).status).toBe(200);
  return { hash: made.body.data.hash, workspaceId: workspace.body.data.id, here, there };
}

const chat = (client: ApiClient): Promise<ApiAnswer> =>
  client.chat({ model: MODEL, messages: [{ role: 'user', content: 'Hello?' }], max_tokens: 8 });

const statusOf = async (client: ApiClient): Promise<number> => (await chat(client)).status;

/** The key that the next call of a caller brings to the provider. */
async function providerKeyOf(client: ApiClient): Promise<string> {
  const before = upstream.requests.length;
  expect(await statusOf(client)).toBe(200);
  return String(upstream.requests.slice(before).at(-1)?.headers.authorization);
}

/** The next call here is judged by the change, and the next there once an event had the time to arrive. */
async function expectFelt<T>(by: Caller, ask: (client: ApiClient) => Promise<T>, wanted: T): Promise<void> {
  expect(await ask(by.here)).toEqual(wanted);
  const says = `the other gateway says ${String(wanted)}`;
  await eventually(says, EVENT_MS, async () => ((await ask(by.there)) === wanted ? true : undefined));
}

async function change(method: 'PATCH' | 'PUT' | 'POST' | 'DELETE', path: string, body?: object): Promise<ApiAnswer> {
  const answer = await manager.request(method, path, body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  return answer;
}

describe('a change', () => {
  it('of whether a key is enabled counts for the next call', async () => {
    const by = await caller();
    await change('PATCH', `/keys/${by.hash}`, { disabled: true });
    await expectFelt(by, statusOf, 401);
    await change('PATCH', `/keys/${by.hash}`, { disabled: false });
    await expectFelt(by, statusOf, 200);
    await change('DELETE', `/keys/${by.hash}`);
    await expectFelt(by, statusOf, 401);
  });

  it('of the limit of a key counts for the next call', async () => {
    const by = await caller();
    await change('PATCH', `/keys/${by.hash}`, { limit: 0.000001 });
    await expectFelt(by, statusOf, 402);
    await change('PATCH', `/keys/${by.hash}`, { limit: null });
    await expectFelt(by, statusOf, 200);
  });

  it('of the policy of a key or of its workspace counts for the next call', async () => {
    const by = await caller();
    await change('PATCH', `/keys/${by.hash}`, { policy: { ignored_models: [MODEL] } });
    await expectFelt(by, statusOf, 403);
    await change('PATCH', `/keys/${by.hash}`, { policy: null });
    await expectFelt(by, statusOf, 200);
    await change('PATCH', `/workspaces/${by.workspaceId}`, { policy: { ignored_models: [MODEL] } });
    await expectFelt(by, statusOf, 403);
  });

  it('of the budget of a workspace counts for the next call', async () => {
    const by = await caller();
    await change('PUT', `/workspaces/${by.workspaceId}/budgets/daily`, { limit_usd: 0.000001 });
    await expectFelt(by, statusOf, 402);
    await manager.request('DELETE', `/workspaces/${by.workspaceId}/budgets/daily`);
    await expectFelt(by, statusOf, 200);
  });

  it('of a credential counts for the next call', async () => {
    const by = await caller();
    const keys = [0, 1].map(() => `sk-own-${randomBytes(24).toString('hex')}`);
    expect(await providerKeyOf(by.here)).toBe(`Bearer ${PROVIDER_KEY}`);
    const members = { key: keys[0], provider: 'openai', workspace_id: by.workspaceId };
    const made = (await change('POST', '/byok', members)) as ApiAnswer<{ data: { id: string } }>;
    await expectFelt(by, providerKeyOf, `Bearer ${keys[0]}`);
    await change('PATCH', `/byok/${made.body.data.id}`, { key: keys[1] });
    await expectFelt(by, providerKeyOf, `Bearer ${keys[1]}`);
    await change('PATCH', `/byok/${made.body.data.id}`, { disabled: true });
    await expectFelt(by, providerKeyOf, `Bearer ${PROVIDER_KEY}`);
    await change('PATCH', `/byok/${made.body.data.id}`, { disabled: false });
    await expectFelt(by, providerKeyOf, `Bearer ${keys[1]}`);
    await change('DELETE', `/byok/${made.body.data.id}`);
    await expectFelt(by, providerKeyOf, `Bearer ${PROVIDER_KEY}`);
  });
});
