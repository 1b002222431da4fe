import { hashApiKey } from '@libs/contracts';
import { ageCharges } from '@libs/persistence/testing';
import { setTimeout as delay } from 'node:timers/promises';
import { chatRequests, linesOf } from '../support/batch-lines';
import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient, BatchBody } from '../support/client';
import { eventually } from '../support/eventually';
import { feltFor } from '../support/felt-for';
import type { Installation } from '../support/installation';
import { Upstream } from '../support/upstream';
import { Operator, type Tenant } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { CANARY, expectRefusal } from './refusals';
import { countRows } from '../support/stored-rows';

const MODEL = 'keys/talker';
const CHAT = { model: MODEL, messages: [{ role: 'user', content: 'Say something please.' }], max_tokens: 8 };
const UNKNOWN_HASH = 'f'.repeat(64);
const UNKNOWN_ID = '11111111-2222-4333-8444-555555555555';
/** Within which a change of a key must be felt everywhere. */
const FELT_WITHIN_MS = 1_000;

interface KeyBody {
  readonly data: {
    readonly hash: string;
    readonly label: string;
    readonly disabled: boolean;
    readonly workspace_id: string;
  };
  readonly key: string;
}

let upstream: Upstream;
let installation: Installation;
let manager: ApiClient;
let tenant: Tenant;
let stranger: { readonly manager: ApiClient; readonly client: ApiClient };

beforeAll(async () => {
  upstream = await Upstream.start({ steady: {} });
  const pricing = { prompt: '0.000001', completion: '0.000002' };
  installation = await shareInstallation({
    catalogue: catalogueOf([{ slug: MODEL, provider: 'keys-talk', baseUrl: upstream.baseUrl('steady'), pricing }]),
    apps: ['auth', 'batch-worker', 'gateway'],
  });
  manager = installation.client(installation.seed.managementKey);
  tenant = await new Operator(installation).createTenant('Stranger', '5');
  stranger = { manager: installation.client(tenant.managementKey), client: installation.client(tenant.apiKey) };
}, 240_000);

afterAll(async () => {
  await Promise.all([manager, stranger?.manager, stranger?.client].map((each) => each?.close()));
  await giveBack(installation);
  await upstream?.stop();
});

async function createKey(members: object = {}): Promise<KeyBody> {
  const answer = await manager.request<KeyBody>('POST', '/keys', { name: 'made by a test', ...members });
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
  return answer.body;
}

async function useKey(key: string): Promise<number> {
  const client = installation.client(key);
  const { status } = await client.chat(CHAT);
  await client.close();
  return status;
}

/** How long a key goes on being `before` until it is `after`, asked without a pause. */
async function untilFelt(key: string, before: number, after: number): Promise<number> {
  const client = installation.client(key);
  try {
    return await feltFor(`the key gets ${after}`, async () => {
      const { status } = await client.request('GET', '/key');
      expect([before, after]).toContain(status);
      return status === after;
    });
  } finally {
    await client.close();
  }
}

