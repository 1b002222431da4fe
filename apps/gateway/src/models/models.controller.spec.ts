import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { OwnedPolicy, Principal } from '@libs/contracts';
import { monotonicMs, parseCatalogue, ProviderHealth, type Catalogue } from '@libs/inference';
import { AppExceptionFilter } from '@libs/platform';
import { Readiness } from '@libs/platform';
import type { AuthenticatedRequest } from '../http/authenticated-request';
import { API_PREFIX, prepareEdge } from '../http/edge';
import { createEdgeAdapter } from '../http/edge-adapter';
import { InFlight } from '../http/in-flight';
import { InferenceRouting } from '../routing/inference-routing';
import { ModelListingService } from './model-listing.service';
import { ModelsController } from './models.controller';
import { ProvidersController } from './providers.controller';

const silent = { log() {}, error() {}, warn() {}, debug() {} };

function catalogueOf(count: number): Catalogue {
  const models = Array.from(
    { length: count },
    (_, i) => `
  - { slug: v/e${i}, name: "<b>${i}</b>", description: d, created: 1, context_length: 10,
      architecture: { input_modalities: [text], output_modalities: [embeddings], tokenizer: Other, instruct_type: null },
      supported_parameters: [], endpoints: [ { provider: p, upstream_model: u${i}, apis: [embeddings],
      pricing: { prompt: "0.1" }, context_length: 10, max_completion_tokens: null, quantization: unknown, region: global,
      zdr: false, capabilities: {} } ] }`,
  );
  const text = `
providers:
  - { slug: p, name: P, base_url: "http://127.0.0.1:1/v1", protocol: openai, headers: {}, regions: [global],
      data_policy: { retains_prompts: false, trains_on_prompts: false, zdr: false }, batch: none, max_concurrency: 1 }
models:${models.join('')}
  - { slug: v/chat, aliases: [chatter, chat-2026], name: Chat, description: d, created: 1, context_length: 10,
      architecture: { input_modalities: [text], output_modalities: [text], tokenizer: Other, instruct_type: null },
      supported_parameters: [], endpoints: [ { provider: p, upstream_model: c, apis: [chat],
      pricing: { prompt: "0.1", completion: "0.2" }, context_length: 10, max_completion_tokens: 5, quantization: unknown,
      region: global, zdr: false, capabilities: {} } ] }
`;
  return parseCatalogue([{ name: 'test.yaml', text }]);
}

function severalKinds(nowSeconds: number, written: (date: number) => string = String): Catalogue {
  const days = (count: number): string => written(nowSeconds - count * 86_400);
  const endpoint = (provider: string, apis: string, pricing: string, more: string): string =>
    `{ provider: ${provider}, upstream_model: u, apis: [${apis}], pricing: ${pricing}, max_completion_tokens: 5,
       quantization: unknown, capabilities: {}, ${more} }`;
  const text = `
providers:
  - { slug: first, name: First, base_url: "http://127.0.0.1:1/v1", protocol: openai, headers: {},
      regions: [global], batch: none, max_concurrency: 1 }
  - { slug: second, name: Second, base_url: "http://127.0.0.1:1/v1", protocol: openai, headers: {},
      regions: [global, europe-west1], batch: none, max_concurrency: 1 }
models:
  - { slug: a/old, name: Old, description: Old words., created: ${days(400)}, context_length: 8000,
      architecture: { input_modalities: [text], output_modalities: [text], tokenizer: Llama3, instruct_type: null },
      supported_parameters: [tools], endpoints: [
      ${endpoint('first', 'chat', '{ prompt: "0.00000015", completion: "0.0000006" }', 'context_length: 8000, region: global, zdr: false')} ] }
  - { slug: b/new, name: New, description: More words., created: ${days(10)}, context_length: 200000,
      architecture: { input_modalities: [text, image], output_modalities: [text], tokenizer: Other, instruct_type: null },
      supported_parameters: [tools, seed], endpoints: [
      ${endpoint('second', 'chat', '{ prompt: "0.000003", completion: "0.000015" }', 'context_length: 200000, region: europe-west1, zdr: true')} ] }
  - { slug: b/draws, name: Draws, description: Few words., created: ${days(1)}, context_length: 9000,
      architecture: { input_modalities: [text], output_modalities: [image], tokenizer: Other, instruct_type: null },
      supported_parameters: [], endpoints: [
      ${endpoint('first', 'chat', '{ prompt: "0", completion: "0" }', 'context_length: 9000, region: global, zdr: false')} ] }
`;
  return parseCatalogue([{ name: 'test.yaml', text }]);
}

