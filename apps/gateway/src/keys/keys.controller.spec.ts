import type { CallHandler } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  CreateKey,
  DeleteKey,
  GetKey,
  hashApiKey,
  labelApiKey,
  ListKeys,
  readApiKeyKind,
  RotateKey,
  UpdateKey,
  type CallContract,
  type CreateKeyRequest,
  type KeyRecord,
  type Principal,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { aCatalogue, aModel } from '@libs/inference/testing';
import type { KeyLimit, Tenant } from '@libs/persistence';
import { AppExceptionFilter, MessageBus, validateInstance } from '@libs/platform';
import { AuditInterceptor } from '../auth/audit.interceptor';
import { IdempotencyInterceptor } from '../idempotency/idempotency.interceptor';
import { CurrentKeyController } from './current-key.controller';
import { PolicyNames } from '../policies/policy-names';
import { KeyUsage, NOTHING_SPENT, type KeyUsageFigures } from './key-usage';
import { KeysController } from './keys.controller';
import { KeysService } from './keys.service';

const ORGANIZATION = '7c1f9c1e-0000-4000-8000-000000000001';
const WORKSPACE = '7c1f9c1e-0000-4000-8000-000000000002';
const HASH = 'ab'.repeat(32);

const record: KeyRecord = {
  hash: HASH,
  id: 'id',
  organizationId: ORGANIZATION,
  workspaceId: WORKSPACE,
  kind: 'api',
  name: 'a key',
  label: 'sk-sluice-v1-abc...xyz',
  limitUsd: '10.5',
  limitReset: 'weekly',
  includeByokInLimit: true,
  disabled: false,
  expiresAt: null,
  creatorUserId: null,
  policy: { zdr: true },
  createdAt: '2026-01-02T03:04:05.000Z',
  updatedAt: null,
};

const figures: KeyUsageFigures = {
  ...NOTHING_SPENT,
  totalUsd: '100',
  weeklyUsd: '0.1',
  byokTotalUsd: '7',
  byokWeeklyUsd: '0.2',
};

/** The auth app as the controllers see it: validates as the real bus does, knows one key. */
class AuthBus extends MessageBus {
  readonly asked: { name: string; request: Record<string, unknown> }[] = [];

  override async call<Q extends object, R extends object>(contract: CallContract<Q, R>, request: Q): Promise<R> {
    const wire = JSON.parse(JSON.stringify(request)) as Record<string, unknown>;
    validateInstance(contract.request, wire);
    this.asked.push({ name: contract.name, request: wire });
    return this.answer(contract.name, wire) as R;
  }

  override send(): Promise<void> {
    throw new Error('nothing is sent');
  }

  private answer(name: string, request: Record<string, unknown>): object {
    if (name === CreateKey.name) return { ...record, ...request };
    if (name === ListKeys.name) return { keys: [record, { ...record, hash: 'cd'.repeat(32) }], totalCount: 2 };
    if (request['hash'] !== HASH) throw new AppError('not_found', 'No such key');
    return name === DeleteKey.name ? { deleted: true } : record;
  }
}

class FakeUsage extends KeyUsage {
  readonly asked: (readonly string[])[] = [];
  readonly limits: (KeyLimit | undefined)[] = [];

  override async usageOf(_tenant: Tenant, keyHashes: readonly string[]): Promise<ReadonlyMap<string, KeyUsageFigures>> {
    this.asked.push(keyHashes);
    return new Map([[HASH, figures]]);
  }

  override async lastUsesOf(): Promise<ReadonlyMap<string, Date>> {
    return new Map([[HASH, new Date('2026-02-03T04:05:06Z')]]);
  }

  override async leftOf(_tenant: Tenant, limits: ReadonlyMap<string, KeyLimit>): Promise<ReadonlyMap<string, string>> {
    this.limits.push(limits.get(HASH));
    return new Map([...limits].map(([hash, { amountUsd }]) => [hash, hash === HASH ? '10.2' : amountUsd]));
  }
}

const caller: Principal = {
  keyHash: HASH,
  keyId: 'id',
  kind: 'management',
  organizationId: ORGANIZATION,
  workspaceId: null,
  name: 'caller',
  limitUsd: null,
  limitReset: null,
  includeByokInLimit: false,
  expiresAt: null,
};

const passesOn = { intercept: (_context: unknown, next: CallHandler) => next.handle() };