describe('a key', () => {
  it('works from the moment it is made', async () => {
    const { key, data } = await createKey();
    expect(key).toMatch(/^sk-sluice-v1-[0-9A-Za-z]{49}$/);
    expect(data).toMatchObject({ hash: hashApiKey(key), disabled: false, workspace_id: installation.seed.workspaceId });
    expect(await useKey(key)).toBe(200);
  });

  it('is shown once, and kept nowhere', async () => {
    const { key, data } = await createKey();
    expect(data.label).not.toContain(key.slice(20, -3));
    const shown = await Promise.all(['/keys', `/keys/${data.hash}`].map((path) => manager.request('GET', path)));
    for (const { status, text } of shown) {
      expect(status).toBe(200);
      expect(text).toContain(data.hash);
      expect(text).not.toContain(key);
    }
    const rows = await installation.database.rows<{ row: string }>({
      sql: 'SELECT k::text AS row FROM api_keys k',
      values: [],
    });
    for (const { row } of rows) expect(row).not.toContain(key.slice(20, -3));
  });

  it('stops within a second of being disabled, and comes back when it is enabled', async () => {
    const { key, data } = await createKey();
    expect(await useKey(key)).toBe(200);
    const set = (disabled: boolean): Promise<ApiAnswer> => manager.request('PATCH', `/keys/${data.hash}`, { disabled });
    expect((await set(true)).status).toBe(200);
    expect(await untilFelt(key, 200, 401)).toBeLessThan(FELT_WITHIN_MS);
    expect(await useKey(key)).toBe(401);
    await set(false);
    expect(await untilFelt(key, 401, 200)).toBeLessThan(FELT_WITHIN_MS);
  });

  it('stops within a second of being deleted, for good', async () => {
    const { key, data } = await createKey();
    expect(await useKey(key)).toBe(200);
    expect(await manager.request('DELETE', `/keys/${data.hash}`)).toMatchObject({
      status: 200,
      body: { deleted: true },
    });
    expect(await untilFelt(key, 200, 401)).toBeLessThan(FELT_WITHIN_MS);
    for (const method of ['GET', 'DELETE'] as const) {
      const answer = await manager.request(method, `/keys/${data.hash}`);
      expectRefusal({ ...answer, body: answer.text }, 404);
    }
    expect((await manager.request('PATCH', `/keys/${data.hash}`, { disabled: false })).status).toBe(404);
    expect((await manager.request('GET', '/keys')).text).not.toContain(data.hash);
  });

  it('stops at the moment it expires', async () => {
    const expiresAt = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 2_000);
    const { key } = await createKey({ expires_at: expiresAt.toISOString() });
    expect(await useKey(key)).toBe(200);
    await delay(expiresAt.getTime() - Date.now());
    expect(await useKey(key)).toBe(401);
  });

  it('whose use is refused leaves no trace at the provider or in the books', async () => {
    const { key, data } = await createKey();
    await manager.request('DELETE', `/keys/${data.hash}`);
    await untilFelt(key, 200, 401);
    const [rows, { calls }] = [await countRows(installation.database), await upstream.counts()];
    expect(await useKey(key)).toBe(401);
    expect([await countRows(installation.database), (await upstream.counts()).calls]).toEqual([rows, calls]);
  });

  it('of a kind tells its owner what it is', async () => {
    const own = installation.client();
    const kinds = await Promise.all([own, manager].map((each) => each.request<{ data: object }>('GET', '/key')));
    expect(kinds.map(({ body }) => body.data)).toMatchObject([
      { is_management_key: false, workspace_id: installation.seed.workspaceId },
      { is_management_key: true, workspace_id: null },
    ]);
    await own.close();
  });

  it('of the one kind cannot do what the other is for, and hears which it needs', async () => {
    const own = installation.client();
    const managing = await own.request<{ error: { message: string } }>('GET', '/keys');
    const inferring = await manager.request<{ error: { message: string } }>('POST', '/chat/completions', CHAT);
    expectRefusal({ ...managing, body: managing.text }, 403);
    expectRefusal({ ...inferring, body: inferring.text }, 403);
    expect(managing.body.error.message).toBe('Only management keys can perform this operation');
    expect(inferring.body.error.message).toBe('Management keys cannot run inference; use an API key');
    await own.close();
  });
});

describe('a key that is asked for', () => {
  const inYear = (year: string): string => `${year}-12-31T23:59:59Z`;
  const bads: readonly (readonly [string, object])[] = [
    ['without a name', { name: undefined }],
    ...['', ' ', 'n'.repeat(201), 5, null, 'two\nlines', 'bell\u0007'].map(
      (name) => [`with the name ${JSON.stringify(name).slice(0, 12)}`, { name }] as const,
    ),
    ...[-1, '5', Number.MAX_VALUE, true, {}].map(
      (limit) => [`with the limit ${JSON.stringify(limit)}`, { limit }] as const,
    ),
    ...['hourly', '', 5].map((reset) => [`with the reset ${JSON.stringify(reset)}`, { limit_reset: reset }] as const),
    ...[
      '2027-12-31',
      '2027-12-31T23:59Z',
      '2027-12-31T23:59:59',
      '2027-12-31T23:59:59+02:00',
      '2027-02-30T00:00:00Z',
      '2027-12-31T25:00:00Z',
      '2027-12-31T23:59:60Z',
      inYear('10000'),
      inYear('2020'),
      1_893_456_000,
    ].map((at) => [`that expires ${JSON.stringify(at)}`, { expires_at: at }] as const),
    ...['x', '', 5, null].map((id) => [`in the workspace ${JSON.stringify(id)}`, { workspace_id: id }] as const),
    ['with a switch that is no boolean', { include_byok_in_limit: 'true' }],
  ];

  it.each(bads)('%s is not made', async (_case, members) => {
    const before = await countRows(installation.database);
    const answer = await manager.request('POST', '/keys', { name: 'fine', note: CANARY, ...members });
    expectRefusal({ ...answer, body: answer.text }, 400);
    expect(await countRows(installation.database)).toEqual(before);
  });

  it('with members that are ours to write is made as if they were not there', async () => {
    const { key, data } = await createKey({
      hash: UNKNOWN_HASH,
      label: CANARY,
      usage: 7,
      created_at: inYear('2020'),
    });
    expect(data).toMatchObject({ hash: hashApiKey(key), usage: 0 });
    expect(JSON.stringify(data)).not.toContain(CANARY);
    expect((await stranger.manager.request('GET', `/keys/${data.hash}`)).status).toBe(404);
  });
});