interface Listing {
  readonly data: { id: string; name: string }[];
  readonly links: { next: string | null };
  readonly total_count: number;
}

describe(ModelsController.name, () => {
  let app: NestFastifyApplication;
  let catalogue: Catalogue;
  let health: ProviderHealth;
  let policies: OwnedPolicy[] = [];

  beforeAll(async () => {
    catalogue = catalogueOf(7);
    health = new ProviderHealth(monotonicMs);
    const routing = { catalogue: () => catalogue } as InferenceRouting;
    const module = await Test.createTestingModule({
      controllers: [ModelsController, ProvidersController],
      providers: [
        ModelListingService,
        { provide: InferenceRouting, useValue: routing },
        { provide: ProviderHealth, useValue: health },
      ],
    }).compile();
    const adapter = createEdgeAdapter();
    adapter.getInstance().addHook('onRequest', (request, _reply, done) => {
      (request as AuthenticatedRequest).principal = { policies } as unknown as Principal;
      done();
    });
    app = module.createNestApplication<NestFastifyApplication>(adapter, { bodyParser: false, logger: false });
    app.setGlobalPrefix(API_PREFIX);
    app.useGlobalFilters(new AppExceptionFilter(silent));
    prepareEdge(app, { readiness: new Readiness(), inFlight: new InFlight(), serviceName: 'sluice' });
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
  });

  afterAll(() => app.close());

  const get = async (path: string, headers: Record<string, string> = {}) => {
    const { statusCode, body, headers: answered } = await app.inject({ method: 'GET', url: `/api/v1${path}`, headers });
    return { status: statusCode, body, headers: answered };
  };
  it.each([
    ['/models/', '/api/v1/models'],
    ['/models/v/', '/api/v1/models/{id}'],
    ['/models//v/chat', '/api/v1/models/{author}/{slug}'],
  ])('answers %s with the path that was meant', async (path, meant) => {
    const { status, body } = await get(path);
    expect(status).toBe(404);
    expect(body).toContain('There is no route /api/v1/models/');
    expect(body).toContain(`Did you mean ${meant}? `);
  });

  const list = async (query: string): Promise<Listing> => {
    const { status, body } = await get(`/embeddings/models${query}`);
    expect(status).toBe(200);
    return JSON.parse(body) as Listing;
  };

  it.each([
    'limit=0',
    'limit=1001',
    'limit=-1',
    'limit=1.5',
    'limit=x',
    'limit=',
    'limit=1e3',
    'limit=%2B5',
    'limit=+5',
    'limit=0x10',
    'limit=9e99',
    'offset=-1',
    'offset=x',
    'offset=1.5',
    'offset=9223372036854775808',
    'limit=1&limit=2',
    'limit[]=1',
    'limit[a]=1',
    'offset[]=1',
    'limit=%00',
    'limit=%ff',
    'limit=5%00',
    'offset=9007199254740993&limit=1000',
    "limit=1'%20OR%201=1--",
    'limit=%EF%BC%91',
    'limit=010',
    'limit=%205',
    'limit=5%20',
    'offset=00',
  ])('refuses ?%s (M01–M04, M08, M14, M15, M17–M19)', async (query) => {
    const { status, body } = await get(`/embeddings/models?${query}`);
    expect(status).toBe(400);
    expect(JSON.parse(body)).toMatchObject({
      error: { code: 400, metadata: { param: query.startsWith('o') ? 'offset' : 'limit' } },
    });
  });

  it('gives everything when no page is asked for, and unknown members change nothing (M05, M07, M20)', async () => {
    for (const query of ['', '?', '?LIMIT=0&x=%ff', `?q=${'x'.repeat(10_000)}`]) {
      const { data, links, total_count } = await list(query);
      expect([data.length, links.next, total_count]).toEqual([7, null, 7]);
    }
  });

  it('gives pages in a stable order, each entry exactly once (M06, M11, M12)', async () => {
    const seen: string[] = [];
    let next: string | null = '/api/v1/embeddings/models?limit=3';
    while (next !== null) {
      const { data, links, total_count } = await list(next.slice('/api/v1/embeddings/models'.length));
      expect(total_count).toBe(7);
      seen.push(...data.map(({ id }) => id));
      next = links.next;
    }
    expect(seen).toEqual(Array.from({ length: 7 }, (_, i) => `v/e${i}`));
    expect((await list('?offset=5')).data).toHaveLength(2);
    expect((await list('?offset=-0&limit=1')).data.map(({ id }) => id)).toEqual(['v/e0']);
    expect(await list('?offset=1000000000&limit=1000')).toMatchObject({
      data: [],
      links: { next: null },
      total_count: 7,
    });
  });

  it('never sends anybody to another host (M10)', async () => {
    const { body } = await get('/embeddings/models?limit=1', { host: 'evil', 'x-forwarded-host': 'evil' });
    expect(JSON.parse(body)).toMatchObject({ links: { next: '/api/v1/embeddings/models?limit=1&offset=1' } });
  });

  it('sends markup as the text it is (M13)', async () => {
    const { headers, body } = await get('/embeddings/models?limit=1');
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
    });
    expect((JSON.parse(body) as Listing).data[0]?.name).toBe('<b>0</b>');
  });

  it('follows a new catalogue', async () => {
    const before = catalogue;
    catalogue = catalogueOf(2);
    expect((await list('')).total_count).toBe(2);
    catalogue = before;
    expect((await list('')).total_count).toBe(7);
  });

  it('lists all models, counts them and shows the endpoints of one', async () => {
    expect(JSON.parse((await get('/models')).body)).toMatchObject({ total_count: 8 });
    expect(JSON.parse((await get('/models/count')).body)).toEqual({ data: { count: 8 } });
    expect(JSON.parse((await get('/models/v/chat/endpoints')).body)).toMatchObject({
      data: {
        id: 'v/chat',
        endpoints: [{ provider_name: 'P', pricing: { prompt: '0.1', completion: '0.2' }, max_completion_tokens: 5 }],
      },
    });
    expect((await get('/models/v/none/endpoints')).status).toBe(404);
    const { body } = await get('/models/v/chat/endpoints');
    for (const name of ['chatter', 'chat-2026', 'v%2Fchat', 'chatter:floor', '~v%2Fchat-latest']) {
      expect((await get(`/models/${name}/endpoints`)).body).toBe(body);
    }
    const unknown = await get('/models/none/endpoints');
    expect(unknown.status).toBe(404);
    expect(unknown.body).toContain('The model \\"none\\" does not exist');
    expect(JSON.parse((await get('/models/v/chat:batch/endpoints')).body)).toMatchObject({
      data: { id: 'v/chat:batch' },
    });
    expect(JSON.parse((await get('/providers')).body)).toMatchObject({ data: [{ name: 'P', slug: 'p' }] });
  });

  it('shows one model as the list does, and no batch entry where no batch can run', async () => {
    const { data } = JSON.parse((await get('/models')).body) as { data: { id: string }[] };
    for (const entry of data) expect(JSON.parse((await get(`/model/${entry.id}`)).body)).toEqual({ data: entry });
    for (const id of ['v/none', 'v/chat:batch', 'v/chat/more', 'v']) {
      expect((await get(`/model/${id}`)).status).toBe(404);
    }
  });

  it('shows a model as clients of OpenAI ask for it, by its id or an alias', async () => {
    const { data } = JSON.parse((await get('/models')).body) as { data: { id: string }[] };
    for (const entry of data) {
      expect(entry).toMatchObject({ object: 'model', owned_by: 'v' });
      for (const id of [entry.id, encodeURIComponent(entry.id)]) {
        expect(JSON.parse((await get(`/models/${id}`)).body)).toEqual(entry);
      }
    }
    const chat = data.find(({ id }) => id === 'v/chat');
    for (const path of ['chatter', 'chat-2026', 'v/chat:floor', '~v/chat-latest'].map((name) => `/models/${name}`)) {
      const target = { slug: 'v/chat', name: 'Chat' };
      expect(JSON.parse((await get(path)).body)).toEqual({ ...chat, alias_target: target });
    }
    expect(JSON.parse((await get('/models/none')).body)).toEqual({
      error: { code: 404, message: 'The model "none" does not exist', metadata: { error_type: 'not_found' } },
    });
    const { body } = await get('/models/v%2Fchats');
    expect(body).toContain('The model \\"v/chats\\" does not exist. Did you mean v/chat?');
    for (const id of ['v', 'v/none', 'v%2Fnone', 'v/chat/more', 'v%2F', '%2F', '%00', 'count%2F', '__proto__']) {
      expect([id, (await get(`/models/${id}`)).status]).toEqual([id, 404]);
    }
  });

  describe('of a catalogue with models of several kinds', () => {
    const before = Date.now();

    beforeAll(() => {
      catalogue = severalKinds(Math.floor(before / 1_000));
    });

    afterAll(() => {
      catalogue = catalogueOf(7);
    });

    const ids = async (query: string, path = '/models'): Promise<string[]> => {
      const { status, body } = await get(`${path}${query}`);
      expect(status).toBe(200);
      return (JSON.parse(body) as Listing).data.map(({ id }) => id);
    };

    it('judges no model by its age if its date is not known, and sorts it behind the others', async () => {
      const nowSeconds = Math.floor(before / 1_000);
      catalogue = severalKinds(nowSeconds, (date) => (date < nowSeconds - 300 * 86_400 ? '0' : String(date)));
      try {
        expect(await ids('?min_age_days=5')).toEqual(['b/new']);
        expect(await ids('?max_age_days=30000')).toEqual(['b/new', 'b/draws']);
        expect(await ids('?sort=newest')).toEqual(['b/draws', 'b/new', 'a/old']);
      } finally {
        catalogue = severalKinds(nowSeconds);
      }
    });

    it.each([
      ['q=OLD%20words', ['a/old']],
      ['q=a/old%20nothing', []],
      ['supported_parameters=tools', ['a/old', 'b/new']],
      ['supported_parameters=tools,seed', ['b/new']],
      ['input_modalities=text,image', ['b/new']],
      ['output_modalities=image,embeddings', ['b/draws']],
      ['output_modalities=all', ['a/old', 'b/new', 'b/draws']],
      ['output_modalities=', ['a/old', 'b/new', 'b/draws']],
      ['arch=gpt,llama3', ['a/old']],
      ['model_authors=B', ['b/new', 'b/draws']],
      ['providers=Second', ['b/new']],
      ['providers=second,first', ['a/old', 'b/new', 'b/draws']],
      ['context=200000', ['b/new']],
      ['min_price=0.15', ['a/old', 'b/new']],
      ['min_price=0.150000000001', ['b/new']],
      ['max_price=0.15', ['a/old', 'b/draws']],
      ['min_output_price=15', ['b/new']],
      ['max_output_price=14.9', ['a/old', 'b/draws']],
      ['min_age_days=30', ['a/old']],
      ['max_age_days=30', ['b/new', 'b/draws']],
      ['zdr=true', ['b/new']],
      ['region=eu', ['b/new']],
      ['region=us', []],
      ['sort=newest', ['b/draws', 'b/new', 'a/old']],
      ['sort=pricing-low-to-high', ['b/draws', 'a/old', 'b/new']],
      ['sort=pricing-high-to-low', ['b/new', 'a/old', 'b/draws']],
      ['sort=context-high-to-low', ['b/new', 'b/draws', 'a/old']],
      ['sort=top-weekly', ['a/old', 'b/new', 'b/draws']],
      ['model_authors=b&sort=pricing-high-to-low&max_price=3', ['b/new', 'b/draws']],
    ])('gives those that ?%s asks for', async (query, expected) => {
      expect(await ids(`?${query}`)).toEqual(expected);
      expect(JSON.parse((await get(`/models/count?${query}`)).body)).toEqual({ data: { count: expected.length } });
    });

    it('puts first what was fast lately, by throughput or latency, and what was not measured last', async () => {
      const measured = (model: string, firstTokenMs: number, completionTokens: number): void => {
        const [endpoint] = catalogue.findModel(model)!.endpoints;
        health.history.measured(endpoint!, { firstTokenMs, completionTokens, generationMs: 1_000 });
      };
      measured('b/new', 100, 5);
      expect(await ids('?sort=latency-low-to-high')).toEqual(['b/new', 'a/old', 'b/draws']);
      expect(await ids('?sort=throughput-high-to-low')).toEqual(['b/new', 'a/old', 'b/draws']);
      // Its endpoint is also that of b/draws.
      measured('a/old', 900, 10);
      expect(await ids('?sort=latency-low-to-high')).toEqual(['b/new', 'a/old', 'b/draws']);
      expect(await ids('?sort=throughput-high-to-low')).toEqual(['a/old', 'b/draws', 'b/new']);
    });

    it.each([
      ['context', ['0x10', '-1', '1.5', '', 'canary', '1e9', '9999999999']],
      ['min_price', ['-1', '1e3', '.25', '', 'canary', 'Infinity']],
      ['max_age_days', ['-1', '1.5', '']],
      ['zdr', ['false', '']],
      ['region', ['asia', '']],
      ['sort', ['best', '']],
      ['q', ['x'.repeat(501)]],
    ])('refuses a bad %s, names it and says what was sent', async (name, values) => {
      for (const value of values) {
        const { status, body } = await get(`/models?${name}=${value}`);
        expect([value, status]).toEqual([value, 400]);
        const message = expect.stringMatching(/^\w+ must be .+ \(it is (?:"|an? )/) as string;
        expect(JSON.parse(body)).toMatchObject({ error: { message, metadata: { param: name } } });
      }
      expect((await get(`/models?${name}=1&${name}=2`)).status).toBe(400);
    });

    it('keeps the wishes from page to page, and nothing else of the query', async () => {
      const { body } = await get('/models?limit=1&sort=newest&x=1&q=a%26b%20words');
      expect(JSON.parse(body)).toMatchObject({ data: [], links: { next: null }, total_count: 0 });
      const first = JSON.parse((await get('/models?limit=1&x=1&q=words%20b/&sort=newest')).body) as Listing;
      expect(first).toMatchObject({
        data: [{ id: 'b/draws' }],
        links: { next: '/api/v1/models?q=words+b%2F&sort=newest&limit=1&offset=1' },
        total_count: 2,
      });
      expect(await ids(first.links.next!.slice('/api/v1/models'.length))).toEqual(['b/new']);
    });

    it('gives a caller those that the policies of workspace and key leave', async () => {
      expect(await ids('', '/models/user')).toEqual(['a/old', 'b/new', 'b/draws']);
      policies = [{ owner: 'workspace', policy: { allowed_providers: ['first'] } }];
      expect(await ids('', '/models/user')).toEqual(['a/old', 'b/draws']);
      policies.push({ owner: 'key', policy: { ignored_models: ['a/old'] } });
      expect(await ids('?limit=5', '/models/user')).toEqual(['b/draws']);
      expect((await get('/models/user?limit=0')).status).toBe(400);
      expect(await ids('')).toEqual(['a/old', 'b/new', 'b/draws']);
    });
  });

  it('answers other methods with 405 (M21)', async () => {
    const { statusCode, headers } = await app.inject({ method: 'POST', url: '/api/v1/embeddings/models' });
    expect([statusCode, headers['allow']]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});
