import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { waveFile } from '@libs/inference/testing';
import { chatRequests } from '../support/batch-lines';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Upstream } from '../support/upstream';
import { expectRefusal } from './refusals';

const MODEL = 'workspaces/talker';
const [FILM, SPEECH] = ['workspaces/film', 'workspaces/speech'];
const [CHEAP, DEAR] = ['workspaces-cheap', 'workspaces-dear'];
const FELT_WITHIN_MS = 1_500;
const messages = [{ role: 'user', content: 'Say something please.' }];
const CHAT = { model: MODEL, messages, max_tokens: 8 };

let upstream: Upstream;
let installation: Installation;
let manager: ApiClient;

/** One model at two providers whose prices are so near that a call without a wish goes to either. */
function catalogue(): string {
  const at = (provider: string, price: string): TestModel => ({
    slug: provider === CHEAP ? MODEL : 'workspaces/other',
    provider,
    baseUrl: upstream.baseUrl('steady'),
    pricing: { prompt: price, completion: price },
  });
  const media: readonly TestModel[] = [
    { ...at(CHEAP, '0'), slug: FILM, provider: 'workspaces-films', apis: ['video'] },
    { ...at(CHEAP, '0'), slug: SPEECH, provider: 'workspaces-speech', apis: ['transcription'] },
  ];
  const talkers = [at(CHEAP, '0.000001'), at(DEAR, '0.00000101')];
  const { providers, models } = JSON.parse(catalogueOf([...talkers, ...media])) as {
    providers: object[];
    models: { endpoints: object[] }[];
  };
  models[0]!.endpoints.push(models[1]!.endpoints[0]!);
  Object.assign(models[2]!.endpoints[0]!, {
    pricing: { video_second: '0.001' },
    capabilities: { video: { durations: [2] } },
  });
  Object.assign(models[3]!.endpoints[0]!, { pricing: { audio_second: '0.001' } });
  return JSON.stringify({ providers, models });
}

beforeAll(async () => {
  upstream = await Upstream.start({ steady: {} });
  installation = await Installation.start({
    catalogue: catalogue(),
    apps: ['auth', 'batch-worker', 'gateway'],
    environment: { CONTENT_LOGGING: 'on' },
  });
  manager = installation.client(installation.seed.managementKey);
}, 240_000);

afterAll(async () => {
  await manager?.close();
  await installation?.stop();
  await upstream?.stop();
});

interface TestWorkspace {
  readonly id: string;
  readonly client: ApiClient;
}

async function newWorkspace(settings: object = {}): Promise<TestWorkspace> {
  const slug = `w-${randomUUID()}`;
  const made = await manager.request<{ data: { id: string } }>('POST', '/workspaces', { name: 'W', slug, ...settings });
  expect({ status: made.status, text: made.text }).toMatchObject({ status: 201 });
  const { id } = made.body.data;
  const key = await manager.request<{ key: string }>('POST', '/keys', { name: 'k', workspace_id: id });
  return { id, client: installation.client(key.body.key) };
}

const chat = ({ client }: TestWorkspace, body: object = CHAT): Promise<ApiAnswer<{ id: string; provider: string }>> =>
  client.request('POST', '/chat/completions', body);

/** Different words each time, so that no call belongs to the conversation of another. */
const another = (index: number): object => ({
  ...CHAT,
  messages: [{ role: 'user', content: `Tale ${index}, please` }],
});

async function untilStatus(status: number, ask: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
  return eventually(`the answer is ${status}`, FELT_WITHIN_MS, async () => {
    const answer = await ask();
    if (answer.status === status) return answer;
    await delay(20);
    return undefined;
  });
}

describe('the settings of a workspace', () => {
  it('are felt by its keys within a second, and only by those', async () => {
    const [ours, theirs] = [await newWorkspace(), await newWorkspace()];
    const unnamed = { messages, max_tokens: 8 };
    expectRefusal({ ...(await chat(ours, unnamed)), body: (await chat(ours, unnamed)).text }, 400);
    await manager.request('PATCH', `/workspaces/${ours.id}`, { default_text_model: MODEL });
    await untilStatus(200, () => chat(ours, unnamed));
    const response = await ours.client.request<{ model: string }>('POST', '/responses', { input: 'Hello!' });
    expect(response).toMatchObject({ status: 200, body: { model: MODEL } });
    expect((await chat(theirs, unnamed)).status).toBe(400);
    await manager.request('PATCH', `/workspaces/${ours.id}`, { default_text_model: null });
    await untilStatus(400, () => chat(ours, unnamed));
  });

  it('sort the endpoints of calls that say nothing about that', async () => {
    const sorted = await newWorkspace({ default_provider_sort: 'price' });
    const providers = await Promise.all(Array.from({ length: 16 }, async (_, index) => chat(sorted, another(index))));
    expect(new Set(providers.map(({ body }) => body.provider)).size).toBe(1);
    const ordered = await chat(sorted, { ...another(99), provider: { order: [DEAR] } });
    expect(ordered.body.provider).not.toBe(providers[0]!.body.provider);
  });

  it('keep contents of calls from being stored', async () => {
    const silent = await newWorkspace({ is_observability_io_logging_enabled: false });
    const logged = await newWorkspace({ is_observability_io_logging_enabled: true });
    const first = (await chat(silent)).body;
    const second = (await chat(logged)).body;
    const content = (workspace: TestWorkspace, id: string): Promise<ApiAnswer> =>
      workspace.client.request('GET', `/generation/content?id=${id}`);
    // They are stored in the order of the calls.
    await untilStatus(200, () => content(logged, second.id));
    expect((await content(silent, first.id)).status).toBe(404);
  });
});

