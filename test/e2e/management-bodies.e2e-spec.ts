import { hashApiKey } from '@libs/contracts';
import { FakeUpstream } from '@libs/inference/testing';
import { catalogueOf } from '../support/catalogue';
import { ApiClient } from '../support/client';
import type { Installation } from '../support/installation';
import { Operator, type Tenant } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { expectRefusal } from './refusals';

type Body = Readonly<Record<string, unknown>>;

let upstream: FakeUpstream;
let installation: Installation;
let tenant: Tenant;
let manager: ApiClient;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  const catalogue = catalogueOf([
    {
      slug: 'tests/chat',
      provider: 'openai',
      baseUrl: `${upstream.origin}/v1`,
      pricing: { prompt: '0', completion: '0' },
    },
  ]);
  installation = await shareInstallation({ catalogue, apps: ['auth', 'credentials', 'gateway'] });
  tenant = await new Operator(installation).createTenant('Bodies', '1');
  manager = new ApiClient(installation.baseUrl, tenant.managementKey);
}, 240_000);

afterAll(async () => {
  await manager?.close();
  await giveBack(installation);
  await upstream?.close();
}, 240_000);

const policyOf = (issuerId: string): Body => ({
  issuer_id: issuerId,
  name: 'ci',
  subject: 'repo:acme',
  audience: 'sluice',
  api_key_hash: hashApiKey(tenant.apiKey),
});

const CREATIONS: readonly (readonly [string, () => Body])[] = [
  ['/keys', () => ({ name: 'app' })],
  ['/workspaces', () => ({ name: 'Team', slug: 'team' })],
  ['/workload-identity/issuers', () => ({ name: 'ci', issuer_url: 'https://issuer.example' })],
  ['/byok', () => ({ provider: 'openai', key: 'provider-key-of-ours' })],
];

const SET_ONCE: Readonly<Record<string, readonly string[]>> = {
  '/keys': ['creator_user_id', 'expires_at', 'workspace_id'],
  '/byok': ['provider', 'workspace_id'],
};

async function created(path: string, body: Body): Promise<Body> {
  const answer = await manager.request<{ data: Body }>('POST', path, body);
  expect([200, 201]).toContain(answer.status);
  return answer.body.data;
}

const pathOf = (path: string, row: Body): string => `${path}/${String(row['hash'] ?? row['id'])}`;

/** What `GET` of one resource answers. */
async function shown(path: string): Promise<Body> {
  const answer = await manager.request<{ data: Body }>('GET', path);
  expect(answer.status).toBe(200);
  return answer.body.data;
}

describe('codes for keys', () => {
  it.each([
    ['/auth/keys/code', { callback_url: 'https://app.example/back', limit_usd: 5 }, 'limit_usd'],
    ['/auth/keys', { code: 'any', code_verfier: 'v' }, 'code_verfier'],
  ])('are refused at %s for a member of no meaning', async (path, body, name) => {
    const answer = await manager.request('POST', path, body);
    expectRefusal(answer, 400);
    expect(JSON.stringify(answer.body)).toContain(`${name} is not a member of this object`);
  });
});

describe.each(CREATIONS)('bodies of %s', (path, body) => {
  it('are refused for a member of no meaning, by its name, and nothing is made', async () => {
    const before = await manager.request<{ data: unknown[] }>('GET', path);
    const answer = await manager.request('POST', path, { ...body(), disbled: true });
    expectRefusal(answer, 400);
    expect(JSON.stringify(answer.body)).toContain('disbled is not a member of this object');
    expect((await manager.request<{ data: unknown[] }>('GET', path)).body.data).toHaveLength(before.body.data.length);
  });

  it('are refused for a name with a blank or a foreign letter, which the answer shows escaped', async () => {
    const answer = await manager.request('POST', path, { ...body(), 'dis\u0430bled ': true });
    expectRefusal(answer, 400);
    expect((answer.body as { error: { message: string } }).error.message).toBe(
      String.raw`["dis\u0430bled "] is not a member of this object`,
    );
  });

  it('may be an answer as it is, and change nothing', async () => {
    const at = pathOf(path, await created(path, body()));
    const row = await shown(at);
    const { status, body: answered } = await manager.request<{ data: Body }>('PATCH', at, row);
    expect({ status, answered }).toMatchObject({ status: 200 });
    const { updated_at: _before, ...before } = row;
    expect(answered.data).toMatchObject(before);
    expectRefusal(await manager.request('PATCH', at, { ...row, nmae: 'x' }), 400);
  });

  it('are refused for another value of what only creation sets, by its name', async () => {
    const row = ((await manager.request<{ data: Body[] }>('GET', path)).body.data as Body[])[0]!;
    const once = Object.keys(row).filter((name) => (SET_ONCE[path] ?? []).includes(name));
    expect(once).toHaveLength(SET_ONCE[path]?.length ?? 0);
    for (const name of once) {
      const answer = await manager.request('PATCH', pathOf(path, row), { ...row, [name]: 'other' });
      expectRefusal(answer, 400);
      expect(JSON.stringify(answer.body)).toContain(`"param":"${name}"`);
    }
  });

  it('are refused for another value of what the service itself sets, by its name', async () => {
    const row = ((await manager.request<{ data: Body[] }>('GET', path)).body.data as Body[])[0]!;
    for (const other of [{ created_at: '2020-01-01T00:00:00.000Z' }, { [row['hash'] ? 'hash' : 'id']: 'x' }]) {
      const answer = await manager.request('PATCH', pathOf(path, row), { ...row, ...other });
      expectRefusal(answer, 400);
      expect(JSON.stringify(answer.body)).toContain(`"param":"${Object.keys(other)[0]}"`);
    }
  });
});

