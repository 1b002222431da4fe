import type { CallHandler } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  BYOK_PROVIDERS,
  CreateCredential,
  DeleteCredential,
  GetIntakeKey,
  intakePurpose,
  ListCredentials,
  type CallContract,
  type CredentialRecord,
  type Principal,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { Catalogue } from '@libs/inference';
import { AppExceptionFilter, MessageBus, SealingKeyPair, validateInstance } from '@libs/platform';
import { AuditInterceptor } from '../auth/audit.interceptor';
import { IdempotencyInterceptor } from '../idempotency/idempotency.interceptor';
import { GatewayEnv } from '../gateway.env';
import { CredentialsController } from './credentials.controller';
import { CredentialsService } from './credentials.service';

const ORGANIZATION = '7c1f9c1e-0000-4000-8000-000000000001';
const WORKSPACE = '7c1f9c1e-0000-4000-8000-000000000002';
const ID = '7c1f9c1e-0000-4000-8000-00000000000c';
const KEY = 'sk-canary-0123456789abcdef';
const HASH = 'ab'.repeat(32);

const record: CredentialRecord = {
  id: ID,
  organizationId: ORGANIZATION,
  workspaceId: WORKSPACE,
  provider: 'openai',
  name: 'Ours',
  label: 'sk-...cdef',
  disabled: false,
  isByokOnly: true,
  isFallback: false,
  isRequired: false,
  allowedApiKeyHashes: null,
  allowedModels: ['openai/gpt-4o'],
  allowedUserIds: [],
  declaredRegion: null,
  declaredZdr: true,
  sortOrder: 3,
  createdAt: '2026-01-02T03:04:05.000Z',
};

const view = {
  id: ID,
  name: 'Ours',
  label: 'sk-...cdef',
  provider: 'openai',
  workspace_id: WORKSPACE,
  created_at: '2026-01-02T03:04:05.000Z',
  disabled: false,
  is_byok_only: true,
  is_fallback: false,
  is_required: false,
  allowed_api_key_hashes: null,
  allowed_models: ['openai/gpt-4o'],
  allowed_user_ids: [],
  declared_region: null,
  declared_zdr: true,
  sort_order: 3,
  last_used_at: '2026-02-03T04:05:06.000Z',
  last_error: null,
  warnings: [],
};

/** The credentials app as the controller sees it: validates as the real bus does, knows one credential. */
class VaultBus extends MessageBus {
  readonly asked: { name: string; request: Record<string, unknown> }[] = [];
  /** Has been asked for to seal to; the last one works. */
  readonly intake: SealingKeyPair[] = [];
  record = record;
  /** Refuses what was sealed to a key before this many. */
  rotations = 0;

  override async call<Q extends object, R extends object>(contract: CallContract<Q, R>, request: Q): Promise<R> {
    const wire = JSON.parse(JSON.stringify(request)) as Record<string, unknown>;
    validateInstance(contract.request, wire);
    if (contract.name === GetIntakeKey.name) {
      this.intake.push(SealingKeyPair.generate());
      return { keyId: `key-${this.intake.length}`, publicKey: this.intake.at(-1)!.publicKey } as R;
    }
    this.asked.push({ name: contract.name, request: wire });
    return this.answer(contract.name, wire) as R;
  }

  override send(): Promise<void> {
    throw new Error('nothing is sent');
  }

  private answer(name: string, request: Record<string, unknown>): object {
    if (this.rotations > 0 && 'sealedKey' in request) {
      this.rotations -= 1;
      throw new AppError('conflict', 'sealed to a key that is gone');
    }
    if (name === CreateCredential.name) return this.record;
    if (name === ListCredentials.name) return this.page(request as { offset: number; limit: number });
    if (String(request['id']).toLowerCase() !== ID) throw new AppError('not_found', 'No such credential');
    return name === DeleteCredential.name ? { deleted: true } : this.record;
  }

  /** Of five, at most two in one message. */
  private page({ offset, limit }: { offset: number; limit: number }): object {
    const all = [1, 2, 3, 4, 5].map((sortOrder) => ({ ...this.record, sortOrder }));
    return { credentials: all.slice(offset, offset + Math.min(2, limit)), totalCount: 5 };
  }
}

const AZURE = { slug: 'azure', protocol: 'azure', ownKeyHosts: ['*.ours.example'] };

const caller = { kind: 'management', organizationId: ORGANIZATION, workspaceId: null } as Principal;

const passesOn = { intercept: (_context: unknown, next: CallHandler) => next.handle() };

