import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hashApiKey } from '@libs/contracts';
import { FakeUpstream } from '@libs/inference/testing';
import { catalogueOf, PROVIDER_KEY_VARIABLE } from '../support/catalogue';
import { answerJson, CHAT_ANSWER } from '../support/chat-answer';
import type { ApiAnswer, ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { feltFor } from '../support/felt-for';
import { Installation, PROVIDER_KEY } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { expectRefusal } from './refusals';

/** Within which a change of a credential must be felt by every request. */
const FELT_WITHIN_MS = 1_000;
const UNKNOWN_ID = '11111111-2222-4333-8444-555555555555';
const [TALKER, PRIVATE] = ['byok/talker', 'byok/private'];

interface CredentialBody {
  readonly id: string;
  readonly label: string;
  readonly provider: string;
  readonly workspace_id: string;
  readonly sort_order: number;
  readonly disabled: boolean;
  readonly last_error: { readonly kind: string; readonly status: number; readonly skipped_until: string } | null;
}

const ringKey = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;
const [olderKey, newerKey] = [ringKey('older'), ringKey('newer')];
const vault: Record<string, string> = { CREDENTIALS_KEYRING: olderKey };

let upstream: FakeUpstream;
let installation: Installation;
let manager: ApiClient;
let client: ApiClient;
let tenant: Tenant;
/** Keys that the upstream refuses. */
let spent: Set<string>;
/** Every raw key that was ever sent in. */
const rawKeys: string[] = [];

const endpointOf = (provider: string, model: string): object => ({
  provider,
  upstream_model: model,
  apis: ['chat'],
  pricing: { prompt: '0.000001', completion: '0.000002' },
});

/** `openai` with shared capacity, `mistral` with none: it can be called with a caller's own key only. */
function catalogue(): string {
  const providers = [
    { slug: 'openai', name: 'OpenAI', api_key_env: PROVIDER_KEY_VARIABLE },
    { slug: 'mistral', name: 'Mistral', api_key_env: 'NOBODY_SET_THIS' },
  ].map((provider) => ({ ...provider, base_url: `${upstream.origin}/${provider.slug}/v1`, protocol: 'openai' }));
  const models = [
    { slug: TALKER, name: 'Talker', endpoints: [endpointOf('openai', 'talk'), endpointOf('mistral', 'talk')] },
    { slug: PRIVATE, name: 'Private', endpoints: [endpointOf('mistral', 'private')] },
  ];
  return JSON.stringify({ ...(JSON.parse(catalogueOf([])) as object), providers, models });
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  spent = new Set();
  upstream.behaviour = (response, request) => {
    const isSpent = spent.has(String(request.headers.authorization).replace('Bearer ', ''));
    if (isSpent) answerJson(response, { error: { message: 'Incorrect API key' } }, 401);
    else answerJson(response, CHAT_ANSWER);
  };
  installation = await Installation.start({
    catalogue: catalogue(),
    apps: ['auth', 'batch-worker', 'gateway', 'credentials'],
    environmentOf: { credentials: vault },
  });
  manager = installation.client(installation.seed.managementKey);
  client = installation.client();
  tenant = await new Operator(installation).createTenant('Stranger', '5');
}, 240_000);

afterAll(async () => {
  await Promise.all([manager, client].map((each) => each?.close()));
  await installation?.stop();
  await upstream?.close();
});

afterEach(async () => {
  spent.clear();
  // A test may have just started the credentials app again.
  const left = await eventually('the keys are listed', 30_000, async () => {
    const { status, body } = await manager.request<{ data: readonly CredentialBody[] }>('GET', '/byok?limit=100');
    return status === 200 ? body.data : undefined;
  });
  for (const { id } of left) await manager.request('DELETE', `/byok/${id}`);
  await felt(async () => (await call(PRIVATE)).status, 404);
  await felt(() => keyOfCall(TALKER), `Bearer ${PROVIDER_KEY}`);
});

function newKey(): string {
  const key = `sk-own-${randomBytes(24).toString('hex')}`;
  rawKeys.push(key);
  return key;
}