describe('the spending limit of a key', () => {
  /** What a call of CHAT costs: 6 prompt tokens and 1 of the answer. */
  const CALL_USD = 0.000008;
  /** What is set aside for one: its prompt by estimate, and 8 tokens of an answer. */
  const MOST_HELD_USD = 0.0001;

  interface Limits {
    readonly limit: number | null;
    readonly limit_remaining: number | null;
    readonly limit_reset: string | null;
    readonly usage: number;
    readonly usage_daily: number;
    readonly usage_weekly: number;
    readonly usage_monthly: number;
    readonly byok_usage: number;
  }

  const limitsOf = async (hash: string): Promise<Limits> =>
    (await manager.request<{ data: Limits }>('GET', `/keys/${hash}`)).body.data;

  /** Once nothing is set aside any more. */
  const settled = (hash: string): Promise<Limits> =>
    eventually('all calls are settled', 10_000, async () => {
      const row = await installation.database.firstRow<{ held: string }>({
        sql: 'SELECT held_usd::text AS held FROM ledger_keys WHERE api_key_hash = $1',
        values: [hash],
      });
      return Number(row?.held ?? 0) === 0 ? limitsOf(hash) : delay(20).then(() => undefined);
    });

  it('stops its calls before they would go beyond it, and no other key', async () => {
    const limit = 0.0002;
    const { key, data } = await createKey({ limit });
    const client = installation.client(key);
    const answers = await Promise.all(Array.from({ length: 60 }, () => client.chat(CHAT)));
    const served = answers.filter(({ status }) => status === 200).length;
    const refused = answers.filter(({ status }) => status === 402);
    expect(served + refused.length).toBe(60);
    expect(served).toBeGreaterThan(0);
    for (const answer of refused) {
      expectRefusal({ ...answer, body: answer.text }, 402);
      expect(answer.text).toContain('spending limit of this key');
    }
    const left = await settled(data.hash);
    expect(left.usage).toBeCloseTo(served * CALL_USD, 12);
    expect(left.usage).toBeLessThanOrEqual(limit);
    expect(left.limit_remaining).toBeCloseTo(limit - left.usage, 12);
    expect(left).toMatchObject({ usage_daily: left.usage, usage_weekly: left.usage, usage_monthly: left.usage });
    expect(await useKey(installation.seed.apiKey)).toBe(200);
    await client.close();
  });

  it('counts streams and batches too, and a batch from the moment it is taken in', async () => {
    const { key, data } = await createKey({ limit: 0.000001 });
    const client = installation.client(key);
    const stream = await client.request('POST', '/chat/completions', { ...CHAT, stream: true });
    expectRefusal({ ...stream, body: stream.text }, 402);
    const submission = { endpoint: '/v1/chat/completions', model: MODEL, requests: chatRequests(linesOf('limit', 3)) };
    const refused = await client.submitBatch(submission);
    expectRefusal({ ...refused, body: refused.text }, 402);
    expect(refused.text).toContain('spending limit');

    const limit = 0.01;
    await manager.request('PATCH', `/keys/${data.hash}`, { limit });
    await eventually('the new limit is felt', 3_000, async () =>
      (await client.chat(CHAT)).status === 200 ? true : delay(50).then(() => undefined),
    );
    const { body } = await client.submitBatch(submission);
    const during = await limitsOf(data.hash);
    expect(during.limit_remaining).toBeLessThan(limit - CALL_USD);
    await eventually('the batch completes', 20_000, async () =>
      (await client.getBatch(body.id)).body.status === 'completed' ? true : delay(50).then(() => undefined),
    );
    const after = await settled(data.hash);
    const cost = Number((await client.getBatch(body.id)).body.usage!.cost);
    expect(after.usage).toBeGreaterThanOrEqual(cost + CALL_USD);
    expect(after.limit_remaining).toBeCloseTo(limit - after.usage, 12);
    await client.close();
  });

  it.each(['daily', 'weekly', 'monthly'])('that is %s is there again in its next period', async (reset) => {
    const limit = MOST_HELD_USD;
    const { key, data } = await createKey({ limit, limit_reset: reset });
    const client = installation.client(key);
    let status = 200;
    for (let call = 0; call < 20 && status === 200; call += 1) {
      ({ status } = await client.chat(CHAT));
      await settled(data.hash);
    }
    expect(status).toBe(402);
    // As if all that was spent had been spent more than a month ago.
    await ageCharges(installation.database, { column: 'api_key_hash', value: data.hash }, 40);
    expect(await limitsOf(data.hash)).toMatchObject({ limit_reset: reset, limit_remaining: limit });
    expect((await client.chat(CHAT)).status).toBe(200);
    await client.close();
  });

  it('of nothing lets nothing through, and none at all lets everything', async () => {
    const { key, data } = await createKey({ limit: 0 });
    expect(await useKey(key)).toBe(402);
    await manager.request('PATCH', `/keys/${data.hash}`, { limit: null });
    await eventually('the limit is gone', 3_000, async () => ((await useKey(key)) === 200 ? true : undefined));
    expect(await limitsOf(data.hash)).toMatchObject({ limit: null, limit_remaining: null });
  });
});

