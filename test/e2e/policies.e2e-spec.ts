import { setTimeout as delay } from 'node:timers/promises';
import { chatRequests, linesOf } from '../support/batch-lines';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiAnswer, ApiClient, BatchBody } from '../support/client';
import { eventually } from '../support/eventually';
import { feltFor } from '../support/felt-for';
import type { Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { Upstream } from '../support/upstream';
import { CANARY, expectRefusal } from './refusals';

const MODEL = 'policies/talker';
const LONE = 'policies/lone';
const LONE_ALIAS = 'lonely';
const OPEN = 'policies-open';
const SHUT = 'policies-shut';
const chatOf = (model: string) => ({
  model,
  messages: [{ role: 'user', content: 'Say something please.' }],
  max_tokens: 8,
});
const PRICING = { prompt: '0.000001', completion: '0.000002' };
const FELT_WITHIN_MS = 1_500;

interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly availability?: { readonly code: string; readonly constraint?: { readonly field: string } };
  };
}

let upstream: Upstream;
let installation: Installation;
let manager: ApiClient;

/** One model at two providers: the second keeps nothing and is in Europe; another at the first alone. */
function catalogue(): string {
  const at = (slug: string, provider: string): TestModel => ({
    slug,
    provider,
    baseUrl: upstream.baseUrl('steady'),
    pricing: PRICING,
  });
  const { providers, models } = JSON.parse(catalogueOf([at(MODEL, OPEN), at(LONE, SHUT)])) as {
    providers: { slug: string; data_policy: object }[];
    models: { slug: string; aliases?: string[]; endpoints: { provider: string; region: string; zdr: boolean }[] }[];
  };
  const [open, shut] = [models[0]!.endpoints[0]!, models[1]!.endpoints[0]!];
  providers[0]!.data_policy = { retains_prompts: true, trains_on_prompts: false, zdr: false };
  const [kept, unkept] = [
    { ...open, region: 'global', zdr: false },
    { ...shut, region: 'eu-west-1', zdr: true },
  ];
  models[0]!.endpoints = [kept, unkept];
  models[1]!.endpoints = [kept];
  models[1]!.aliases = [LONE_ALIAS];
  return JSON.stringify({ providers, models });
}

beforeAll(async () => {
  upstream = await Upstream.start({ steady: {} });
  installation = await shareInstallation({ catalogue: catalogue(), apps: ['auth', 'batch-worker', 'gateway'] });
  manager = installation.client(installation.seed.managementKey);
}, 240_000);

afterAll(async () => {
  await manager?.close();
  await giveBack(installation);
  await upstream?.stop();
});

interface TestKey {
  readonly hash: string;
  readonly client: ApiClient;
}

async function createKey(policy: object | null, workspaceId?: string): Promise<TestKey> {
  const members = { name: 'policies', policy, ...(workspaceId !== undefined && { workspace_id: workspaceId }) };
  const answer = await manager.request<{ data: { hash: string; policy: unknown }; key: string }>(
    'POST',
    '/keys',
    members,
  );
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  expect(answer.body.data.policy).toEqual(policy);
  return { hash: answer.body.data.hash, client: installation.client(answer.body.key) };
}

/** A key of a workspace with a policy. */
async function keyIn(policy: object, ownPolicy: object | null = null): Promise<TestKey & { workspaceId: string }> {
  const slug = `w-${Math.random().toString(36).slice(2)}`;
  const answer = await manager.request<{ data: { id: string; policy: unknown } }>('POST', '/workspaces', {
    name: 'Policies',
    slug,
    policy,
  });
  expect(answer).toMatchObject({ status: 201, body: { data: { policy } } });
  const workspaceId = answer.body.data.id;
  return { ...(await createKey(ownPolicy, workspaceId)), workspaceId };
}

const METADATA = { 'x-sluice-metadata': 'enabled' };

async function servedBy(key: TestKey, body: object = chatOf(MODEL)): Promise<string> {
  const answer = await key.client.request<{ provider: string }>('POST', '/chat/completions', body, METADATA);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  return answer.body.provider;
}

