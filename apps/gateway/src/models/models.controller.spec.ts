import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { parseCatalogue, type Catalogue } from '@libs/inference';
import { AppExceptionFilter } from '@libs/platform';
import { Readiness } from '@libs/platform';
import { API_PREFIX, edgeServerOptions, prepareEdge } from '../http/edge';
import { InFlight } from '../http/in-flight';
import { InferenceRouting } from '../inference/inference-routing';
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
  - { slug: v/chat, name: Chat, description: d, created: 1, context_length: 10,
      architecture: { input_modalities: [text], output_modalities: [text], tokenizer: Other, instruct_type: null },
      supported_parameters: [], endpoints: [ { provider: p, upstream_model: c, apis: [chat],
      pricing: { prompt: "0.1", completion: "0.2" }, context_length: 10, max_completion_tokens: 5, quantization: unknown,
      region: global, zdr: false, capabilities: {} } ] }
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

  beforeAll(async () => {
    catalogue = catalogueOf(7);
    const routing = { catalogue: () => catalogue } as InferenceRouting;
    const module = await Test.createTestingModule({
      controllers: [ModelsController, ProvidersController],
      providers: [ModelListingService, { provide: InferenceRouting, useValue: routing }],
    }).compile();
    const adapter = new FastifyAdapter({ ...edgeServerOptions(), skipMiddie: true });
    app = module.createNestApplication<NestFastifyApplication>(adapter, { bodyParser: false, logger: false });
    app.setGlobalPrefix(API_PREFIX);
    app.useGlobalFilters(new AppExceptionFilter(silent));
    prepareEdge(app, { readiness: new Readiness(), inFlight: new InFlight(100) });
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
  });

  afterAll(() => app.close());

  const get = async (path: string, headers: Record<string, string> = {}) => {
    const { statusCode, body, headers: answered } = await app.inject({ method: 'GET', url: `/api/v1${path}`, headers });
    return { status: statusCode, body, headers: answered };
  };
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
    expect(JSON.parse((await get('/providers')).body)).toMatchObject({ data: [{ name: 'P', slug: 'p' }] });
  });

  it('shows one model as the list does, and no batch entry where no batch can run', async () => {
    const { data } = JSON.parse((await get('/models')).body) as { data: { id: string }[] };
    for (const entry of data) expect(JSON.parse((await get(`/model/${entry.id}`)).body)).toEqual({ data: entry });
    for (const id of ['v/none', 'v/chat:batch', 'v/chat/more', 'v']) {
      expect((await get(`/model/${id}`)).status).toBe(404);
    }
  });

  it('answers other methods with 405 (M21)', async () => {
    const { statusCode, headers } = await app.inject({ method: 'POST', url: '/api/v1/embeddings/models' });
    expect([statusCode, headers['allow']]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});