describe('the budgets of a workspace', () => {
  const budget = (id: string, interval: string): string => `/workspaces/${id}/budgets/${interval}`;

  it('refuse calls and batches of all its keys with 402 until they are raised or deleted', async () => {
    const workspace = await newWorkspace();
    expect((await chat(workspace)).status).toBe(200);
    const put = await manager.request('PUT', budget(workspace.id, 'weekly'), { limit_usd: 0.000001 });
    expect(put).toMatchObject({
      status: 200,
      body: { data: { workspace_id: workspace.id, reset_interval: 'weekly' }, include_byok_in_budgets: false },
    });
    const refused = await untilStatus(402, () => chat(workspace));
    expectRefusal({ ...refused, body: refused.text }, 402);
    expect(refused.text).toMatch(
      /The \w+ budget of this workspace leaves [\d.]+ USD; this request reserves [\d.]+ USD/,
    );
    const stream = await chat(workspace, { ...CHAT, stream: true });
    expect(stream.status).toBe(402);
    const requests = chatRequests([{ customId: 'a', prompt: 'Hello!', marker: 'a' }]);
    const batch = { endpoint: '/v1/chat/completions', model: MODEL, requests };
    const refusedBatch = await workspace.client.request('POST', '/batches', batch);
    expectRefusal({ ...refusedBatch, body: refusedBatch.text }, 402);
    expect(refusedBatch.text).toContain('budget of this workspace leaves');
    const film = { model: FILM, prompt: 'A heron lands.', duration: 2 };
    const recording = { data: waveFile(2).toString('base64'), format: 'wav' };
    for (const [path, body] of [
      ['/videos', film],
      ['/audio/transcriptions', { model: SPEECH, input_audio: recording }],
    ] as const) {
      const answer = await workspace.client.request('POST', path, body);
      expectRefusal({ ...answer, body: answer.text }, 402);
      expect(answer.text).toMatch(/budget/);
    }
    const raised = await manager.request('PUT', budget(workspace.id, 'weekly'), { limit_usd: 5 });
    expect(raised.status).toBe(200);
    await untilStatus(200, () => chat(workspace));
    expect((await workspace.client.request('POST', '/batches', batch)).status).toBe(202);
    expect(await manager.request('DELETE', budget(workspace.id, 'weekly'))).toMatchObject({
      status: 200,
      body: { deleted: true },
    });
    const gone = await manager.request('GET', budget(workspace.id, 'weekly'));
    expectRefusal({ ...gone, body: gone.text }, 404);
  });

  it.each([
    ['no limit', 'daily', {}, 'limit_usd'],
    ['a limit of nothing', 'daily', { limit_usd: 0 }, 'limit_usd'],
    ['a limit in text', 'daily', { limit_usd: '5' }, 'limit_usd'],
    ['a limit finer than a pico-dollar', 'daily', { limit_usd: 1e-13 }, 'limit_usd'],
    ['a switch that is none', 'daily', { limit_usd: 5, include_byok_in_budgets: 1 }, 'include_byok_in_budgets'],
    ['an unknown interval', 'hourly', { limit_usd: 5 }, 'interval'],
    ['a limit above that of a longer interval', 'daily', { limit_usd: 7 }, 'limit_usd'],
  ])('refuse %s by name', async (_what, interval, body, param) => {
    const { id } = await newWorkspace();
    await manager.request('PUT', budget(id, 'monthly'), { limit_usd: 6 });
    const answer = await manager.request('PUT', budget(id, interval), body);
    expectRefusal({ ...answer, body: answer.text }, 400);
    expect(answer.body).toMatchObject({ error: { metadata: { param } } });
  });
});

describe('the members of a workspace', () => {
  it.each([
    ['nobody', {}],
    ['an empty list', { user_ids: [] }],
    ['a number', { user_ids: [7] }],
    ['a bell', { user_ids: ['user\u0007'] }],
    ['too many', { user_ids: Array.from({ length: 101 }, (_, index) => `user_${index}`) }],
  ])('are not %s', async (_what, body) => {
    const { id } = await newWorkspace();
    for (const action of ['add', 'remove']) {
      const answer = await manager.request('POST', `/workspaces/${id}/members/${action}`, body);
      expectRefusal({ ...answer, body: answer.text }, 400);
      expect(answer.text).toContain('"param":"user_ids"');
    }
  });

  it('are written down with who added them', async () => {
    const { id } = await newWorkspace();
    await manager.request('POST', `/workspaces/${id}/members/add`, { user_ids: ['user_1'] });
    const entry = await installation.database.firstRow({
      sql: `SELECT action, status FROM audit_entries WHERE target = $1 AND action LIKE '%/members/add'`,
      values: [id],
    });
    expect(entry).toEqual({ action: 'POST /api/v1/workspaces/:id/members/add', status: 200 });
  });
});