async function bring(key: string, members: object = {}): Promise<CredentialBody> {
  const body = { key, provider: 'openai', ...members };
  const answer = await manager.request<{ data: CredentialBody }>('POST', '/byok', body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  expect(answer.text).not.toContain(key);
  return answer.body.data;
}

function call(model: string, by: ApiClient = client, more: object = {}): Promise<ApiAnswer> {
  return by.chat({ model, messages: [{ role: 'user', content: 'Hello?' }], max_tokens: 8, ...more });
}

/** The credential of the last upstream call that a request led to; null when it led to none. */
async function keyOfCall(model: string, by: ApiClient = client, more: object = {}): Promise<string | null> {
  const before = upstream.requests.length;
  await call(model, by, more);
  const made = upstream.requests.slice(before);
  return made.length === 0 ? null : String(made.at(-1)?.headers.authorization);
}

async function becomes<T>(ask: () => Promise<T>, wanted: T): Promise<void> {
  await eventually(`it becomes ${String(wanted).slice(0, 14)}`, 20_000, async () =>
    (await ask()) === wanted ? true : undefined,
  );
}

async function felt<T>(ask: () => Promise<T>, wanted: T): Promise<void> {
  const isFelt = async (): Promise<boolean> => (await ask()) === wanted;
  expect(await feltFor(`it becomes ${String(wanted).slice(0, 14)}`, isFelt)).toBeLessThan(FELT_WITHIN_MS);
}

describe('a key that a caller brings along', () => {
  it('is used before shared capacity, from a second after it came until a second after it is disabled', async () => {
    const key = newKey();
    const { id, label } = await bring(key);
    expect(label).toBe(`sk-...${key.slice(-4)}`);
    await felt(() => keyOfCall(TALKER), `Bearer ${key}`);
    expect((await manager.request('PATCH', `/byok/${id}`, { disabled: true })).status).toBe(200);
    await felt(() => keyOfCall(TALKER), `Bearer ${PROVIDER_KEY}`);
  });

  it('opens a provider of which there is no shared capacity', async () => {
    expect((await call(PRIVATE)).status).toBe(404);
    const key = newKey();
    await bring(key, { provider: 'mistral' });
    await felt(() => keyOfCall(PRIVATE), `Bearer ${key}`);
  });

  it('K4: says in each answer that nothing uses it where the catalogue has no such provider', async () => {
    const warnings = ['No call uses this key: the catalogue of this service has no provider heygen'];
    const made = await bring(newKey(), { provider: 'heygen' });
    expect(made).toMatchObject({ provider: 'heygen', warnings });
    const got = await manager.request<{ data: CredentialBody }>('GET', `/byok/${made.id}`);
    expect(got.body.data).toMatchObject({ warnings });
    expect(await bring(newKey())).toMatchObject({ warnings: [] });
  });

  it('is replaced where it stands', async () => {
    const [key, next] = [newKey(), newKey()];
    const { id, sort_order } = await bring(key);
    await felt(() => keyOfCall(TALKER), `Bearer ${key}`);
    const answer = await manager.request<{ data: CredentialBody }>('PATCH', `/byok/${id}`, { key: next });
    expect(answer).toMatchObject({ status: 200, body: { data: { id, sort_order, label: `sk-...${next.slice(-4)}` } } });
    await felt(() => keyOfCall(TALKER), `Bearer ${next}`);
  });

  it('gives way to the next one, then to shared capacity, then to the fallback section', async () => {
    const [first, second, last] = [newKey(), newKey(), newKey()];
    await bring(first);
    expect(await bring(second)).toMatchObject({ sort_order: 1 });
    expect(await bring(last, { is_fallback: true })).toMatchObject({ sort_order: 0 });
    await felt(() => keyOfCall(TALKER), `Bearer ${first}`);
    spent.add(first);
    expect(await keyOfCall(TALKER)).toBe(`Bearer ${second}`);
    spent.add(second);
    expect(await keyOfCall(TALKER)).toBe(`Bearer ${PROVIDER_KEY}`);
  });

  it('is passed over once its provider refused it, and its owner sees why, until there is another key', async () => {
    const [key, next] = [newKey(), newKey()];
    const { id, last_error: nothing } = await bring(key);
    expect(nothing).toBeNull();
    await becomes(() => keyOfCall(TALKER), `Bearer ${key}`);
    spent.add(key);
    // The call that finds out is served by shared capacity; calls that follow do not try the key at all.
    const before = upstream.requests.length;
    expect((await call(TALKER)).status).toBe(200);
    expect(upstream.requests.slice(before).map(({ headers }) => headers.authorization)).toEqual([
      `Bearer ${key}`,
      `Bearer ${PROVIDER_KEY}`,
    ]);
    await becomes(async () => {
      const from = upstream.requests.length;
      await call(TALKER);
      return upstream.requests
        .slice(from)
        .map(({ headers }) => headers.authorization)
        .join();
    }, `Bearer ${PROVIDER_KEY}`);
    const { body } = await manager.request<{ data: CredentialBody }>('GET', `/byok/${id}`);
    expect(body.data.last_error).toMatchObject({ kind: 'refused', status: 401 });
    expect(Date.parse(body.data.last_error!.skipped_until)).toBeGreaterThan(Date.now());
    const listed = await manager.request<{ data: CredentialBody[] }>('GET', '/byok');
    expect(listed.body.data.map(({ last_error }) => last_error)).toEqual([body.data.last_error]);
    const changed = await manager.request<{ data: CredentialBody }>('PATCH', `/byok/${id}`, { key: next });
    expect(changed.body.data.last_error).toBeNull();
    await becomes(() => keyOfCall(TALKER), `Bearer ${next}`);
  });

  it('says so where there is nothing but a refused key, and is asked again after a while', async () => {
    const key = newKey();
    const { id } = await bring(key, { provider: 'mistral' });
    await becomes(async () => (await call(PRIVATE)).status, 200);
    spent.add(key);
    const refused = await call(PRIVATE);
    expect(refused.status).toBe(401);
    expect(refused.text).toContain('see last_error of the credential');
    await becomes(async () => Number((await call(PRIVATE)).headers['retry-after']) > 0, true);
    const { length } = upstream.requests;
    expect(await call(PRIVATE)).toMatchObject({ status: 401 });
    expect(upstream.requests).toHaveLength(length);
    spent.clear();
    await installation.database.execute({
      sql: `UPDATE credentials SET skipped_until = now() - interval '1 second' WHERE id = $1`,
      values: [id],
    });
    await becomes(async () => (await call(PRIVATE)).status, 200);
    await becomes(async () => {
      const { body } = await manager.request<{ data: CredentialBody }>('GET', `/byok/${id}`);
      return body.data.last_error;
    }, null);
  });

  it('comes after shared capacity in the fallback section', async () => {
    const key = newKey();
    await bring(key, { is_fallback: true });
    spent.add(PROVIDER_KEY);
    await felt(() => keyOfCall(TALKER), `Bearer ${key}`);
  });

  it('keeps its provider from shared capacity where it is the only one', async () => {
    const key = newKey();
    await bring(key, { is_byok_only: true, allowed_models: ['byok/other'] });
    await felt(async () => (await call(TALKER)).status, 404);
  });

  it('keeps its models from shared capacity where it is required', async () => {
    const key = newKey();
    await bring(key, { provider: 'mistral', is_required: true });
    await felt(() => keyOfCall(TALKER), `Bearer ${key}`);
    spent.add(key);
    expect((await call(TALKER)).status).toBeGreaterThanOrEqual(400);
  });

  it('is for the API keys it names', async () => {
    const key = newKey();
    await bring(key, { provider: 'mistral', allowed_api_key_hashes: [hashApiKey(installation.seed.apiKey)] });
    await felt(() => keyOfCall(PRIVATE), `Bearer ${key}`);
    const made = await manager.request<{ key: string }>('POST', '/keys', { name: 'another' });
    const another = installation.client(made.body.key);
    expect((await call(PRIVATE, another)).status).toBe(404);
    await another.close();
  });

  it('is for the users it names, who are those for whom API keys were made', async () => {
    const key = newKey();
    await bring(key, { provider: 'mistral', allowed_user_ids: ['ada'] });
    const made = await manager.request<{ key: string }>('POST', '/keys', { name: 'for ada', creator_user_id: 'ada' });
    const ada = installation.client(made.body.key);
    await felt(() => keyOfCall(PRIVATE, ada), `Bearer ${key}`);
    expect((await call(PRIVATE)).status).toBe(404);
    await ada.close();
  });

  it('costs its owner a share of the list price, to the last digit', async () => {
    await bring(newKey(), { provider: 'mistral' });
    await felt(async () => (await call(PRIVATE)).status, 200);
    const answer = await call(PRIVATE);
    expect(answer.body).toMatchObject({
      usage: { is_byok: true, cost: '0.000001', cost_details: { upstream_inference_cost: 0.00002 } },
    });
    expect((await call(TALKER, client, { provider: { only: ['openai'] } })).body).toMatchObject({
      usage: { is_byok: false, cost: '0.00002', cost_details: { upstream_inference_cost: null } },
    });
    const audit = await new Operator(installation).runHere<{ drift: string }>('ledger', 'audit');
    expect(audit.drift).toBe('0');
  });

  it('runs batches', async () => {
    const line = { custom_id: 'c1', body: { messages: [{ role: 'user', content: 'Hello?' }], max_tokens: 8 } };
    const submission = {
      endpoint: '/v1/chat/completions',
      model: PRIVATE,
      requests: [line, { ...line, custom_id: 'c2' }],
    };
    expect((await client.submitBatch(submission)).status).toBe(404);
    const key = newKey();
    await bring(key, { provider: 'mistral' });
    await felt(async () => (await call(PRIVATE)).status, 200);
    const seen = upstream.requests.length;
    const submitted = await client.submitBatch(submission);
    expect({ status: submitted.status, text: submitted.text }).toMatchObject({ status: 202 });
    const batch = await eventually('the batch is done', 30_000, async () => {
      const { body } = await client.getBatch(submitted.body.id);
      return body.status === 'completed' ? body : undefined;
    });
    expect(batch).toMatchObject({
      request_counts: { total: 2, completed: 2, failed: 0 },
      usage: { is_byok: true, cost: '0.000002', cost_details: { upstream_inference_cost: 0.00004 } },
    });
    const keys = upstream.requests.slice(seen).map(({ headers }) => headers.authorization);
    expect(keys).toEqual([`Bearer ${key}`, `Bearer ${key}`]);
  });

  it('serves requests that ask for zero data retention where it declares it', async () => {
    const key = newKey();
    const { id } = await bring(key, { declared_zdr: true });
    const zdr = { provider: { zdr: true } };
    await felt(() => keyOfCall(TALKER, client, zdr), `Bearer ${key}`);
    await manager.request('PATCH', `/byok/${id}`, { declared_zdr: false });
    await felt(async () => (await call(TALKER, client, zdr)).status, 404);
  });

  it('is gone when it is deleted, row and all that could open it', async () => {
    const key = newKey();
    const { id } = await bring(key);
    await felt(() => keyOfCall(TALKER), `Bearer ${key}`);
    expect(await manager.request('DELETE', `/byok/${id}`)).toMatchObject({ status: 200, body: { deleted: true } });
    await felt(() => keyOfCall(TALKER), `Bearer ${PROVIDER_KEY}`);
    expectRefusal(await manager.request('GET', `/byok/${id}`), 404);
    expectRefusal(await manager.request('DELETE', `/byok/${id}`), 404);
    const row = await installation.database.firstRow<object>({
      sql: 'SELECT sealed_key, wrapped_data_key, key_encryption_key_id FROM credentials WHERE id = $1',
      values: [id],
    });
    expect(row).toEqual({ sealed_key: null, wrapped_data_key: null, key_encryption_key_id: null });
  });
});

describe('the keys of an organization', () => {
  it('are nobody else’s: not used, not seen, not changed', async () => {
    const key = newKey();
    const { id, workspace_id } = await bring(key, { provider: 'mistral' });
    const [stranger, strangersManager] = [
      installation.client(tenant.apiKey),
      installation.client(tenant.managementKey),
    ];
    expect((await call(PRIVATE, stranger)).status).toBe(404);
    const unknown = await strangersManager.request('GET', `/byok/${UNKNOWN_ID}`);
    for (const method of ['GET', 'DELETE', 'PATCH'] as const) {
      const answer = await strangersManager.request(
        method,
        `/byok/${id}`,
        method === 'PATCH' ? { name: 'mine' } : undefined,
      );
      expect({ status: answer.status, text: answer.text }).toEqual({ status: 404, text: unknown.text });
    }
    const listed = await strangersManager.request(`GET`, `/byok?workspace_id=${workspace_id}`);
    expect(listed).toMatchObject({ status: 200, body: { data: [], total_count: 0 } });
    const foreign = { key, provider: 'openai', workspace_id };
    expectRefusal(await strangersManager.request('POST', '/byok', foreign), 400, [key]);
    const hashes = { key, provider: 'openai', allowed_api_key_hashes: [hashApiKey(installation.seed.apiKey)] };
    expectRefusal(await strangersManager.request('POST', '/byok', hashes), 400, [key]);
    await Promise.all([stranger.close(), strangersManager.close()]);
  });

  it('are managed with management keys only', async () => {
    const body = { key: newKey(), provider: 'openai' };
    expectRefusal(await client.request('POST', '/byok', body), 403, [body.key]);
    expectRefusal(await client.request('GET', '/byok'), 403);
    expectRefusal(await client.request('DELETE', `/byok/${UNKNOWN_ID}`), 403);
  });

  it('are listed by provider and in the order of their use', async () => {
    const made = [
      await bring(newKey(), { is_fallback: true }),
      await bring(newKey()),
      await bring(newKey(), { provider: 'mistral' }),
    ];
    const { body } = await manager.request<{ data: CredentialBody[]; total_count: number }>(
      'GET',
      '/byok?provider=openai',
    );
    expect(body.data.map(({ id }) => id)).toEqual([made[1]!.id, made[0]!.id]);
    expect(body.total_count).toBe(2);
  });

  it('open only where they were stored', async () => {
    const [key, other] = [newKey(), newKey()];
    const [one, two] = [await bring(key, { provider: 'mistral' }), await bring(other, { provider: 'mistral' })];
    await manager.request('PATCH', `/byok/${two.id}`, { disabled: true });
    await installation.database.execute({
      sql: `UPDATE credentials c SET sealed_key = o.sealed_key, wrapped_data_key = o.wrapped_data_key
            FROM credentials o WHERE c.id = $1 AND o.id = $2`,
      values: [one.id, two.id],
    });
    await felt(async () => (await call(PRIVATE)).status, 500);
    expect((await manager.request('GET', `/byok/${one.id}`)).status).toBe(200);
  });
});

describe('the credentials app', () => {
  async function restart(ring: string): Promise<void> {
    await installation.stopApp('credentials');
    vault['CREDENTIALS_KEYRING'] = ring;
    await installation.startApp('credentials');
  }

  it('can be away without anybody noticing who has no keys of his own', async () => {
    expect((await call(TALKER)).status).toBe(200);
    await installation.stopApp('credentials');
    await delay(FELT_WITHIN_MS);
    const statuses: number[] = [];
    for (let index = 0; index < 20; index += 1) statuses.push((await call(TALKER)).status);
    expect(new Set(statuses)).toEqual(new Set([200]));
    await installation.startApp('credentials');
  });

  it('changes its key-encryption key while keys are in use, and then does without the old one', async () => {
    const keys = [newKey(), newKey()];
    const [first] = [await bring(keys[0]!, { provider: 'mistral' }), await bring(keys[1]!)];
    await restart(`${newerKey},${olderKey}`);
    await felt(() => keyOfCall(PRIVATE), `Bearer ${keys[0]}`);
    const report = await new Operator(installation).runHere<{ rewrapped: number; remaining: number }>(
      'credentials',
      'rotate-kek',
    );
    expect(report).toMatchObject({ key_id: 'newer', remaining: 0, rewrapped: 2, failed_ids: [] });
    await restart(newerKey);
    await felt(() => keyOfCall(PRIVATE), `Bearer ${keys[0]}`);
    await felt(() => keyOfCall(TALKER), `Bearer ${keys[1]}`);
    const late = newKey();
    await manager.request('PATCH', `/byok/${first!.id}`, { key: late });
    await felt(() => keyOfCall(PRIVATE), `Bearer ${late}`);
  });
});

describe('raw keys', () => {
  it('are in no log and in no table', async () => {
    expect(rawKeys.length).toBeGreaterThan(10);
    const logs = readdirSync(installation.folder)
      .filter((name) => name.endsWith('.log'))
      .map((name) => readFileSync(join(installation.folder, name), 'utf8'));
    expect(logs.length).toBeGreaterThanOrEqual(3);
    const tables = await installation.database.rows<{ name: string }>({
      sql: `SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = 'public'`,
      values: [],
    });
    const rows: string[] = [];
    for (const { name } of tables) {
      const sql = `SELECT coalesce(string_agg(t::text, ' '), '') AS text FROM ${name} t`;
      rows.push((await installation.database.firstRow<{ text: string }>({ sql, values: [] }))!.text);
    }
    const haystack = [...logs, ...rows].join('\n');
    for (const key of rawKeys) {
      for (const encoding of ['utf8', 'base64', 'base64url', 'hex'] as const) {
        expect(haystack).not.toContain(Buffer.from(key).toString(encoding).slice(4, 40));
      }
    }
  });
});