function expectBlocked(answer: ApiAnswer, field: string): void {
  expectRefusal({ ...answer, body: answer.text }, 403);
  const { error } = answer.body as ErrorBody;
  expect(error.availability?.constraint?.field).toBe(field);
  const [owner, , member] = field.split('.');
  expect(error.message).toContain(`policy of the ${owner} (${member})`);
}

describe('a policy', () => {
  it('on tools holds for all who run them, and leaves functions alone', async () => {
    const key = await createKey({ ignored_tools: ['web_search', 'datetime'] });
    const ask = (members: object): Promise<ApiAnswer> =>
      key.client.request('POST', '/chat/completions', { ...chatOf(MODEL), ...members });
    for (const members of [{ tools: [{ type: 'sluice:datetime' }] }, { web_search_options: {} }]) {
      expectBlocked(await ask(members), 'key.policy.ignored_tools');
    }
    const tools = [{ type: 'function', function: { name: 'web_search', parameters: { type: 'object' } } }];
    expect((await ask({ tools })).status).toBe(200);
    const allowed = await createKey({ allowed_tools: ['datetime'] });
    const answer = await allowed.client.request('POST', '/chat/completions', {
      ...chatOf(MODEL),
      tools: [{ type: 'sluice:datetime' }],
    });
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  });

  it('of a key or of its workspace decides what /models/user lists, page by page', async () => {
    type List = { data: { id: string }[]; links: { next: string | null }; total_count: number };
    const listFor = async ({ client }: TestKey, query = ''): Promise<List> => {
      const { status, body } = await client.request<List>('GET', `/models/user${query}`);
      expect(status).toBe(200);
      return body;
    };
    const idsOf = ({ data }: List): string[] => data.map(({ id }) => id);
    const [free, own, shared] = [
      await createKey(null),
      await createKey({ allowed_models: [LONE] }),
      await keyIn({ ignored_models: [LONE] }),
    ];
    expect(await listFor(free)).toEqual((await free.client.request<List>('GET', '/models')).body);
    expect(idsOf(await listFor(own))).toEqual([LONE]);
    expect(idsOf(await listFor(own, '?batch=true'))).toEqual([`${LONE}:batch`]);
    expect(idsOf(await listFor(shared))).toEqual([MODEL]);
    const page = await listFor(own, '?limit=1');
    expect(page).toMatchObject({ links: { next: null }, total_count: 1 });
    const batches = await listFor(free, '?batch=true&limit=1');
    expect(batches.links).toEqual({ next: '/api/v1/models/user?batch=true&limit=1&offset=1' });
    expect(idsOf(page)).toEqual([LONE]);
    expect((await own.client.request('GET', '/models/user?limit=0')).status).toBe(400);
    await Promise.all([free, own, shared].map(({ client }) => client.close()));
  });

  it.each([
    [{ allowed_providers: [SHUT] }],
    [{ ignored_providers: [`Test ${OPEN}`] }],
    [{ allowed_data_regions: ['europe'] }],
    [{ zdr: true }],
    [{ data_collection: 'deny' }],
  ])('%j of a key or of its workspace leads every call to what it allows', async (policy) => {
    const [own, shared] = [await createKey(policy), await keyIn(policy)];
    for (const key of [own, shared]) {
      for (let call = 0; call < 3; call += 1) expect(await servedBy(key)).toBe(`Test ${SHUT}`);
      // What the caller would like does not widen it.
      const wish = { provider: { order: [OPEN], zdr: false, data_collection: 'allow' } };
      expect(await servedBy(key, { ...chatOf(MODEL), ...wish })).toBe(`Test ${SHUT}`);
      await key.client.close();
    }
  });

  it.each([
    [{ allowed_providers: [SHUT] }, 'allowed_providers'],
    [{ ignored_models: [LONE] }, 'ignored_models'],
    [{ ignored_models: [LONE_ALIAS] }, 'ignored_models'],
    [{ allowed_models: [MODEL] }, 'allowed_models'],
    [{ allowed_data_regions: ['us', 'europe'] }, 'allowed_data_regions'],
    [{ zdr: true }, 'zdr'],
    [{ data_collection: 'deny' }, 'data_collection'],
  ])('%j blocks a call that it leaves nothing for, and says so by name', async (policy, member) => {
    const [own, shared] = [await createKey(policy), await keyIn(policy)];
    const bodies: readonly [string, object][] = [
      ['/chat/completions', chatOf(LONE)],
      ['/chat/completions', { ...chatOf(LONE), stream: true }],
      ['/chat/completions', chatOf(LONE_ALIAS)],
      ['/chat/completions', chatOf(`${LONE_ALIAS}:floor`)],
      ['/responses', { model: LONE, input: 'Hello!' }],
      ['/responses', { model: LONE, input: 'Hello!', tools: [{ type: 'sluice:datetime' }] }],
    ];
    const { calls } = await upstream.counts();
    for (const [path, body] of bodies) {
      expectBlocked(await own.client.request('POST', path, body), `key.policy.${member}`);
      expectBlocked(await shared.client.request('POST', path, body), `workspace.policy.${member}`);
    }
    expect((await upstream.counts()).calls).toBe(calls);
    await Promise.all([own.client.close(), shared.client.close()]);
  });

  it('of the workspace binds beside that of the key', async () => {
    const key = await keyIn({ data_collection: 'deny' }, { allowed_providers: [OPEN] });
    expectBlocked(await key.client.chat(chatOf(MODEL)), 'key.policy.allowed_providers');
    expect((await key.client.request<{ data: object }>('GET', '/key')).body.data).toMatchObject({
      allowed_data_regions: ['global'],
    });
    await key.client.close();
  });

  it('leaves 404 to what the call itself rules out', async () => {
    const key = await createKey({ allowed_providers: [SHUT] });
    const answer = await key.client.chat({ ...chatOf(MODEL), provider: { only: [OPEN] } });
    expectRefusal({ ...answer, body: answer.text }, 404);
    await key.client.close();
  });

  it('is felt within a second when it is set, changed and taken away', async () => {
    const key = await createKey(null);
    const set = async (policy: object | null): Promise<void> => {
      expect(await manager.request('PATCH', `/keys/${key.hash}`, { policy })).toMatchObject({
        status: 200,
        body: { data: { policy } },
      });
    };
    const untilStatus = async (status: number): Promise<void> => {
      const isFelt = async (): Promise<boolean> => (await key.client.chat(chatOf(LONE))).status === status;
      expect(await feltFor(`the call gets ${status}`, isFelt)).toBeLessThan(FELT_WITHIN_MS);
    };
    await untilStatus(200);
    await set({ zdr: true });
    await untilStatus(403);
    await set({ allowed_providers: [OPEN] });
    await untilStatus(200);
    await set({ allowed_data_regions: ['europe'] });
    await untilStatus(403);
    expect((await key.client.request<{ data: object }>('GET', '/key')).body.data).toMatchObject({
      allowed_data_regions: ['europe'],
    });
    await set(null);
    await untilStatus(200);
    await key.client.close();
  });

  it.each([
    ['a member that there is not', { allowed_provider: [OPEN] }],
    ['no list', { allowed_models: MODEL }],
    ['an empty list', { allowed_models: [] }],
    ['an unknown provider', { ignored_providers: [CANARY] }],
    ['an unknown model', { allowed_models: [CANARY] }],
    ['an unknown region', { allowed_data_regions: [CANARY] }],
    ['text for a switch', { zdr: CANARY }],
    ['no object', CANARY],
  ])('with %s is refused, and nothing is changed', async (_what, policy) => {
    const key = await createKey({ zdr: true });
    const { workspaceId } = installation.seed;
    for (const answer of [
      await manager.request('POST', '/keys', { name: 'n', policy }),
      await manager.request('PATCH', `/keys/${key.hash}`, { policy, name: 'changed' }),
      await manager.request('POST', '/workspaces', { name: 'n', slug: 'never-made', policy }),
      await manager.request('PATCH', `/workspaces/${workspaceId}`, { policy, name: 'changed' }),
    ]) {
      expectRefusal({ ...answer, body: answer.text }, 400);
      expect((answer.body as ErrorBody).error.message).toContain('policy');
    }
    expect((await manager.request('GET', `/keys/${key.hash}`)).body).toMatchObject({
      data: { name: 'policies', policy: { zdr: true } },
    });
    expect((await manager.request('GET', '/workspaces')).text).not.toMatch(/never-made|"changed"/);
    await key.client.close();
  });
});