describe(KeysController.name, () => {
  let app: NestFastifyApplication;
  let bus: AuthBus;
  let usage: FakeUsage;

  beforeEach(async () => {
    bus = new AuthBus();
    usage = new FakeUsage();
    const module = await Test.createTestingModule({
      controllers: [KeysController, CurrentKeyController],
      providers: [
        {
          provide: KeysService,
          useValue: new KeysService(bus, usage, 'sluice', new PolicyNames(() => aCatalogue(aModel()))),
        },
      ],
    })
      .overrideInterceptor(AuditInterceptor)
      .useValue(passesOn)
      .overrideInterceptor(IdempotencyInterceptor)
      .useValue(passesOn)
      .compile();
    app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
    app.useGlobalFilters(new AppExceptionFilter({ log: () => {}, error: () => {}, warn: () => {} }));
    const fastify = app.getHttpAdapter().getInstance();
    fastify.addHook('onRequest', async (request) => void Object.assign(request, { principal: caller }));
    await app.init();
    await fastify.ready();
  });

  afterEach(() => app.close());

  async function ask(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object | string) {
    const headers = payload === undefined ? {} : { 'content-type': 'application/json' };
    const response = await app.inject({ method, url, payload, headers });
    return { status: response.statusCode, body: response.json(), headers: response.headers };
  }

  it('creates a key, shows it once, and sends only its hash and label', async () => {
    const body = {
      name: 'a key',
      limit: 2.5,
      limit_reset: 'daily',
      workspace_id: WORKSPACE,
      expires_at: '2999-01-01T00:00:00Z',
    };
    const answer = await ask('POST', '/keys', body);
    expect(answer.status).toBe(201);
    expect(answer.headers['cache-control']).toBe('no-store');
    const { key } = answer.body;
    expect(readApiKeyKind(key)).toBe('api');
    expect(answer.body.data).toMatchObject({
      hash: hashApiKey(key),
      name: 'a key',
      limit: 2.5,
      limit_remaining: 2.5,
      usage: 0,
    });
    const request = bus.asked[0]?.request as unknown as CreateKeyRequest;
    expect(request).toEqual({
      organizationId: ORGANIZATION,
      workspaceId: WORKSPACE,
      kind: 'api',
      hash: hashApiKey(key),
      label: answer.body.data.label,
      name: 'a key',
      limitUsd: '2.5',
      limitReset: 'daily',
      expiresAt: '2999-01-01T00:00:00Z',
    });
    expect(JSON.stringify(bus.asked)).not.toContain(key);
  });

  it('takes nothing of a creation that only the service sets', async () => {
    const foreign = { hash: 'x', label: 'x', usage: 5 };
    expect((await ask('POST', '/keys', { name: 'a key', ...foreign })).status).toBe(201);
    expect(bus.asked[0]?.request).toMatchObject({ organizationId: ORGANIZATION, kind: 'api' });
    for (const value of ['x', 5]) expect(Object.values(bus.asked[0]!.request)).not.toContain(value);
  });

  it('takes what only the service or creation sets in a change with its present value only, and does nothing with it', async () => {
    const { data } = (await ask('GET', `/keys/${HASH}`)).body as { data: Record<string, unknown> };
    bus.asked.length = 0;
    expect((await ask('PATCH', `/keys/${HASH}`, { ...data, usage: 5, disabled: true })).status).toBe(200);
    expect(bus.asked.at(-1)?.request).toMatchObject({ organizationId: ORGANIZATION, hash: HASH, disabled: true });
    expect(Object.keys(bus.asked.at(-1)!.request)).not.toContain('label');
    for (const param of ['label', 'workspace_id', 'creator_user_id', 'expires_at']) {
      const { status, body } = await ask('PATCH', `/keys/${HASH}`, { ...data, [param]: 'x' });
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: { metadata: { param } } });
    }
  });

  it.each([
    ['kind', 'management'],
    ['organizationId', 'x'],
    ['organization_id', 'x'],
  ])('refuses %s in a change', async (name, value) => {
    const { status, body } = await ask('PATCH', `/keys/${HASH}`, { [name]: value, disabled: true });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { metadata: { param: name } } });
    expect(bus.asked).toEqual([]);
  });

  const canary = 'canary-7f';

  it.each([
    ['no name', {}, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a blank name', { name: '  ' }, 'name'],
    ['a null name', { name: null }, 'name'],
    ['a number for a name', { name: 5 }, 'name'],
    ['a long name', { name: canary.repeat(40) }, 'name'],
    ['a NUL in a name', { name: `${canary}\u0000` }, 'name'],
    ['an escape sequence in a name', { name: `${canary}\u001b[2J` }, 'name'],
    ['half a surrogate pair in a name', { name: `${canary}\ud800` }, 'name'],
    ['a negative limit', { name: 'n', limit: -1 }, 'limit'],
    ['a text for a limit', { name: 'n', limit: canary }, 'limit'],
    ['a limit in digits as text', { name: 'n', limit: '10' }, 'limit'],
    ['a limit beyond reason', { name: 'n', limit: 1e12 }, 'limit'],
    ['a limit finer than money', { name: 'n', limit: 1e-15 }, 'limit'],
    ['a list for a limit', { name: 'n', limit: [1] }, 'limit'],
    ['an unknown reset', { name: 'n', limit_reset: canary }, 'limit_reset'],
    ['an expiry without seconds', { name: 'n', expires_at: '2999-01-01T00:00Z' }, 'expires_at'],
    ['an expiry with an offset', { name: 'n', expires_at: '2999-01-01T00:00:00+00:00' }, 'expires_at'],
    ['an expiry that no calendar has', { name: 'n', expires_at: '2999-02-30T00:00:00Z' }, 'expires_at'],
    ['a number for an expiry', { name: 'n', expires_at: 32_472_144_000 }, 'expires_at'],
    ['a text for a switch', { name: 'n', include_byok_in_limit: 'true' }, 'include_byok_in_limit'],
    ['a workspace that is no id', { name: 'n', workspace_id: canary }, 'workspace_id'],
    ['a null workspace', { name: 'n', workspace_id: null }, 'workspace_id'],
  ])('refuses %s by name and without repeating it', async (_what, body, member) => {
    const answer = await ask('POST', '/keys', body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 400, metadata: { param: member } } } });
    expect(answer.body.error.message).toContain(member);
    expect(JSON.stringify(answer.body)).not.toContain(canary);
    expect(bus.asked).toEqual([]);
  });

  it('refuses a limit that JSON can write and no number can hold', async () => {
    expect((await ask('POST', '/keys', '{"name":"n","limit":1e999}')).status).toBe(400);
    expect((await ask('POST', '/keys', '{"name":"n","limit":-0}')).status).toBe(400);
  });

  it.each(['[]', 'null', '"x"', '1', 'true'])('refuses %s for a body', async (body) => {
    expect((await ask('POST', '/keys', body)).status).toBe(400);
    expect((await ask('PATCH', `/keys/${HASH}`, body)).status).toBe(400);
    expect(bus.asked).toEqual([]);
  });

  it('lists API keys with what they spent, asking the books once', async () => {
    const answer = await ask('GET', `/keys?offset=20&include_disabled=true&workspace_id=${WORKSPACE}`);
    expect(answer.status).toBe(200);
    expect(answer.body.data).toMatchObject([{ usage: 100 }, { usage: 0, limit_remaining: 10.5 }]);
    expect(bus.asked[0]?.request).toEqual({
      organizationId: ORGANIZATION,
      workspaceId: WORKSPACE,
      kind: 'api',
      includeDisabled: true,
      offset: 20,
      limit: 100,
    });
    expect(usage.asked).toEqual([[HASH, 'cd'.repeat(32)]]);
  });

  it.each([
    'offset=-1',
    'offset=1.5',
    'offset=1e3',
    'offset=',
    'offset=10000000',
    'offset=1&offset=2',
    'limit=0',
    'limit=101',
    'limit=%00',
    'include_disabled=yes',
    'workspace_id=x',
  ])('refuses the query %s', async (query) => {
    expect((await ask('GET', `/keys?${query}`)).status).toBe(400);
    expect(bus.asked).toEqual([]);
  });

  it('rotates a key: shows the new secret once and sends only its hash and label to the auth app', async () => {
    const answer = await ask('POST', `/keys/${HASH}/rotate`, { overlap_seconds: 60 });
    const { key, data } = answer.body as { key: string; data: { hash: string } };
    expect([answer.status, readApiKeyKind(key), data.hash]).toEqual([201, 'api', HASH]);
    expect(bus.asked).toEqual([
      {
        name: RotateKey.name,
        request: {
          organizationId: ORGANIZATION,
          hash: HASH,
          kind: 'api',
          secretHash: hashApiKey(key),
          label: labelApiKey(key),
          overlapSeconds: 60,
        },
      },
    ]);
  });

  it('answers a key in the shape of the interface', async () => {
    const answer = await ask('GET', `/keys/${HASH}`);
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toEqual({
      data: {
        hash: HASH,
        name: 'a key',
        label: 'sk-sluice-v1-abc...xyz',
        limit: 10.5,
        limit_remaining: 10.2,
        limit_reset: 'weekly',
        include_byok_in_limit: true,
        usage: 100,
        usage_daily: 0,
        usage_weekly: 0.1,
        usage_monthly: 0,
        byok_usage: 7,
        byok_usage_daily: 0,
        byok_usage_weekly: 0.2,
        byok_usage_monthly: 0,
        expires_at: null,
        creator_user_id: null,
        disabled: false,
        workspace_id: WORKSPACE,
        external_user: null,
        policy: { zdr: true },
        created_at: '2026-01-02T03:04:05.000Z',
        updated_at: null,
        previous_key_expires_at: null,
        last_used_at: '2026-02-03T04:05:06.000Z',
      },
    });
  });

  it('sends a policy that names what there is, and null to take it away', async () => {
    const policy = { allowed_providers: ['acme'], allowed_models: ['acme/large'], data_collection: 'deny' };
    await ask('POST', '/keys', { name: 'n', policy });
    await ask('PATCH', `/keys/${HASH}`, { policy: null });
    expect(bus.asked.map(({ request }) => request['policy'])).toEqual([policy, null]);
  });

  it.each([
    [{ allowed_providers: [] }, 'policy'],
    [{ allow_providers: ['acme-secret'] }, 'policy.allow_providers'],
    ['deny', 'policy'],
    [{ ignored_providers: ['acme', 'nobody-at-all'] }, 'policy.ignored_providers[1]'],
    [{ allowed_models: ['acme/unheard-of'] }, 'policy.allowed_models[0]'],
  ])('refuses the policy %j and names the place', async (policy, param) => {
    for (const [method, url] of [
      ['POST', '/keys'],
      ['PATCH', `/keys/${HASH}`],
    ] as const) {
      const answer = await ask(method, url, { name: 'n', policy });
      expect(answer).toMatchObject({ status: 400, body: { error: { metadata: { param } } } });
      expect(JSON.stringify(answer.body)).not.toMatch(/nobody-at-all|unheard-of|acme-secret/);
    }
    expect(bus.asked).toEqual([]);
  });

  it('asks the books for what is left of the limit as it stands', async () => {
    await ask('GET', `/keys/${HASH}`);
    expect(usage.limits).toEqual([{ amountUsd: '10.5', reset: 'weekly', includesByok: true }]);
  });

  it('tells a limit taken away from a limit left alone', async () => {
    await ask('PATCH', `/keys/${HASH}`, { limit: null, limit_reset: null });
    expect(bus.asked[0]?.request).toEqual({
      organizationId: ORGANIZATION,
      hash: HASH,
      kind: 'api',
      limitUsd: null,
      limitReset: null,
    });
    await ask('PATCH', `/keys/${HASH}`, { name: 'renamed', disabled: false });
    expect(bus.asked[1]?.request).toEqual({
      organizationId: ORGANIZATION,
      hash: HASH,
      kind: 'api',
      name: 'renamed',
      disabled: false,
    });
  });

  it.each([{ name: null }, { name: '' }, { disabled: null }, { disabled: 'true' }, { limit: '1' }])(
    'refuses to change a key to %j',
    async (body) => {
      expect((await ask('PATCH', `/keys/${HASH}`, body)).status).toBe(400);
      expect(bus.asked).toEqual([]);
    },
  );

  it('deletes a key', async () => {
    expect(await ask('DELETE', `/keys/${HASH}`)).toMatchObject({ status: 200, body: { deleted: true } });
  });

  it.each([
    'cd'.repeat(32),
    HASH.toUpperCase(),
    `${HASH}%20`,
    `${HASH};a=b`,
    '%00',
    '..%2f..%2fetc%2fpasswd',
    "'%20OR%201=1--",
    '*',
    '%25',
    'undefined',
    '[object%20Object]',
  ])('answers for %s as for an unknown key', async (hash) => {
    const unknown = { error: { code: 404, message: 'No such key', metadata: { error_type: 'not_found' } } };
    for (const method of ['GET', 'DELETE'] as const) {
      expect(await ask(method, `/keys/${hash}`)).toMatchObject({ status: 404, body: unknown });
    }
    expect(await ask('PATCH', `/keys/${hash}`, { disabled: true })).toMatchObject({ status: 404, body: unknown });
    const asked = new Set(bus.asked.map(({ name }) => name));
    expect([...asked]).toEqual(hash === 'cd'.repeat(32) ? [GetKey.name, DeleteKey.name, UpdateKey.name] : []);
  });

  it('answers a caller about its own key, whatever its kind', async () => {
    const answer = await ask('GET', '/key');
    expect(answer.status).toBe(200);
    expect(bus.asked[0]).toEqual({ name: GetKey.name, request: { organizationId: ORGANIZATION, hash: HASH } });
    expect(answer.body.data).toMatchObject({
      label: 'sk-sluice-v1-abc...xyz',
      limit: 10.5,
      limit_remaining: 10.2,
      usage: 100,
      is_free_tier: false,
      is_management_key: false,
      is_provisioning_key: false,
      organization_id: ORGANIZATION,
      workspace_id: WORKSPACE,
      allowed_data_regions: ['global'],
      free_model_daily_requests: { limit: 0, used: 0, remaining: 0 },
      rate_limit: { requests: -1, interval: '10s' },
    });
  });
});
