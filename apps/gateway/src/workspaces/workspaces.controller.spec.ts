import type { CallHandler } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  CreateWorkspace,
  DeleteWorkspace,
  FindSigningWorkspaces,
  ListWorkspaces,
  RotateWebhookSecret,
  Secret,
  UpdateWorkspace,
  webhookSecretPurpose,
  type CallContract,
  type Principal,
  type WorkspaceRecord,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { aCatalogue, aModel } from '@libs/inference/testing';
import { AppExceptionFilter, Egress, MessageBus, seal, validateInstance } from '@libs/platform';
import { AuditInterceptor } from '../auth/audit.interceptor';
import { PolicyNames } from '../policies/policy-names';
import { CallbackUrls } from '../webhooks/callback-urls';
import { WorkspacesController } from './workspaces.controller';
import { WorkspacesService } from './workspaces.service';

const CALLBACK = 'default_callback_url';
const ORGANIZATION = '7c1f9c1e-0000-4000-8000-000000000001';
const WORKSPACE = '7c1f9c1e-0000-4000-8000-00000000000a';

const record: WorkspaceRecord = {
  id: WORKSPACE,
  organizationId: ORGANIZATION,
  name: 'Research',
  slug: 'research',
  isDefault: false,
  description: null,
  defaultCallbackUrl: 'https://receiver.example/',
  policy: { data_collection: 'deny' },
  settings: { default_provider_sort: 'latency' },
  includeByokInBudgets: false,
  createdAt: '2026-01-02T03:04:05.000Z',
  updatedAt: null,
};

/** The other apps as the controller sees them: validates as the real bus does, knows one workspace, which signs. */
class AuthBus extends MessageBus {
  readonly asked: { name: string; request: Record<string, unknown> }[] = [];

  override async call<Q extends object, R extends object>(contract: CallContract<Q, R>, request: Q): Promise<R> {
    const wire = JSON.parse(JSON.stringify(request)) as Record<string, unknown>;
    validateInstance(contract.request, wire);
    if (contract.name === FindSigningWorkspaces.name) return { workspaceIds: [WORKSPACE] } as unknown as R;
    this.asked.push({ name: contract.name, request: wire });
    if (contract.name === RotateWebhookSecret.name) return (await this.sealedSecret(wire)) as R;
    return this.answer(contract.name, wire) as R;
  }

  override send(): Promise<void> {
    throw new Error('nothing is sent');
  }

  private async sealedSecret({ recipient, workspaceId }: Record<string, unknown>): Promise<object> {
    if (String(workspaceId).toLowerCase() !== WORKSPACE) throw new AppError('not_found', 'No such workspace');
    const target = { publicKey: String(recipient) };
    return { sealedSecret: await seal(new Secret('whsec_canary'), target, webhookSecretPurpose(WORKSPACE)) };
  }

  private answer(name: string, request: Record<string, unknown>): object {
    if (name === CreateWorkspace.name) return record;
    if (name === ListWorkspaces.name) return { workspaces: [record], totalCount: 41 };
    if (String(request['id']).toLowerCase() !== WORKSPACE) throw new AppError('not_found', 'No such workspace');
    return name === DeleteWorkspace.name ? { deleted: true } : record;
  }
}

const caller = { kind: 'management', organizationId: ORGANIZATION, workspaceId: null } as Principal;

