import { hashApiKey, hashOfSecret } from '@libs/contracts';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import type { ApiClient } from '../support/client';
import { catalogueOf } from '../support/catalogue';
import type { Installation } from '../support/installation';
import { Operator } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { expectRefusal } from './refusals';

interface Entry {
  readonly id: string;
  readonly key_id: string | null;
  readonly action: string;
  readonly target: string | null;
  readonly request_id: string;
  readonly client_request_id: string | null;
  readonly status: number | null;
}

interface Page {
  readonly data: readonly Entry[];
  readonly next_cursor: string | null;
}

describe('GET /audit', () => {
  let installation: Installation;
  let manager: ApiClient;
  let inference: ApiClient;
  let stranger: ApiClient;

  beforeAll(async () => {
    const pricing = { prompt: '0', completion: '0' };
    installation = await shareInstallation({
      catalogue: catalogueOf([{ slug: 'audit/none', provider: 'none', baseUrl: 'http://127.0.0.1:9', pricing }]),
      apps: ['auth', 'gateway'],
    });
    manager = installation.client(installation.seed.managementKey);
    inference = installation.client(installation.seed.apiKey);
    stranger = installation.client((await new Operator(installation).createTenant('Stranger', '5')).managementKey);
  });

  afterAll(async () => {
    await Promise.all([manager, inference, stranger].map((each) => each?.close()));
    await giveBack(installation);
  });

  it('gives each call an id of its own beside the one that its caller chose', async () => {
    const target = 'e'.repeat(64);
    const chosen = { 'x-request-id': 'mine-again' };
    for (let call = 0; call < 2; call += 1) await manager.request('DELETE', `/keys/${target}`, undefined, chosen);
    const { data } = await entries(`?target=${target}`);
    expect(data.map((entry) => entry.client_request_id)).toEqual(['mine-again', 'mine-again']);
    const ids = data.map((entry) => entry.request_id);
    expect(new Set([...ids, 'mine-again']).size).toBe(3);
    await manager.request('DELETE', `/keys/${'d'.repeat(64)}`);
    const [plain] = (await entries(`?target=${'d'.repeat(64)}`)).data;
    expect(plain).toMatchObject({ client_request_id: null, request_id: expect.stringMatching(/^req-/) });
  });

  async function entries(query = '', client = manager): Promise<Page> {
    const { status, body, text } = await client.request<Page>('GET', `/audit${query}`);
    expect([status, text]).toEqual([200, expect.any(String)]);
    return body;
  }

  it('shows what was done and refused, page by page, to its own organization alone', async () => {
    const hash = 'f'.repeat(64);
    const made = await manager.request<{ key: string }>('POST', '/keys', { name: 'audited' });
    await manager.request('DELETE', `/keys/${hash}`);
    const answer = await inference.request('GET', `/keys/${hash}`);
    expectRefusal({ ...answer, body: answer.text }, 403);
    const refused = await eventually('the refused call is in the trail', 20_000, async () => {
      const { data } = await entries(`?target=${hash}`);
      return data.length === 2 && data[0]!.status !== null ? data : delay(50).then(() => undefined);
    });
    expect(refused.map(({ action, status }) => [action, status])).toEqual([
      ['GET /api/v1/keys/:hash', 403],
      ['DELETE /api/v1/keys/:hash', 404],
    ]);
    expect(refused[0]!.key_id).not.toBe(refused[1]!.key_id);
    const first = await entries('?limit=1');
    expect(first.data).toMatchObject([{ action: 'GET /api/v1/audit', status: null }]);
    const second = await entries(`?limit=1&cursor=${first.next_cursor}`);
    expect(BigInt(second.data[0]!.id)).toBeLessThan(BigInt(first.data[0]!.id));
    const { data } = await entries(`?action=${encodeURIComponent('POST /api/v1/keys')}`);
    // Who revokes what a stolen management key made finds it here.
    expect(data).toMatchObject([{ status: 201, target: hashApiKey(made.body.key) }]);
    const all = JSON.stringify([await entries('?limit=100')]);
    expect(all).not.toContain(made.body.key);
    expect(all).not.toContain(hashApiKey(installation.seed.managementKey));
    const foreign = await entries('?limit=100', stranger);
    expect(foreign.data.map(({ action }) => action)).toEqual(
      foreign.data.map(({ action }) => (action.startsWith('sluice ') ? action : 'GET /api/v1/audit')),
    );
    expect((await entries(`?cursor=${first.next_cursor}`, stranger)).data).toEqual([]);
  });

  it('names what was created', async () => {
    const key = await manager.request<{ data: { hash: string } }>('POST', '/keys', { name: 'made' });
    const workspace = await manager.request<{ data: { id: string } }>('POST', '/workspaces', { name: 'M', slug: 'm' });
    const issuer = { name: 'i', issuer_url: 'https://issuer.example' };
    const { body } = await manager.request<{ data: { id: string } }>('POST', '/workload-identity/issuers', issuer);
    const callback = { callback_url: 'https://app.example/' };
    const code = await manager.request<{ data: { id: string } }>('POST', '/auth/keys/code', callback);
    const { data } = await entries('?limit=5');
    // The entry of a stolen code that is tried has this target too.
    const codeHash = hashOfSecret(code.body.data.id);
    expect(data.map(({ action, target }) => [action, target])).toEqual([
      ['GET /api/v1/audit', null],
      ['POST /api/v1/auth/keys/code', codeHash],
      ['POST /api/v1/workload-identity/issuers', body.data.id],
      ['POST /api/v1/workspaces', workspace.body.data.id],
      ['POST /api/v1/keys', key.body.data.hash],
    ]);
    expect(JSON.stringify(data)).not.toContain(code.body.data.id);
  });

  it('shows that a management key was tried for inference', async () => {
    expect((await manager.request('POST', '/chat/completions', {})).status).toBe(403);
    const action = encodeURIComponent('POST /api/v1/chat/completions');
    await eventually('the refused call is in the trail', 20_000, async () => {
      const { data } = await entries(`?action=${action}`);
      return data[0]?.status === 403 ? true : delay(50).then(() => undefined);
    });
  });

  it.each([
    ['an array', '/keys', '[]', 400],
    ['a body that is no JSON', '/workspaces', '{', 400],
    [
      'a body that is nested too deeply',
      '/workload-identity/issuers',
      `{"a":${'['.repeat(100)}${']'.repeat(100)}}`,
      400,
    ],
    ['a body that is too long', '/workload-identity/policies', `{"a":"${'x'.repeat(5_000_000)}"}`, 413],
    ['a body where there is none', '/workspaces/:id/webhook-secret', '{"x":1}', 400],
  ])('shows that %s was refused, and nothing of it', async (_what, route, body, status) => {
    const path = route.replace(':id', '00000000-0000-0000-0000-000000000000');
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${installation.seed.managementKey}`, 'content-type': 'application/json' },
    });
    expect(response.status).toBe(status);
    const action = `POST /api/v1${route}`;
    const entry = await eventually('the refused body is in the trail', 20_000, async () => {
      const { data } = await entries(`?action=${encodeURIComponent(action)}`);
      return data.find((one) => one.status === status) ?? delay(50).then(() => undefined);
    });
    expect(entry).toMatchObject({ action, status });
  });

  it.each(['from=yesterday', 'to=2026-02-30T00:00:00Z', 'key_id=x', 'cursor=-1', 'limit=101', 'action='])(
    'refuses %s and names it',
    async (query) => {
      const answer = await manager.request('GET', `/audit?${query}`);
      expectRefusal({ ...answer, body: answer.text }, 400);
      expect(answer.text).toContain(query.split('=')[0]);
    },
  );
});