describe('bodies of policies', () => {
  it('are refused for misspelled checks, which would check nothing', async () => {
    const issuer = await created('/workload-identity/issuers', { name: 'second', issuer_url: 'https://two.example' });
    const policy = policyOf(String(issuer['id']));
    const misspelled = { ...policy, cheks: [{ kind: 'scopes', value: 'deploy' }] };
    const answer = await manager.request('POST', '/workload-identity/policies', misspelled);
    expectRefusal(answer, 400);
    expect(JSON.stringify(answer.body)).toContain('"param":"cheks"');
    const { id } = await created('/workload-identity/policies', policy);
    const at = `/workload-identity/policies/${String(id)}`;
    expect((await manager.request('PATCH', at, await shown(at))).status).toBe(200);
  });

  it.each([
    ['keys', { name: 'app', policy: { allowed_provider: ['openai'] } }, 'policy.allowed_provider'],
    ['workspaces', { name: 'Team', slug: 'other', policy: { zdr: true, regions: ['europe'] } }, 'policy.regions'],
  ])('of %s are refused for misspelled rules, by their name', async (path, body, member) => {
    const answer = await manager.request('POST', `/${path}`, body);
    expectRefusal(answer, 400);
    expect(JSON.stringify(answer.body)).toContain(`"param":"${member}"`);
  });

  it('are refused for members of no meaning inside of a check', async () => {
    const issuer = await created('/workload-identity/issuers', { name: 'third', issuer_url: 'https://three.example' });
    const checks = [{ kind: 'scopes', value: 'deploy', negate: true }];
    const policy = { ...policyOf(String(issuer['id'])), checks };
    const answer = await manager.request('POST', '/workload-identity/policies', policy);
    expectRefusal(answer, 400);
    expect(JSON.stringify(answer.body)).toContain('"param":"checks[0].negate"');
  });
});

describe('answers that show a secret', () => {
  it('may be kept by no cache', async () => {
    const { body } = await manager.request<{ data: Body }>('POST', '/keys', { name: 'rotated' });
    const routes: [path: string, status: number, body?: Body][] = [
      ['/keys', 201, { name: 'shown' }],
      [`/keys/${String(body.data['hash'])}/rotate`, 201, {}],
      [`/workspaces/${tenant.workspaceId}/webhook-secret`, 200],
    ];
    for (const [path, expected, sent] of routes) {
      const { status, headers } = await manager.request('POST', path, sent);
      expect({ path, status, cache: headers['cache-control'] }).toEqual({ path, status: expected, cache: 'no-store' });
    }
  });
});

describe('bodies of budgets and members', () => {
  const at = (rest: string): string => `/workspaces/${tenant.workspaceId}/${rest}`;

  it('are refused for members of no meaning', async () => {
    const budget = { limit_usd: 25, limit: 2 };
    expectRefusal(await manager.request('PUT', at('budgets/daily'), budget), 400);
    expectRefusal(await manager.request('POST', at('members/add'), { user_ids: ['a'], role: 'admin' }), 400);
  });

  it('are refused for another interval, another workspace and a budget setting of workspaces', async () => {
    for (const more of [{ reset_interval: 'monthly' }, { workspace_id: 'x' }, { id: 'x' }]) {
      const answer = await manager.request('PUT', at('budgets/weekly'), {
        limit_usd: 5,
        reset_interval: 'weekly',
        ...more,
      });
      expectRefusal(answer, 400);
      expect(JSON.stringify(answer.body)).toContain(`"param":"${Object.keys(more)[0]}"`);
    }
    const settings = { include_byok_in_budgets: true };
    expectRefusal(await manager.request('PATCH', `/workspaces/${tenant.workspaceId}`, settings), 400);
  });

  it('may be sent back as they were answered', async () => {
    expect((await manager.request('PUT', at('budgets/daily'), { limit_usd: 25 })).status).toBe(200);
    const { status } = await manager.request('PUT', at('budgets/daily'), await shown(at('budgets/daily')));
    expect(status).toBe(200);
  });
});