describe('a batch', () => {
  const submission = (model: string, tag: string, count = 2) => ({
    endpoint: '/v1/chat/completions',
    model,
    requests: chatRequests(linesOf(tag, count)),
  });

  async function untilDone(client: ApiClient, id: string): Promise<BatchBody> {
    return eventually('the batch completes', 30_000, async () => {
      const { body } = await client.getBatch(id);
      return body.status === 'completed' ? body : delay(50).then(() => undefined);
    });
  }

  it('runs where the policies allow it', async () => {
    const key = await createKey({ zdr: true });
    const { body } = await key.client.submitBatch(submission(MODEL, 'allowed'));
    expect(await untilDone(key.client, body.id)).toMatchObject({ request_counts: { completed: 2, failed: 0 } });
    const row = await installation.database.firstRow<{ provider: string }>({
      sql: 'SELECT provider FROM batches WHERE id = $1',
      values: [body.id],
    });
    expect(row).toEqual({ provider: SHUT });
    await key.client.close();
  });

  it('may name its model by an alias, and shows it as it was named', async () => {
    const key = await createKey({ allowed_models: [LONE] });
    const { body } = await key.client.submitBatch(submission(LONE_ALIAS, 'alias'));
    expect(await untilDone(key.client, body.id)).toMatchObject({ model: LONE_ALIAS, request_counts: { completed: 2 } });
    await key.client.close();
  });

  it('that a policy blocks is refused, and leaves nothing behind', async () => {
    const key = await keyIn({ zdr: true });
    const count = (): Promise<{ n: string } | null> =>
      installation.database.firstRow({ sql: 'SELECT count(*)::text AS n FROM batches', values: [] });
    const before = await count();
    for (const model of [LONE, LONE_ALIAS]) {
      expectBlocked(await key.client.submitBatch(submission(model, 'blocked')), 'workspace.policy.zdr');
    }
    expect(await count()).toEqual(before);
    await key.client.close();
  });

  describe('whose key changed after it was taken in', () => {
    let restricted: TestKey;
    let deleted: TestKey;
    let calls: number;
    let ended: readonly BatchBody[];

    /** Both are accepted while no worker runs. */
    beforeAll(async () => {
      [restricted, deleted] = [await createKey(null), await createKey(null)];
      await installation.stopApp('batch-worker');
      const ids: string[] = [];
      for (const [tag, key] of [['restricted', restricted] as const, ['deleted', deleted] as const]) {
        const { status, body } = await key.client.submitBatch(submission(LONE, tag));
        expect(status).toBe(202);
        ids.push(body.id);
      }
      await manager.request('PATCH', `/keys/${restricted.hash}`, { policy: { zdr: true } });
      await manager.request('DELETE', `/keys/${deleted.hash}`);
      ({ calls } = await upstream.counts());
      await installation.startApp('batch-worker');
      const own = installation.client();
      ended = await Promise.all(ids.map((id) => untilDone(own, id)));
      await own.close();
    });

    afterAll(() => Promise.all([restricted?.client.close(), deleted?.client.close()]));

    it('runs no further line, ends, and costs nothing', async () => {
      for (const batch of ended) {
        expect(batch).toMatchObject({ request_counts: { total: 2, completed: 0, failed: 2 }, usage: { cost: '0' } });
      }
      expect((await upstream.counts()).calls).toBe(calls);
    });

    it('says of each line what forbids it', () => {
      for (const { error } of ended[0]!.results!) {
        expect(error).toMatchObject({ error_type: 'permission_denied', message: expect.stringContaining('(zdr)') });
      }
      for (const { error } of ended[1]!.results!) expect(error).toMatchObject({ error_type: 'authentication' });
    });

    it('gives back what it had set aside', async () => {
      const rows = await installation.database.rows<{ held: string }>({
        sql: 'SELECT held_usd::float8::text AS held FROM ledger_keys WHERE api_key_hash = ANY($1)',
        values: [[restricted.hash, deleted.hash]],
      });
      expect(rows).toEqual([{ held: '0' }, { held: '0' }]);
    });
  });
});