describe(WorkspacesController.name, () => {
  let app: NestFastifyApplication;
  let bus: AuthBus;

  beforeEach(async () => {
    bus = new AuthBus();
    const module = await Test.createTestingModule({
      controllers: [WorkspacesController],
      providers: [
        {
          provide: WorkspacesService,
          useValue: new WorkspacesService(
            bus,
            new CallbackUrls(new Egress({ allowCidrs: [] })),
            new PolicyNames(() => aCatalogue(aModel())),
            false,
          ),
        },
      ],
    })
      .overrideInterceptor(AuditInterceptor)
      .useValue({ intercept: (_context: unknown, next: CallHandler) => next.handle() })
      .compile();
    app = module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), { logger: false });
    app.useGlobalFilters(new AppExceptionFilter({ log: () => {}, error: () => {}, warn: () => {} }));
    const fastify = app.getHttpAdapter().getInstance();
    fastify.addHook('onRequest', async (request) => void Object.assign(request, { principal: caller }));
    await app.init();
    await fastify.ready();
  });

  afterEach(() => app.close());

  async function ask(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) {
    const response = await app.inject({ method, url, payload });
    return { status: response.statusCode, body: response.json() };
  }

  it('answers a workspace in the shape of the interface', async () => {
    expect(await ask('GET', `/workspaces/${WORKSPACE}`)).toEqual({
      status: 200,
      body: {
        data: {
          id: WORKSPACE,
          name: 'Research',
          slug: 'research',
          description: null,
          is_default: false,
          default_callback_url: 'https://receiver.example/',
          webhook_signing: true,
          policy: { data_collection: 'deny' },
          created_at: '2026-01-02T03:04:05.000Z',
          updated_at: null,
          created_by: null,
          default_guardrail_id: '00000000-0000-0000-0000-000000000000',
          default_image_model: null,
          default_text_model: null,
          default_provider_sort: 'latency',
          include_byok_in_budgets: false,
          io_logging_api_key_ids: null,
          io_logging_sampling_rate: 1,
          is_data_discount_logging_enabled: false,
          is_observability_broadcast_enabled: false,
          is_observability_io_logging_enabled: false,
        },
      },
    });
  });

  it("creates a workspace in the caller's organization", async () => {
    const body = { name: 'Research', slug: 'research', is_default: true, id: 'x' };
    expect(await ask('POST', '/workspaces', body)).toMatchObject({ status: 201, body: { data: { slug: 'research' } } });
    expect(bus.asked[0]?.request).toEqual({ organizationId: ORGANIZATION, name: 'Research', slug: 'research' });
  });

  it.each([
    ['no name', { slug: 's' }, 'name'],
    ['a long name', { name: 'n'.repeat(101), slug: 's' }, 'name'],
    ['no slug', { name: 'n' }, 'slug'],
    ['an empty slug', { name: 'n', slug: '' }, 'slug'],
    ['capitals in a slug', { name: 'n', slug: 'Research' }, 'slug'],
    ['a slug that ends in a hyphen', { name: 'n', slug: 'a-' }, 'slug'],
    ['a double hyphen in a slug', { name: 'n', slug: 'a--b' }, 'slug'],
    ['a line break after a slug', { name: 'n', slug: 'a\n' }, 'slug'],
    ['a long slug', { name: 'n', slug: 'a'.repeat(51) }, 'slug'],
    ['a long description', { name: 'n', slug: 's', description: 'd'.repeat(501) }, 'description'],
    ['a policy with a member that there is not', { name: 'n', slug: 's', policy: { zdrr: true } }, 'policy.zdrr'],
    [
      'a policy with an unknown model',
      { name: 'n', slug: 's', policy: { ignored_models: ['x'] } },
      'policy.ignored_models[0]',
    ],
    ['a NUL in a description', { name: 'n', slug: 's', description: '\u0000' }, 'description'],
    ['a callback URL without TLS', { name: 'n', slug: 's', default_callback_url: 'http://a.example/' }, CALLBACK],
    ['a callback URL at an address', { name: 'n', slug: 's', default_callback_url: 'https://10.0.0.1/' }, CALLBACK],
    ['a default model that is no text', { name: 'n', slug: 's', default_text_model: 7 }, 'default_text_model'],
    ['an empty default model', { name: 'n', slug: 's', default_image_model: '' }, 'default_image_model'],
    ['an unknown sort', { name: 'n', slug: 's', default_provider_sort: 'cheapness' }, 'default_provider_sort'],
    ['a share of more than all', { name: 'n', slug: 's', io_logging_sampling_rate: 1.5 }, 'io_logging_sampling_rate'],
    ['a share of nothing', { name: 'n', slug: 's', io_logging_sampling_rate: 0 }, 'io_logging_sampling_rate'],
    ['keys that are no numbers', { name: 'n', slug: 's', io_logging_api_key_ids: [1, 'x'] }, 'io_logging_api_key_ids'],
    [
      'a switch that is text',
      { name: 'n', slug: 's', is_observability_io_logging_enabled: 'yes' },
      'is_observability_io_logging_enabled',
    ],
    ['a callback URL that is none', { name: 'n', slug: 's', default_callback_url: 7 }, CALLBACK],
  ])('refuses %s by name', async (_what, body, member) => {
    const answer = await ask('POST', '/workspaces', body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 400, metadata: { param: member } } } });
    expect(bus.asked).toEqual([]);
  });

  it('lists a page with the count of all', async () => {
    const answer = await ask('GET', '/workspaces?offset=40&limit=1');
    expect(answer).toMatchObject({ status: 200, body: { data: [{ id: WORKSPACE }], total_count: 41 } });
    await ask('GET', '/workspaces');
    expect(bus.asked.map(({ request }) => request)).toEqual([
      { organizationId: ORGANIZATION, offset: 40, limit: 1 },
      { organizationId: ORGANIZATION, offset: 0, limit: 50 },
    ]);
  });

  it.each(['limit=0', 'limit=101', 'limit=x', 'offset=-1'])('refuses the query %s', async (query) => {
    expect((await ask('GET', `/workspaces?${query}`)).status).toBe(400);
  });

  it('changes only what is given', async () => {
    await ask('PATCH', `/workspaces/${WORKSPACE}`, { description: null });
    await ask('PATCH', `/workspaces/${WORKSPACE}`, { name: 'New' });
    await ask('PATCH', `/workspaces/${WORKSPACE}`, { policy: { zdr: true } });
    expect(bus.asked.map(({ request }) => request)).toEqual([
      { organizationId: ORGANIZATION, id: WORKSPACE, description: null },
      { organizationId: ORGANIZATION, id: WORKSPACE, name: 'New' },
      { organizationId: ORGANIZATION, id: WORKSPACE, policy: { zdr: true } },
    ]);
    for (const other of [{ is_default: 'x' }, { include_byok_in_budgets: 'x' }, { created_by: 'x' }]) {
      const { status, body } = await ask('PATCH', `/workspaces/${WORKSPACE}`, other);
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: { metadata: { param: Object.keys(other)[0] } } });
    }
    expect((await ask('PATCH', `/workspaces/${WORKSPACE}`, { name: null })).status).toBe(400);
    expect((await ask('PATCH', `/workspaces/${WORKSPACE}`, { slug: 'A' })).status).toBe(400);
  });

  it('stores what is set, forgets what is null and leaves alone what is left out', async () => {
    const settings = {
      default_text_model: 'a/b',
      default_image_model: 'c/d',
      default_provider_sort: 'throughput',
      io_logging_sampling_rate: 0.0001,
      io_logging_api_key_ids: [1, 2],
      is_observability_io_logging_enabled: true,
      is_observability_broadcast_enabled: false,
      is_data_discount_logging_enabled: true,
    };
    await ask('POST', '/workspaces', { name: 'n', slug: 's', ...settings });
    await ask('PATCH', `/workspaces/${WORKSPACE}`, { default_text_model: null, io_logging_sampling_rate: null });
    expect(bus.asked.map(({ request }) => request['settings'])).toEqual([
      settings,
      { default_text_model: null, io_logging_sampling_rate: null },
    ]);
  });

  it('sets and takes away the callback URL', async () => {
    const asked = async (body: object) => {
      await ask('PATCH', `/workspaces/${WORKSPACE}`, body);
      return bus.asked.at(-1)?.request['defaultCallbackUrl'];
    };
    expect(await asked({ default_callback_url: 'https://receiver.example/' })).toBe('https://receiver.example/');
    expect(await asked({ default_callback_url: null })).toBeNull();
  });

  it('shows a new webhook secret, which no message held', async () => {
    const answer = await ask('POST', `/workspaces/${WORKSPACE}/webhook-secret`);
    expect(answer).toEqual({ status: 200, body: { data: { webhook_secret: 'whsec_canary' } } });
    expect(JSON.stringify(bus.asked)).not.toContain('whsec_canary');
  });

  it('takes an id in capitals for the same id', async () => {
    expect((await ask('GET', `/workspaces/${WORKSPACE.toUpperCase()}`)).status).toBe(200);
  });

  it('deletes a workspace', async () => {
    expect(await ask('DELETE', `/workspaces/${WORKSPACE}`)).toEqual({ status: 200, body: { deleted: true } });
  });

  it.each([
    '7c1f9c1e-0000-4000-8000-00000000000b',
    '00000000-0000-0000-0000-000000000000',
    WORKSPACE.replaceAll('-', ''),
    `%7B${WORKSPACE}%7D`,
    `urn:uuid:${WORKSPACE}`,
    `${WORKSPACE}%20`,
    'research',
    '%00',
    'null',
  ])('answers for %s as for an unknown workspace', async (id) => {
    const unknown = { error: { code: 404, message: 'No such workspace', metadata: { error_type: 'not_found' } } };
    for (const method of ['GET', 'DELETE'] as const) {
      expect(await ask(method, `/workspaces/${id}`)).toEqual({ status: 404, body: unknown });
    }
    expect(await ask('PATCH', `/workspaces/${id}`, { name: 'n' })).toEqual({ status: 404, body: unknown });
    expect(await ask('POST', `/workspaces/${id}/webhook-secret`)).toEqual({ status: 404, body: unknown });
    expect(bus.asked.every(({ name }) => name !== UpdateWorkspace.name || /^[0-9a-f-]{36}$/.test(id))).toBe(true);
  });
});
