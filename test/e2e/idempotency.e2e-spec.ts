import { randomBytes, randomUUID } from 'node:crypto';
import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import type { Installation } from '../support/installation';
import { Operator } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { CANARY, expectRefusal } from './refusals';

const CALLBACK = 'https://app.example/callback';

let installation: Installation;
let manager: ApiClient;
/** Another management key of the same organization. */
let colleague: ApiClient;
let stranger: ApiClient;

beforeAll(async () => {
  installation = await shareInstallation({
    catalogue: catalogueOf([
      {
        slug: 'once/any',
        provider: 'once',
        baseUrl: 'http://127.0.0.1:1/v1',
        pricing: { prompt: '0', completion: '0' },
      },
    ]),
    apps: ['auth', 'credentials', 'gateway'],
  });
  manager = installation.client(installation.seed.managementKey);
  const operator = new Operator(installation);
  const owner = await installation.database.firstRow<{ id: string }>({
    sql: 'SELECT organization_id AS id FROM workspaces WHERE id = $1',
    values: [installation.seed.workspaceId],
  });
  const args = ['--name', 'colleague', '--organization', owner!.id, '--management'];
  colleague = installation.client((await operator.runHere<{ key: string }>('keys', 'create', ...args)).key);
  stranger = installation.client((await operator.createTenant('Stranger', null)).managementKey);
}, 240_000);

afterAll(async () => {
  await Promise.all([manager, colleague, stranger].map((each) => each?.close()));
  await giveBack(installation);
}, 240_000);

const newKey = (): string => `sk-own-${CANARY}-${randomBytes(16).toString('hex')}`;

function post(path: string, body: object, key: string | undefined, as = manager): Promise<ApiAnswer<{ data: Made }>> {
  return as.request<{ data: Made }>('POST', path, body, key === undefined ? {} : { 'idempotency-key': key });
}

interface Made {
  readonly id: string;
}

async function countCredentials(): Promise<number> {
  const sql = 'SELECT count(*)::int AS count FROM credentials WHERE deleted_at IS NULL';
  return (await installation.database.firstRow<{ count: number }>({ sql }))!.count;
}

async function countCodes(): Promise<number> {
  const sql = 'SELECT count(*)::int AS count FROM authorization_codes';
  return (await installation.database.firstRow<{ count: number }>({ sql }))!.count;
}

/** Each place that takes a key, with a body that is another one each time. */
const PLACES = [
  {
    path: '/byok',
    newBody: () => ({ provider: 'openai', key: newKey(), name: randomUUID() }),
    count: countCredentials,
  },
  { path: '/auth/keys/code', newBody: () => ({ callback_url: CALLBACK, key_label: randomUUID() }), count: countCodes },
];

describe.each(PLACES)('POST $path under an Idempotency-Key', ({ path, newBody, count }) => {
  it('asked twice is done once, and answered alike', async () => {
    const [key, body, before] = [randomUUID(), newBody(), await count()];
    const [first, second] = [await post(path, body, key), await post(path, body, key)];
    expect({ status: first.status, text: first.text }).toMatchObject({ status: 200 });
    expect({ status: second.status, text: second.text }).toEqual({ status: 200, text: first.text });
    expect([first, second].map(({ headers }) => headers['idempotency-replayed'])).toEqual([undefined, 'true']);
    expect(second.headers['cache-control']).toBe(first.headers['cache-control']);
    expect((await count()) - before).toBe(1);
  });

  it('asked twenty times at once is done once', async () => {
    const [key, body, before] = [randomUUID(), newBody(), await count()];
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(path, body, key)));
    const good = answers.filter(({ status }) => status === 200);
    expect(good.length).toBeGreaterThan(0);
    expect(new Set(good.map(({ text }) => text)).size).toBe(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expectRefusal({ ...answer, body: answer.text }, 409);
      expect(answer.headers['retry-after']).toBe('1');
    }
    expect((await post(path, body, key)).text).toBe(good[0]!.text);
    expect((await count()) - before).toBe(1);
  });

  it('refuses another body, and the same one from another key of the organization', async () => {
    const [key, body, before] = [randomUUID(), newBody(), await count()];
    await post(path, body, key);
    const others = [await post(path, newBody(), key), await post(path, body, key, colleague)];
    for (const answer of others) expectRefusal({ ...answer, body: answer.text }, 422);
    expect((await count()) - before).toBe(1);
  });

  it('is a key of one organization', async () => {
    const [key, body] = [randomUUID(), newBody()];
    const ours = await post(path, body, key);
    const theirs = await post(path, body, key, stranger);
    expect(theirs.status).toBe(200);
    expect(theirs.body.data.id).not.toBe(ours.body.data.id);
  });

  it('is free again after a refusal, for what was corrected', async () => {
    const key = randomUUID();
    expectRefusal(await post(path, { ...newBody(), workspace_id: randomUUID() }, key), 400);
    expect((await post(path, newBody(), key)).status).toBe(200);
  });

  it.each([
    ['B41 that is empty', ''],
    ['B41 of 256 characters', 'k'.repeat(256)],
    ['that is not ASCII', 'schl\u00fcssel'],
  ])('refuses a key %s, and does nothing', async (_what, key) => {
    const before = await count();
    const answer = await post(path, newBody(), key);
    expectRefusal({ ...answer, body: answer.text }, 400);
    expect(await count()).toBe(before);
  });

  it('without a key does twice what is asked for twice', async () => {
    const [body, before] = [newBody(), await count()];
    await post(path, body, undefined);
    await post(path, body, undefined);
    expect((await count()) - before).toBe(2);
  });
});

describe('what is kept of them', () => {
  it('is neither a provider key, nor a code, nor a key of the caller', async () => {
    const { body } = await post('/auth/keys/code', { callback_url: CALLBACK }, 'a key to look for');
    await post('/byok', { provider: 'openai', key: newKey() }, 'a key to look for');
    const rows = await installation.database.rows<{ row: string }>({
      sql: 'SELECT k::text AS row FROM idempotency_keys AS k',
    });
    expect(rows.length).toBeGreaterThan(2);
    const secrets = [CANARY, body.data.id, 'a key to look for', installation.seed.managementKey];
    for (const { row } of rows) {
      for (const secret of secrets) {
        expect(row).not.toContain(secret);
        expect(row).not.toContain(Buffer.from(secret).toString('hex'));
      }
    }
  });
});
