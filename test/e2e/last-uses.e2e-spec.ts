import { setTimeout as delay } from 'node:timers/promises';
import { FakeUpstream } from '@libs/inference/testing';
import { chatRequests, linesOf } from '../support/batch-lines';
import { catalogueOf } from '../support/catalogue';
import { answerJson, CHAT_ANSWER } from '../support/chat-answer';
import type { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';

const MODEL = 'uses/private';
const CHAT = { model: MODEL, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 8 };

interface Used {
  readonly hash: string;
  readonly id: string;
  readonly last_used_at: string | null;
}

let upstream: FakeUpstream;
let installation: Installation;
let manager: ApiClient;
let used: { data: Used; key: string };
let unused: { data: Used; key: string };
let credential: Used;

/** Served by callers' own keys alone. */
function catalogue(): string {
  const provider = {
    slug: 'mistral',
    name: 'Mistral',
    api_key_env: 'NO_SUCH_KEY',
    base_url: `${upstream.origin}/v1`,
    protocol: 'openai',
  };
  const pricing = { prompt: '0.000001', completion: '0.000002' };
  const endpoint = { provider: 'mistral', upstream_model: 'private', apis: ['chat'], pricing };
  const models = [{ slug: MODEL, name: 'Private', endpoints: [endpoint] }];
  return JSON.stringify({ ...(JSON.parse(catalogueOf([])) as object), providers: [provider], models });
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response) => answerJson(response, CHAT_ANSWER);
  installation = await Installation.start({
    catalogue: catalogue(),
    apps: ['auth', 'batch-worker', 'gateway', 'credentials'],
  });
  manager = installation.client(installation.seed.managementKey);
  [used, unused] = await Promise.all([createKey(), createKey()]);
  const key = 'sk-a-key-of-the-tenant-1234';
  const brought = await manager.request<{ data: Used }>('POST', '/byok', { provider: 'mistral', key });
  expect(brought.status).toBe(200);
  credential = brought.body.data;
}, 240_000);

afterAll(async () => {
  await manager?.close();
  await installation?.stop();
  await upstream?.close();
});

async function createKey(): Promise<{ data: Used; key: string }> {
  const { status, body } = await manager.request<{ data: Used; key: string }>('POST', '/keys', { name: 'a key' });
  expect(status).toBe(201);
  return body;
}

/** As lists and single answers show them, which is the same. */
async function lastUses(): Promise<Readonly<Record<'used' | 'unused' | 'credential', string | null>>> {
  const list = async (path: string): Promise<readonly Used[]> =>
    (await manager.request<{ data: readonly Used[] }>('GET', path)).body.data;
  const one = async (path: string): Promise<string | null> =>
    (await manager.request<{ data: Used }>('GET', path)).body.data.last_used_at;
  const [keys, credentials] = await Promise.all([list('/keys'), list('/byok')]);
  const shown = {
    used: keys.find(({ hash }) => hash === used.data.hash)!.last_used_at,
    unused: keys.find(({ hash }) => hash === unused.data.hash)!.last_used_at,
    credential: credentials.find(({ id }) => id === credential.id)!.last_used_at,
  };
  expect(shown).toEqual({
    used: await one(`/keys/${used.data.hash}`),
    unused: await one(`/keys/${unused.data.hash}`),
    credential: await one(`/byok/${credential.id}`),
  });
  return shown;
}

/** A process that ends writes what it noted, so that nothing here waits for the minute to pass. */
async function restart(app: 'gateway' | 'batch-worker'): Promise<void> {
  await installation.stopApp(app);
  await installation.startApp(app);
}

function expectAfter(at: string | null, startMs: number): void {
  expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(Date.parse(at!)).toBeGreaterThanOrEqual(startMs - 1_000);
  expect(Date.parse(at!)).toBeLessThanOrEqual(Date.now() + 1_000);
}

describe('last_used_at', () => {
  it('is null for a key and a provider key that were not used yet', async () => {
    expect([used.data.last_used_at, credential.last_used_at]).toEqual([null, null]);
    expect(await lastUses()).toEqual({ used: null, unused: null, credential: null });
  });

  it('is the time of the last call, for the key and the provider key that served it', async () => {
    const startMs = Date.now();
    const client = installation.client(used.key);
    expect((await client.chat(CHAT)).status).toBe(200);
    await client.close();
    await restart('gateway');
    const after = await lastUses();
    expectAfter(after.used, startMs);
    expectAfter(after.credential, startMs);
    expect(after.unused).toBeNull();
  });

  it('counts requests that batches run', async () => {
    const client = installation.client(used.key);
    const requests = chatRequests(linesOf('uses', 3));
    const { body } = await client.submitBatch({ endpoint: '/v1/chat/completions', model: MODEL, requests });
    await eventually('the batch completes', 30_000, async () => {
      const { request_counts: counts } = (await client.getBatch(body.id)).body;
      return counts.completed === 3 ? true : delay(50).then(() => undefined);
    });
    await client.close();
    await restart('gateway');
    await installation.database.execute({ sql: 'DELETE FROM last_uses' });
    expect(await lastUses()).toEqual({ used: null, unused: null, credential: null });
    const startMs = Date.now();
    await restart('batch-worker');
    const after = await lastUses();
    // By the worker alone, which noted them before.
    expect(Date.parse(after.used!)).toBeLessThanOrEqual(startMs);
    expect(Date.parse(after.credential!)).toBeLessThanOrEqual(startMs);
    expect(after.unused).toBeNull();
  });

  it('is kept by a rotation, and may be sent back', async () => {
    const before = await lastUses();
    const rotated = await manager.request<{ data: Used; key: string }>('POST', `/keys/${used.data.hash}/rotate`, {});
    expect(rotated.body.data.last_used_at).toBe(before.used);
    const sent = { name: 'renamed', last_used_at: '2020-01-01T00:00:00Z' };
    expect((await manager.request('PATCH', `/keys/${used.data.hash}`, sent)).status).toBe(200);
    expect((await manager.request('PATCH', `/byok/${credential.id}`, sent)).status).toBe(200);
    expect(await lastUses()).toEqual(before);
  });
});
