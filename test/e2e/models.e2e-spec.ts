import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiClient } from '../support/client';
import type { Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { bytesOf, exchange, type HeaderLine, type RawAnswer } from './raw-http';
import { expectRefusal } from './refusals';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const BATCH_PRICES = { prompt: '0.00000006', completion: '0.0000002' };
const MARKUP = '<script>alert(1)</script> & "quotes"';
const BASE_URL = 'http://127.0.0.1:9/v1';

const CHATS: TestModel[] = Array.from({ length: 23 }, (_, n) => ({
  slug: `list/talker-${n}`,
  provider: `list-talk-${n}`,
  baseUrl: BASE_URL,
  pricing: PRICES,
  batchPricing: BATCH_PRICES,
}));
const EMBEDDERS: TestModel[] = Array.from({ length: 7 }, (_, n) => ({
  slug: `list/embedder-${n}`,
  provider: `list-embed-${n}`,
  baseUrl: BASE_URL,
  apis: ['embeddings'],
  pricing: PRICES,
}));

interface Entry {
  readonly id: string;
  readonly canonical_slug: string;
  readonly name: string;
  readonly pricing: Readonly<Record<string, string>>;
  readonly links: { readonly details: string };
}

interface List {
  readonly data: readonly Entry[];
  readonly links: { readonly next: string | null };
  readonly total_count: number;
}

let installation: Installation;
let client: ApiClient;

beforeAll(async () => {
  const catalogue = JSON.parse(catalogueOf([...CHATS, ...EMBEDDERS])) as { models: { name: string }[] };
  catalogue.models[3]!.name = MARKUP;
  installation = await shareInstallation({ catalogue: JSON.stringify(catalogue), apps: ['auth', 'gateway'] });
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await client?.close();
  await giveBack(installation);
});

function ask(target: string, more: readonly HeaderLine[] = [], method = 'GET'): Promise<RawAnswer> {
  const headers: HeaderLine[] = [
    ['Host', 'gateway'],
    ['Authorization', `Bearer ${installation.seed.apiKey}`],
  ];
  return exchange(
    installation.baseUrl,
    bytesOf({ method, target: `/api/v1${target}`, headers: [...headers, ...more] }),
  );
}

async function list(target: string): Promise<List> {
  const answer = await ask(target);
  expect({ status: answer.status, body: answer.body.slice(0, 200) }).toMatchObject({ status: 200 });
  return JSON.parse(answer.body) as List;
}

const idsOf = ({ data }: List): string[] => data.map(({ id }) => id);

describe.each([
  ['/models', CHATS.length + EMBEDDERS.length],
  ['/embeddings/models', EMBEDDERS.length],
])('GET %s', (path, total) => {
  it('M05 without a page lists everything, each once', async () => {
    const whole = await list(path);
    expect(whole).toMatchObject({ links: { next: null }, total_count: total });
    expect(new Set(idsOf(whole)).size).toBe(total);
    expect(whole.data).toHaveLength(total);
  });

  it.each([1, 4, 7, 60, 1_000])(
    'M11 in pages of %i, by the links, is the whole list once and in the same order',
    async (limit) => {
      const whole = await list(path);
      const found: string[] = [];
      for (let target: string | null = `${path}?limit=${limit}`; target !== null;) {
        const page: List = await list(target);
        expect(page.total_count).toBe(total);
        expect(page.data.length).toBeLessThanOrEqual(limit);
        found.push(...idsOf(page));
        target = page.links.next?.replace('/api/v1', '') ?? null;
      }
      expect(found).toEqual(idsOf(whole));
    },
  );

  it('M06 with an offset alone, or a limit alone, is a part in the same order', async () => {
    const ids = idsOf(await list(path));
    expect(idsOf(await list(`${path}?offset=3`))).toEqual(ids.slice(3));
    expect(idsOf(await list(`${path}?limit=3`))).toEqual(ids.slice(0, 3));
    expect(idsOf(await list(`${path}?offset=2&limit=3`))).toEqual(ids.slice(2, 5));
  });

  it.each(['limit=1', 'limit=1000', 'offset=0', 'offset=-0', 'offset=1000000000', 'offset=1000000000&limit=1000'])(
    'M01, M02, M14, M16 takes %s',
    async (query) => {
      expect((await list(`${path}?${query}`)).total_count).toBe(total);
    },
  );

  it('M02 behind the end is an empty page', async () => {
    expect(await list(`${path}?offset=1000000000`)).toEqual({
      object: 'list',
      data: [],
      links: { next: null },
      total_count: total,
    });
  });

  const values = [
    '0',
    '1001',
    '-1',
    '1.5',
    'x',
    '',
    '1e3',
    '%2B5',
    '0x10',
    '9e99',
    '%EF%BC%91',
    '010',
    '%205',
    '5%20',
    '%00',
    '%ff',
    '1%00',
    "1'%20OR%201=1--",
    'null',
    'NaN',
    '9223372036854775808',
    '1'.repeat(10_000),
  ];
  it.each(values)('M01, M08, M09, M15, M17, M18, M19 refuses limit=%s', async (value) => {
    expectRefusal(await ask(`${path}?limit=${value}`), 400);
  });

  it.each(values.filter((value) => !['0', '1001'].includes(value)).concat('-9', '1000000001'))(
    'M02, M15 refuses offset=%s',
    async (value) => {
      expectRefusal(await ask(`${path}?offset=${value}`), 400);
    },
  );

  it.each([
    'limit=1&limit=2',
    'limit=1&limit=1',
    'limit[]=1',
    'limit[a]=1',
    'offset=0&offset=0',
    'offset[]=1',
    'limit=1&limit[]=1',
    'limit%5B%5D=1',
  ])('M03, M04 refuses %s', async (query) => {
    expectRefusal(await ask(`${path}?${query}`), 400);
  });

  it.each([
    'colour=green',
    'LIMIT=1',
    'Offset=5',
    'order=name;DROP',
    '__proto__=1',
    'constructor[prototype]=1',
    '&&&',
    '=',
  ])('M07, M20 takes no notice of %s', async (query) => {
    expect((await ask(`${path}?${query}`)).body).toBe((await ask(path)).body);
  });

  it('M10 never links to another host', async () => {
    const headers: HeaderLine[] = [
      ['Host', 'evil.example'],
      ['X-Forwarded-Host', 'evil.example'],
      ['Authorization', `Bearer ${installation.seed.apiKey}`],
    ];
    const answer = await exchange(installation.baseUrl, bytesOf({ target: `/api/v1${path}?limit=1`, headers }));
    expect(answer.status).toBe(200);
    expect(answer.body).not.toContain('evil.example');
    expect((JSON.parse(answer.body) as List).links.next).toBe(`/api/v1${path}?limit=1&offset=1`);
  });

  it('M13 is JSON that no browser takes for something else', async () => {
    const answer = await ask(path, [['Accept', 'text/html']]);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('M21 by %s is refused with 405', async (method) => {
    const answer = await ask(path, [['Content-Length', '0']], method);
    expectRefusal(answer, 405);
    expect(answer.headers['allow']).toContain('GET');
  });

  it.each([
    ['If-None-Match', '*'],
    ['If-Modified-Since', 'Thu, 01 Jan 2099 00:00:00 GMT'],
    ['Range', 'bytes=0-1'],
  ] as const)('M23 with %s: %s is whole', async (name, value) => {
    expect(await ask(path, [[name, value]])).toMatchObject({ status: 200, body: (await ask(path)).body });
  });

  it('M24 is served two hundred times at once', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => client.request('GET', path)));
    const whole = (await ask(path)).body;
    expect(answers.every(({ status, text }) => status === 200 && text === whole)).toBe(true);
  });

  it('is the same for a management key, and for nobody without one', async () => {
    const manager = installation.client(installation.seed.managementKey);
    expect((await manager.request('GET', path)).text).toBe((await ask(path)).body);
    await manager.close();
    const nobody = await exchange(
      installation.baseUrl,
      bytesOf({ target: `/api/v1${path}`, headers: [['Host', 'gateway']] }),
    );
    expectRefusal(nobody, 401);
  });
});