describe(CredentialsController.name, () => {
  let app: NestFastifyApplication;
  let bus: VaultBus;
  const env = { BYOK_CREATED_STATUS: 200 };

  beforeEach(async () => {
    bus = new VaultBus();
    env.BYOK_CREATED_STATUS = 200;
    const catalogue = {
      providers: () => [{ slug: 'house-brand' }, { slug: 'openai' }, AZURE],
      findModel: (name: string) => (/^(?:openai\/)?gpt-4o(?::batch)?$/.test(name) ? {} : null),
    } as unknown as Catalogue;
    const uses = { findUses: async () => new Map([[ID, new Date('2026-02-03T04:05:06Z')]]) };
    const module = await Test.createTestingModule({
      controllers: [CredentialsController],
      providers: [
        { provide: CredentialsService, useValue: new CredentialsService(bus, () => catalogue, uses) },
        { provide: GatewayEnv, useValue: env },
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
    return { status: response.statusCode, body: response.json() };
  }

  it('sends a key that only the credentials app can read, and answers in the shape of the interface', async () => {
    const body = {
      key: KEY,
      provider: 'openai',
      name: 'Ours',
      workspace_id: WORKSPACE,
      allowed_api_key_hashes: [HASH],
      allowed_models: [],
      allowed_user_ids: null,
      declared_region: 'global',
      declared_zdr: null,
      is_required: true,
    };
    expect(await ask('POST', '/byok', body)).toEqual({ status: 200, body: { data: { ...view, last_used_at: null } } });
    const { sealedKey, ...request } = bus.asked[0]!.request;
    expect(request).toEqual({
      organizationId: ORGANIZATION,
      workspaceId: WORKSPACE,
      provider: 'openai',
      name: 'Ours',
      allowedApiKeyHashes: [HASH],
      allowedModels: [],
      allowedUserIds: null,
      declaredRegion: 'global',
      declaredZdr: null,
      isRequired: true,
    });
    const opened = await bus.intake[0]!.open(sealedKey as string, intakePurpose(ORGANIZATION));
    expect(opened.reveal()).toBe(KEY);
    expect(JSON.stringify(bus.asked)).not.toMatch(/canary|c2stY2FuYXJ5/);
  });

  it('seals to the intake key it knows, and once more to the next when that is gone', async () => {
    for (let index = 0; index < 3; index += 1) await ask('POST', '/byok', { key: KEY, provider: 'openai' });
    expect(bus.intake).toHaveLength(1);
    bus.rotations = 1;
    expect((await ask('PATCH', `/byok/${ID}`, { key: KEY })).status).toBe(200);
    expect(bus.intake).toHaveLength(2);
    const { sealedKey } = bus.asked.at(-1)!.request;
    expect((await bus.intake[1]!.open(sealedKey as string, intakePurpose(ORGANIZATION))).reveal()).toBe(KEY);
    bus.rotations = 2;
    expect((await ask('POST', '/byok', { key: KEY, provider: 'openai' })).status).toBe(409);
  });

  it('takes every provider of the list, and those of the catalogue', async () => {
    for (const provider of [...BYOK_PROVIDERS, 'house-brand']) {
      expect((await ask('POST', '/byok', { key: KEY, provider })).status).toBe(200);
    }
  });

  it('K4: says of a provider that the catalogue lacks that no call uses the key, whatever shows the credential', async () => {
    bus.record = { ...record, provider: 'heygen' };
    const warnings = ['No call uses this key: the catalogue of this service has no provider heygen'];
    const answers = [
      await ask('POST', '/byok', { key: KEY, provider: 'heygen' }),
      await ask('GET', `/byok/${ID}`),
      await ask('PATCH', `/byok/${ID}`, { name: 'Another' }),
    ];
    for (const { body } of answers) expect(body).toMatchObject({ data: { provider: 'heygen', warnings } });
    expect((await ask('GET', '/byok?limit=1')).body.data).toMatchObject([{ warnings }]);
  });

  it('K6: answers with the status of a new credential that the operator wants', async () => {
    env.BYOK_CREATED_STATUS = 201;
    expect((await ask('POST', '/byok', { key: KEY, provider: 'openai' })).status).toBe(201);
    expect((await ask('POST', '/byok', { key: KEY, provider: 'unheard-of' })).status).toBe(400);
    expect((await ask('PATCH', `/byok/${ID}`, { key: KEY })).status).toBe(200);
  });

  it.each([
    ['https://mine.openai.azure.com/openai/v1', 200],
    ['https://mine.services.ai.azure.com', 200],
    ['https://mine.ours.example', 200],
    ['https://openai.azure.com.evil.example', 400],
    ['https://mine.openai.azure.com.evil.example', 400],
    ['https://evil-openai.azure.com', 400],
  ])('K1: sends a key of Azure to no host but those of Azure and of the operator: %s', async (endpoint_url, status) => {
    const key = JSON.stringify([{ endpoint_url, model_slug: 'a/b', model_id: 'x', api_key: KEY }]);
    for (const answer of [
      await ask('POST', '/byok', { key, provider: 'azure' }),
      await ask('PATCH', `/byok/${ID}`, { key }),
    ]) {
      expect(answer.status).toBe(status);
      expect(JSON.stringify(answer.body)).not.toMatch(/evil|canary/);
    }
  });

  it('takes names of 255 characters, however many units they have', async () => {
    const body = { key: KEY, provider: 'openai', name: '\u{1f600}'.repeat(255) };
    expect((await ask('POST', '/byok', body)).status).toBe(200);
    expect((await ask('POST', '/byok', { ...body, name: null })).status).toBe(200);
  });

  it('takes documents with line breaks, and the longest key', async () => {
    for (const key of [`{\n\t"a": "\u20ac"\r\n}`, '[1]', 'k'.repeat(16_384), `{${' '.repeat(16_382)}}`]) {
      expect((await ask('POST', '/byok', { key, provider: 'openai' })).status).toBe(200);
    }
  });

  it('takes nothing of a body that only the service sets', async () => {
    const foreign = { id: ID, label: 'x', sort_order: 0, created_at: 'x' };
    expect((await ask('POST', '/byok', { key: KEY, provider: 'openai', ...foreign })).status).toBe(200);
    expect(Object.keys(bus.asked[0]!.request).toSorted()).toEqual([
      'organizationId',
      'provider',
      'sealedKey',
      'workspaceId',
    ]);
    const { data } = (await ask('GET', `/byok/${ID}`)).body as { data: Record<string, unknown> };
    const { id, label, sort_order, created_at, provider, workspace_id } = data;
    const own = { id, label, sort_order, created_at, provider, workspace_id };
    expect((await ask('PATCH', `/byok/${ID}`, { ...own, disabled: true })).status).toBe(200);
    expect(bus.asked.at(-1)!.request).toEqual({ organizationId: ORGANIZATION, id: ID, disabled: true });
    const asked = bus.asked.filter(({ request }) => 'disabled' in request).length;
    const others = { id: 'x', label: 'x', sort_order: 77, created_at: 'x', provider: 'mistral', workspace_id: 'x' };
    for (const [name, value] of Object.entries(others)) {
      const { status, body } = await ask('PATCH', `/byok/${ID}`, { ...own, disabled: true, [name]: value });
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: { metadata: { param: name } } });
    }
    expect(bus.asked.filter(({ request }) => 'disabled' in request)).toHaveLength(asked);
  });

  it.each(['organizationId', 'sealedKey'])('refuses %s in a change', async (name) => {
    const { status, body } = await ask('PATCH', `/byok/${ID}`, { [name]: 'mistral', disabled: true });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { metadata: { param: name } } });
    expect(bus.asked).toEqual([]);
  });

  const canary = 'canary-7f';
  const hashes = (count: number): string[] => Array.from({ length: count }, (_, i) => i.toString(16).padStart(64, '0'));
  const many = (count: number): string[] => Array.from({ length: count }, (_, i) => `a/m${i}`);

  /** What is wrong in a body that is otherwise right, and the member that must be named. */
  const settings: [string, object, string][] = [
    ['a number for a name', { name: 5 }, 'name'],
    ['a long name', { name: '\u{1f600}'.repeat(256) }, 'name'],
    ['a line break in a name', { name: `${canary}\n` }, 'name'],
    ['no hashes', { allowed_api_key_hashes: [] }, 'allowed_api_key_hashes'],
    ['too many hashes', { allowed_api_key_hashes: hashes(101) }, 'allowed_api_key_hashes'],
    ['a short hash', { allowed_api_key_hashes: [HASH.slice(1)] }, 'allowed_api_key_hashes'],
    ['a long hash', { allowed_api_key_hashes: [`${HASH}a`] }, 'allowed_api_key_hashes'],
    ['a hash in capitals', { allowed_api_key_hashes: [HASH.toUpperCase()] }, 'allowed_api_key_hashes'],
    ['a hash that is none', { allowed_api_key_hashes: [canary.padEnd(64, 'z')] }, 'allowed_api_key_hashes'],
    ['a number for a hash', { allowed_api_key_hashes: [1] }, 'allowed_api_key_hashes'],
    ['a hash twice', { allowed_api_key_hashes: [HASH, HASH] }, 'allowed_api_key_hashes'],
    ['a text for a list of hashes', { allowed_api_key_hashes: HASH }, 'allowed_api_key_hashes'],
    ['too many models', { allowed_models: many(101) }, 'allowed_models'],
    ['a model without a vendor that is no alias', { allowed_models: [canary] }, 'allowed_models'],
    ['a model of batches', { allowed_models: ['x/later', 'openai/gpt-4o:batch'] }, 'allowed_models'],
    ['a later model of batches', { allowed_models: ['x/later:batch'] }, 'allowed_models'],
    ['an alias of batches', { allowed_models: ['gpt-4o:batch'] }, 'allowed_models'],
    ['a variant of a model', { allowed_models: ['openai/gpt-4o:floor'] }, 'allowed_models'],
    ['a newest model', { allowed_models: ['~openai/gpt-latest'] }, 'allowed_models'],
    ['an empty model', { allowed_models: [''] }, 'allowed_models'],
    ['a number for a model', { allowed_models: [1] }, 'allowed_models'],
    ['an object for the models', { allowed_models: { 0: 'a/b' } }, 'allowed_models'],
    ['too many users', { allowed_user_ids: many(101) }, 'allowed_user_ids'],
    ['an empty user', { allowed_user_ids: [' '] }, 'allowed_user_ids'],
    ['a NUL in a user', { allowed_user_ids: [`${canary}\u0000`] }, 'allowed_user_ids'],
    ['an unknown region', { declared_region: 'asia' }, 'declared_region'],
    ['a region by another name', { declared_region: 'EU' }, 'declared_region'],
    ['a text for a declaration', { declared_zdr: 'true' }, 'declared_zdr'],
    ['a text for a switch', { disabled: 'false' }, 'disabled'],
    ['a number for a switch', { is_byok_only: 0 }, 'is_byok_only'],
    ['null for a switch', { is_fallback: null }, 'is_fallback'],
    ['a list for a switch', { is_required: [true] }, 'is_required'],
  ];

  const keys: [string, object, string][] = [
    ['null for a key', { key: null }, 'key'],
    ['an empty key', { key: '' }, 'key'],
    ['a number for a key', { key: 5 }, 'key'],
    ['blanks for a key', { key: '  ' }, 'key'],
    ['a blank before a key', { key: ` ${canary}` }, 'key'],
    ['a line break after a key', { key: `${canary}\n` }, 'key'],
    ['a line break after a document', { key: `{"a":"${canary}"}\n` }, 'key'],
    ['a blank in a key', { key: `${canary} ${canary}` }, 'key'],
    ['a NUL in a key', { key: `${canary}\u0000` }, 'key'],
    ['a header in a key', { key: `${canary}\r\nx: y` }, 'key'],
    ['a NUL in a document', { key: `{"a":"${canary}\u0000"}` }, 'key'],
    ['half a surrogate pair in a document', { key: `{"a":"${canary}\ud800"}` }, 'key'],
    ['letters that no header carries', { key: `${canary}-\u00e4` }, 'key'],
    ['a key that is too long', { key: canary.padEnd(16_385, 'x') }, 'key'],
  ];

  const places: [string, object, string][] = [
    ['no key', { key: undefined }, 'key'],
    ['a key by another name', { key: undefined, Key: canary }, 'Key'],
    ['no provider', { provider: undefined }, 'provider'],
    ['an unknown provider', { provider: canary }, 'provider'],
    ['a provider in capitals', { provider: 'OpenAI' }, 'provider'],
    ['an empty provider', { provider: '' }, 'provider'],
    ['a number for a provider', { provider: 1 }, 'provider'],
    ['what every object has for a provider', { provider: 'constructor' }, 'provider'],
    ['a workspace that is no id', { workspace_id: canary }, 'workspace_id'],
    ['a null workspace', { workspace_id: null }, 'workspace_id'],
  ];

  it.each([...places, ...keys, ...settings])(
    'refuses %s by name and without repeating it',
    async (_what, wrong, member) => {
      const answer = await ask('POST', '/byok', { key: KEY, provider: 'openai', ...wrong });
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 400, metadata: { param: member } } } });
      expect(answer.body.error.message).toContain(member);
      expect(JSON.stringify(answer.body)).not.toContain('canary');
      expect(bus.asked).toEqual([]);
    },
  );

  it('takes aliases of models in allowed_models', async () => {
    const wanted = { allowed_models: ['gpt-4o', 'openai/o3'] };
    expect((await ask('POST', '/byok', { key: KEY, provider: 'openai', ...wanted })).status).toBe(200);
    expect((await ask('PATCH', `/byok/${ID}`, wanted)).status).toBe(200);
    for (const { request } of bus.asked) expect(request).toMatchObject({ allowedModels: ['gpt-4o', 'openai/o3'] });
    expect(bus.asked).toHaveLength(2);
  });

  it.each([...keys, ...settings])('refuses %s in a change, too', async (_what, wrong, member) => {
    const answer = await ask('PATCH', `/byok/${ID}`, wrong);
    expect(answer).toMatchObject({ status: 400, body: { error: { metadata: { param: member } } } });
    expect(bus.asked).toEqual([]);
  });

  it.each(['[]', 'null', '"x"', '1', 'true'])('refuses %s for a body', async (body) => {
    expect((await ask('POST', '/byok', body)).status).toBe(400);
    expect((await ask('PATCH', `/byok/${ID}`, body)).status).toBe(400);
    expect(bus.asked).toEqual([]);
  });

  it('changes what is given, and passes on what is to be cleared', async () => {
    const body = { name: null, allowed_models: null, declared_region: null, declared_zdr: null, is_fallback: false };
    expect(await ask('PATCH', `/byok/${ID}`, body)).toEqual({ status: 200, body: { data: view } });
    expect(bus.asked[0]!.request).toEqual({
      organizationId: ORGANIZATION,
      id: ID,
      name: null,
      allowedModels: null,
      declaredRegion: null,
      declaredZdr: null,
      isFallback: false,
    });
  });

  it('lists a page, in however many messages it comes', async () => {
    const sortOrders = async (query: string): Promise<unknown> => {
      const { status, body } = await ask('GET', `/byok${query}`);
      expect([status, body.total_count]).toEqual([200, 5]);
      return body.data.map((one: { sort_order: number }) => one.sort_order);
    };
    expect(await sortOrders('')).toEqual([1, 2, 3, 4, 5]);
    expect(await sortOrders('?offset=1&limit=3')).toEqual([2, 3, 4]);
    expect(await sortOrders('?offset=9')).toEqual([]);
    expect(await sortOrders(`?workspace_id=${WORKSPACE}&provider=openai&limit=1`)).toEqual([1]);
    const wanted = { organizationId: ORGANIZATION, workspaceId: null, provider: null };
    expect(bus.asked[0]!.request).toEqual({ ...wanted, offset: 0, limit: 50 });
    expect(bus.asked.at(-1)!.request).toEqual({
      ...wanted,
      workspaceId: WORKSPACE,
      provider: 'openai',
      offset: 0,
      limit: 1,
    });
  });

  it.each([
    'offset=-1',
    'offset=1.5',
    'limit=0',
    'limit=101',
    'limit=%00',
    'workspace_id=x',
    'workspace_id=',
    'provider=nobody',
    'provider=OpenAI',
    'provider=openai&provider=mistral',
  ])('refuses the query %s', async (query) => {
    expect((await ask('GET', `/byok?${query}`)).status).toBe(400);
    expect(bus.asked).toEqual([]);
  });

  it('shows, changes and deletes a credential by its id, also in capitals', async () => {
    for (const id of [ID, ID.toUpperCase()]) {
      expect(await ask('GET', `/byok/${id}`)).toEqual({ status: 200, body: { data: view } });
      expect(await ask('DELETE', `/byok/${id}`)).toEqual({ status: 200, body: { deleted: true } });
    }
  });

  it.each([
    '7c1f9c1e-0000-4000-8000-00000000000b',
    '00000000-0000-0000-0000-000000000000',
    ID.replaceAll('-', ''),
    `%7B${ID}%7D`,
    `urn:uuid:${ID}`,
    `${ID}%20`,
    '%00',
    '..%2f..%2fetc%2fpasswd',
    "'%20OR%201=1--",
    '*',
    'null',
    'x'.repeat(90),
  ])('answers for %s as for an unknown credential', async (id) => {
    const unknown = { error: { code: 404, message: 'No such credential', metadata: { error_type: 'not_found' } } };
    for (const method of ['GET', 'DELETE'] as const) {
      expect(await ask(method, `/byok/${id}`)).toEqual({ status: 404, body: unknown });
    }
    expect(await ask('PATCH', `/byok/${id}`, { name: 'n' })).toEqual({ status: 404, body: unknown });
  });
});