describe('another organization', () => {
  let own: ApiClient;
  let key: KeyBody;
  let batchId: string;

  beforeAll(async () => {
    own = installation.client();
    key = await createKey();
    const requests = chatRequests(linesOf('tenancy', 2));
    const { body } = await own.submitBatch({ endpoint: '/v1/chat/completions', model: MODEL, requests });
    batchId = body.id;
    await eventually('the batch completes', 20_000, async () =>
      (await own.getBatch(batchId)).body.status === 'completed' ? true : delay(50).then(() => undefined),
    );
  });

  afterAll(() => own?.close());

  type Ask = (id: string) => Promise<ApiAnswer>;
  const asks: readonly (readonly [string, Ask, () => string, string])[] = [
    [
      'read a batch',
      (id) => stranger.client.request('GET', `/batches/${id}`),
      () => batchId,
      'batch-1760000000-AAAAAAAAAAAAAAAAAAAA',
    ],
    ['read a key', (id) => stranger.manager.request('GET', `/keys/${id}`), () => key.data.hash, UNKNOWN_HASH],
    [
      'change a key',
      (id) => stranger.manager.request('PATCH', `/keys/${id}`, { disabled: true }),
      () => key.data.hash,
      UNKNOWN_HASH,
    ],
    ['delete a key', (id) => stranger.manager.request('DELETE', `/keys/${id}`), () => key.data.hash, UNKNOWN_HASH],
    [
      'read a workspace',
      (id) => stranger.manager.request('GET', `/workspaces/${id}`),
      () => installation.seed.workspaceId,
      UNKNOWN_ID,
    ],
    [
      'change a workspace',
      (id) => stranger.manager.request('PATCH', `/workspaces/${id}`, { name: CANARY }),
      () => installation.seed.workspaceId,
      UNKNOWN_ID,
    ],
    [
      'delete a workspace',
      (id) => stranger.manager.request('DELETE', `/workspaces/${id}`),
      () => installation.seed.workspaceId,
      UNKNOWN_ID,
    ],
    ...(
      [
        ['list the budgets', 'GET', 'budgets'],
        ['read a budget', 'GET', 'budgets/daily'],
        ['set a budget', 'PUT', 'budgets/daily', { limit_usd: 1 }],
        ['delete a budget', 'DELETE', 'budgets/daily'],
        ['list the members', 'GET', 'members'],
        ['add a member', 'POST', 'members/add', { user_ids: [CANARY] }],
        ['remove a member', 'POST', 'members/remove', { user_ids: [CANARY] }],
      ] as const
    ).map(
      ([what, method, path, body]) =>
        [
          `${what} of a workspace`,
          (id: string) => stranger.manager.request(method, `/workspaces/${id}/${path}`, body),
          () => installation.seed.workspaceId,
          UNKNOWN_ID,
        ] as const,
    ),
  ];

  it.each(asks)(
    'that tries to %s of ours gets the very bytes it gets for one that does not exist',
    async (_case, ask, ours, unknown) => {
      const before = await countRows(installation.database);
      const [found, missing] = [await ask(ours()), await ask(unknown)];
      expectRefusal({ ...missing, body: missing.text }, 404);
      expect({ status: found.status, text: found.text }).toEqual({ status: 404, text: missing.text });
      const same = ['content-type', 'content-length', 'x-content-type-options'].map((name) => [
        found.headers[name],
        missing.headers[name],
      ]);
      for (const [one, other] of same) expect(one).toEqual(other);
      expect(await countRows(installation.database)).toEqual(before);
    },
  );

  it('that puts a key into our workspace hears what it hears of an unknown one', async () => {
    const put = (id: string): Promise<ApiAnswer> =>
      stranger.manager.request('POST', '/keys', { name: 'sly', workspace_id: id });
    const before = await countRows(installation.database);
    const [found, missing] = [await put(installation.seed.workspaceId), await put(UNKNOWN_ID)];
    expect({ status: found.status, text: found.text }).toEqual({ status: missing.status, text: missing.text });
    expectRefusal({ ...found, body: found.text }, 400);
    expect(await countRows(installation.database)).toEqual(before);
  });

  it('sees only its own in every list', async () => {
    for (const path of [
      '/keys',
      '/keys?include_disabled=true',
      '/workspaces',
      `/keys?workspace_id=${installation.seed.workspaceId}`,
    ]) {
      const { status, text } = await stranger.manager.request('GET', path);
      expect([200, 404]).toContain(status);
      for (const ours of [key.data.hash, installation.seed.workspaceId, hashApiKey(installation.seed.apiKey)]) {
        expect(text).not.toContain(ours);
      }
    }
  });

  it('has its own credits', async () => {
    const credits = async (by: ApiClient): Promise<object> =>
      (await by.request<{ data: object }>('GET', '/credits')).body.data;
    expect(await credits(stranger.manager)).toEqual({ total_credits: 5, total_usage: 0 });
    expect(await credits(manager)).toMatchObject({ total_credits: 100 });
  });

  it('has changed nothing of ours', async () => {
    expect(await useKey(key.key)).toBe(200);
    expect((await own.request<BatchBody>('GET', `/batches/${batchId}`)).body.results).toHaveLength(2);
    const workspace = await manager.request('GET', `/workspaces/${installation.seed.workspaceId}`);
    expect(workspace.status).toBe(200);
    expect(workspace.text).not.toContain(CANARY);
  });
});

describe('the operator', () => {
  it('disables a key at the command line, and it stops within a second', async () => {
    const { key, data } = await createKey();
    expect(await useKey(key)).toBe(200);
    const { organizationId } = (await installation.database.firstRow<{ organizationId: string }>({
      sql: 'SELECT organization_id AS "organizationId" FROM api_keys WHERE hash = $1',
      values: [data.hash],
    }))!;
    await new Operator(installation).runHere('keys', 'disable', data.hash, '--organization', organizationId);
    expect(await untilFelt(key, 200, 401)).toBeLessThan(FELT_WITHIN_MS);
  });

  it('finds the books balanced', async () => {
    const operator = new Operator(installation);
    const clean = { drift: '0', drift_picousd: '0', count: 0, findings: [] };
    expect(await operator.run('ledger', 'audit', '--full')).toMatchObject({ ...clean, full: true });
    expect(await operator.runHere('ledger', 'audit')).toMatchObject({ ...clean, full: false });
  });
});