describe('an entry', () => {
  it('says what the catalogue says, with the prices of single calls', async () => {
    const entry = (await list('/models')).data.find(({ id }) => id === 'list/talker-0');
    expect(entry).toMatchObject({
      id: 'list/talker-0',
      canonical_slug: 'list/talker-0',
      created: 1_760_000_000,
      context_length: 32_768,
      architecture: {
        input_modalities: ['text'],
        output_modalities: ['text'],
        modality: 'text->text',
        tokenizer: 'Other',
        instruct_type: null,
      },
      pricing: { prompt: PRICES.prompt, completion: PRICES.completion, image: '0', request: '0' },
      top_provider: { context_length: 32_768, is_moderated: false, max_completion_tokens: 4_096 },
      per_request_limits: null,
      links: { details: '/api/v1/models/list/talker-0/endpoints' },
    });
  });

  it('of a batch has the prices of batches', async () => {
    const ordinary = idsOf(await list('/models'));
    expect(ordinary.filter((id) => id.endsWith(':batch'))).toEqual([]);
    const { data } = await list('/models?batch=true');
    expect(data.map(({ id }) => id)).toEqual(ordinary.map((id) => `${id}:batch`));
    const next = '/api/v1/models?batch=true&limit=1&offset=1';
    expect(await list('/models?limit=1&batch=true')).toMatchObject({ links: { next }, total_count: data.length });
    const entry = data.find(({ id }) => id === 'list/talker-0:batch');
    expect(entry).toMatchObject({ canonical_slug: 'list/talker-0', pricing: BATCH_PRICES });
  });

  it('M13 gives a name with markup as it is, in JSON', async () => {
    expect((await list('/models')).data.map(({ name }) => name)).toContain(MARKUP);
  });

  it('of embeddings stands in both lists, and one that only talks in one', async () => {
    const [all, embeddings] = [idsOf(await list('/models')), idsOf(await list('/embeddings/models'))];
    expect(embeddings.every((id) => all.includes(id))).toBe(true);
    expect(embeddings.every((id) => id.startsWith('list/embedder-'))).toBe(true);
  });

  it('leads to the endpoints of its model', async () => {
    const entry = (await list('/models')).data[0]!;
    const { status, body } = await ask(entry.links.details.replace('/api/v1', ''));
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({
      data: { id: entry.canonical_slug, endpoints: [{ pricing: { prompt: PRICES.prompt } }] },
    });
  });

  it.each(['list/nothing', 'list/%00', 'list/..', `list/${'x'.repeat(2_000)}`])(
    'of a model nobody has (%s) leads nowhere',
    async (slug) => {
      expectRefusal(await ask(`/models/${slug.slice(0, 1_900)}/endpoints`), 404);
    },
  );
});
