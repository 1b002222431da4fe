import { gzipSync } from 'node:zlib';
import { setTimeout as delay } from 'node:timers/promises';
import { linesOf, chatRequests, embeddingRequests, type TestLine } from '../support/batch-lines';
import { catalogueOf } from '../support/catalogue';
import { findViolations } from '../support/checker';
import type { ApiAnswer, ApiClient, BatchBody, BatchRequestLine } from '../support/client';
import { eventually } from '../support/eventually';
import { readBooks } from '../support/history';
import { Installation } from '../support/installation';
import { Upstream } from '../support/upstream';
import { Operator, type Tenant } from '../support/operator';
import { bytesOf, exchange, open, readAnswer, write, type HeaderLine, type RawAnswer } from './raw-http';
import { CANARY, expectRefusal } from './refusals';
import { countRows, type StoredRows } from '../support/stored-rows';

const CHAT = 'lots/talker';
const EMBEDDER = 'lots/embedder';
/** A batch of it costs real money, and takes a while. */
const PRICEY = 'lots/pricey';
/** Its provider runs no batches. */
const SINGLE = 'lots/single';
const PRICES = { prompt: '0.000000001', completion: '0.000000002' };
const ENDPOINT = '/v1/chat/completions';
const KIBIBYTE = 1024;
const MEBIBYTE = KIBIBYTE * KIBIBYTE;
const MAX_BYTES = 209_715_200;
const SLOW_MS = 2_500;

type Json = Readonly<Record<string, unknown>>;

let upstream: Upstream;
let installation: Installation;
let client: ApiClient;
let other: { workspace: ApiClient; organization: ApiClient; tenant: Tenant; limited: ApiClient };

beforeAll(async () => {
  upstream = await Upstream.start({ steady: {}, slow: { latencyMs: SLOW_MS } });
  const baseUrl = upstream.baseUrl('steady');
  const models = [
    { slug: CHAT, provider: 'lots-talk', baseUrl, pricing: PRICES },
    { slug: EMBEDDER, provider: 'lots-embed', baseUrl, apis: ['embeddings'], pricing: PRICES },
    {
      slug: PRICEY,
      provider: 'lots-pricey',
      baseUrl: upstream.baseUrl('slow'),
      pricing: { prompt: '0.001', completion: '0.001' },
    },
    { slug: SINGLE, provider: 'lots-single', baseUrl, pricing: PRICES },
  ];
  const catalogue = JSON.parse(catalogueOf(models)) as { providers: { slug: string; batch: string }[] };
  for (const provider of catalogue.providers) if (provider.slug === 'lots-single') provider.batch = 'none';
  installation = await Installation.start({ catalogue: JSON.stringify(catalogue), ownBroker: true });
  client = installation.client();
  const operator = new Operator(installation);
  const tenant = await operator.createTenant('Other', '1');
  const manager = installation.client(installation.seed.managementKey);
  other = {
    workspace: installation.client(await keyOfNewWorkspace(manager, 'neighbour')),
    limited: installation.client(await keyOfNewWorkspace(manager, 'limited')),
    organization: installation.client(tenant.apiKey),
    tenant,
  };
  await manager.close();
}, 240_000);

afterAll(async () => {
  await Promise.all([client, other?.workspace, other?.organization, other?.limited].map((each) => each?.close()));
  await installation?.stop();
  await upstream?.stop();
});

async function keyOfNewWorkspace(manager: ApiClient, slug: string): Promise<string> {
  const made = await manager.request<{ data: { id: string } }>('POST', '/workspaces', { name: slug, slug });
  const body = { name: slug, workspace_id: made.body.data.id };
  return (await manager.request<{ key: string }>('POST', '/keys', body)).body.key;
}

const line = (customId: unknown, body: unknown = bodyOf('Say something.')): Json => ({ custom_id: customId, body });
const bodyOf = (content: unknown): Json => ({ messages: [{ role: 'user', content }], max_tokens: 16 });
const batchOf = (members: Json = {}): Json => ({
  endpoint: ENDPOINT,
  model: CHAT,
  requests: [line('one'), line('two')],
  ...members,
});
const without = (member: string): Json =>
  Object.fromEntries(Object.entries(batchOf()).filter(([name]) => name !== member));
const withLine = (body: Json): Json =>
  batchOf({ requests: [line('fine'), line('odd', { ...bodyOf(CANARY), ...body })] });
const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

interface Sending {
  readonly key?: string;
  readonly framing?: readonly HeaderLine[];
  readonly more?: readonly HeaderLine[];
}

/** A submission by hand: its body is sent unchanged. */
function submissionOf(
  body: string | Buffer,
  { key = installation.seed.apiKey, framing, more = [] }: Sending = {},
): Buffer {
  return bytesOf({
    method: 'POST',
    target: '/api/v1/batches',
    headers: [
      ['Host', 'gateway'],
      ['Authorization', `Bearer ${key}`],
      ['Content-Type', 'application/json'],
      ...(framing ?? [['Content-Length', String(Buffer.byteLength(body))] as const]),
      ...more,
    ],
    body,
  });
}

const sendRaw = (body: string | Buffer, sending?: Sending): Promise<RawAnswer> =>
  exchange(installation.baseUrl, submissionOf(body, sending));

/** What is in the database and what the upstream was asked, before and after. */
async function traces(): Promise<{ rows: StoredRows; calls: number }> {
  return { rows: await countRows(installation.database), calls: (await upstream.counts()).calls };
}

/** Refused with the status, in the standard envelope, and leaves nothing. */
async function expectRefused(submit: () => Promise<RawAnswer>, status: number): Promise<RawAnswer> {
  const before = await traces();
  const answer = await submit();
  expectRefusal(answer, status);
  expect(await traces()).toEqual(before);
  return answer;
}

const submitted = async (body: Json, by: ApiClient = client): Promise<BatchBody> => {
  const answer = await by.request<BatchBody>('POST', '/batches', body);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 202 });
  expect(answer.body).toMatchObject({
    object: 'batch',
    status: 'validating',
    results: null,
    finalized_at: null,
    expires_at: answer.body.created_at + 86_400,
    error: null,
  });
  return answer.body;
};

function finished(id: string, by: ApiClient = client, withinMs = 30_000): Promise<BatchBody> {
  return eventually(`${id} comes to its end`, withinMs, async () => {
    const { body } = await by.getBatch(id);
    if (body.finalized_at !== null) return body;
    // A watcher must not use up what a workspace may read.
    return delay(50).then(() => undefined);
  });
}

describe('a batch', () => {
  it.each([
    [ENDPOINT, CHAT, chatRequests(linesOf('run-chat', 40)), linesOf('run-chat', 40)],
    ['/v1/embeddings', EMBEDDER, embeddingRequests(linesOf('run-embed', 40)), linesOf('run-embed', 40)],
  ] as const)('on %s runs to its end, and every promise about it holds', async (endpoint, model, requests, lines) => {
    const { id } = await submitted({ endpoint, model, requests });
    const batch = await finished(id);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 40, completed: 40, failed: 0 } });
    const markers = new Set(lines.map(({ marker }) => marker));
    const calls = (await upstream.calls()).filter(({ marker }) => markers.has(marker));
    const books = await readBooks(installation.database, id);
    const history = {
      endpoint,
      lines: lines as readonly TestLine[],
      prices: PRICES,
      batch,
      statuses: ['validating', batch.status],
      calls,
      books,
    };
    expect(findViolations(history)).toEqual([]);
    expect(calls).toHaveLength(40);
  });

  const goods: readonly (readonly [string, Json])[] = [
    [
      'B14 with custom_ids that differ only in case, blanks or composition',
      batchOf({ requests: ['a', 'A', ' a', 'a ', '\u00e9', 'e\u0301'].map((id) => line(id)) }),
    ],
    [
      'B17 with custom_ids that are names of the language',
      batchOf({ requests: ['__proto__', 'constructor', 'toString'].map((id) => line(id)) }),
    ],
    ['B15 with a custom_id of 512 characters', batchOf({ requests: [line('i'.repeat(512))] })],
    ['B19 whose items name its model', batchOf({ requests: [line('one', { ...bodyOf('x'), model: CHAT })] })],
    ['B20 whose items say stream: false', batchOf({ requests: [line('one', { ...bodyOf('x'), stream: false })] })],
    ['B21 whose items hold text in parts', batchOf({ requests: [line('one', bodyOf([{ type: 'text', text: 'x' }]))] })],
    ['B23 with the one window there is', batchOf({ completion_window: '24h' })],
    ['B24 with the provider that runs it', batchOf({ provider: { only: ['lots-talk'] } })],
    [
      'B24 with the provider that runs it and one that is not known',
      batchOf({ provider: { only: ['lots-talk', 'x'] } }),
    ],
    ['B24 with no wish about providers', batchOf({ provider: null })],
    ['B36 whose requests come first', { requests: [line('one')], model: CHAT, endpoint: ENDPOINT }],
    [
      'B46 with an item of 64 levels',
      batchOf({ requests: [line('one', { ...bodyOf('x'), deep: JSON.parse(nested(63)) })] }),
    ],
    [
      'B47 with a schema that refers to itself',
      batchOf({ requests: [line('one', { ...bodyOf('x'), tools: [recursiveTool()] })] }),
    ],
    ['B49 of the model under its name in the list', batchOf({ model: `${CHAT}:batch` })],
    ['with members nobody knows', batchOf({ colour: 'green', nested: { deep: true } })],
  ];

  it.each(goods)('%s is accepted and completes, answer by answer', async (_case, body) => {
    const { id, model } = await submitted(body);
    expect(model).toBe(body['model']);
    const batch = await finished(id);
    expect(batch.status).toBe('completed');
    const asked = (body['requests'] as BatchRequestLine[]).map(({ custom_id: customId }) => customId);
    expect(batch.results!.map(({ custom_id: customId }) => customId)).toEqual(asked);
    expect(batch.results!.every(({ error, response }) => error === null && response!.status_code === 200)).toBe(true);
  });

  it('B45 of a doubled member of an item the last one is run, as it was the last one that was checked', async () => {
    const [first, last] = linesOf('doubled', 2);
    const [one, two] = chatRequests([first!, last!]).map(({ body }) => JSON.stringify(body));
    const items = `{"custom_id":"first","custom_id":"last","body":${one},"body":${two}}`;
    const answer = await sendRaw(`{"endpoint":"${ENDPOINT}","model":"${CHAT}","requests":[${items}]}`);
    expect(answer.status).toBe(202);
    const batch = await finished((JSON.parse(answer.body) as BatchBody).id);
    expect(batch.results!.map(({ custom_id: customId }) => customId)).toEqual(['last']);
    const called = (await upstream.calls())
      .map(({ marker }) => marker)
      .filter((marker) => marker.startsWith('doubled'));
    expect(called).toEqual([last!.marker]);
  });
});

function recursiveTool(): Json {
  const parameters = { type: 'object', properties: { child: { $ref: '#' }, more: { $ref: '#/properties/more' } } };
  return { type: 'function', function: { name: 'walk', parameters } };
}

describe('a submission', () => {
  const image = (type: string): Json =>
    bodyOf([
      { type: 'text', text: 'x' },
      { type, [type]: { url: 'data:,x' } },
    ]);
  const bads: readonly (readonly [string, number, Json])[] = [
    ['B01 without endpoint', 400, without('endpoint')],
    ...[
      '/v1/completions',
      'v1/chat/completions',
      '/V1/chat/completions',
      '/v1/chat/completions/',
      '',
      null,
      1,
      [ENDPOINT],
    ].map((endpoint) => [`B02 with endpoint ${JSON.stringify(endpoint)}`, 400, batchOf({ endpoint })] as const),
    ['B03 without model', 400, without('model')],
    ...['', 1, null, ['x'], 'm'.repeat(10_000)].map(
      (model) => [`B03 with model ${JSON.stringify(model).slice(0, 9)}`, 400, batchOf({ model })] as const,
    ),
    ['B04 with a model nobody has', 400, batchOf({ model: 'lots/nobody' })],
    ['B05 with a chat model for embeddings', 400, batchOf({ endpoint: '/v1/embeddings' })],
    ['B05 with an embeddings model for chat', 400, batchOf({ model: EMBEDDER })],
    ['B05 with a model whose provider runs no batches', 400, batchOf({ model: SINGLE })],
    ...[':free', ':online', ':nitro', ':floor', ':exacto', ':thinking', ':extended'].map(
      (variant) => [`B06 with the variant ${variant}`, 422, batchOf({ model: CHAT + variant })] as const,
    ),
    ['B07 without requests', 400, without('requests')],
    ...[{}, 'x', null, 5, true].map(
      (requests) => [`B07 with requests ${JSON.stringify(requests)}`, 400, batchOf({ requests })] as const,
    ),
    ['B08 with no request', 400, batchOf({ requests: [] })],
    ...[null, 'x', [], 5, true].map(
      (item) => [`B09 with an item ${JSON.stringify(item)}`, 400, batchOf({ requests: [line('one'), item] })] as const,
    ),
    ...[undefined, null, 5, '', {}, ['x']].map(
      (id) =>
        [`B10, B11 with custom_id ${JSON.stringify(id)}`, 400, batchOf({ requests: [line('one'), line(id)] })] as const,
    ),
    ['B15 with a custom_id of 513 characters', 422, batchOf({ requests: [line('one'), line('i'.repeat(513))] })],
    ['B15 with a custom_id of 10 KB', 422, batchOf({ requests: [line('one'), line('i'.repeat(10_240))] })],
    ['B16 with a NUL in a custom_id', 400, batchOf({ requests: [line('one'), line('a\0b')] })],
    ['B16 with half a surrogate pair in a custom_id', 400, batchOf({ requests: [line('one'), line('a\ud800')] })],
    ...[undefined, null, [], 'x', 5].map(
      (body) =>
        [
          `B18 with a body ${JSON.stringify(body)}`,
          400,
          batchOf({ requests: [line('one'), { custom_id: 'two', body }] }),
        ] as const,
    ),
    ['B19 whose item names another model', 400, withLine({ model: `lots/${CANARY}` })],
    [
      'B19 whose items name models that differ',
      400,
      batchOf({
        requests: [line('one', { ...bodyOf('x'), model: CHAT }), line('odd', { ...bodyOf('x'), model: EMBEDDER })],
      }),
    ],
    ['B19 whose item names a number for a model', 400, withLine({ model: 5 })],
    ['B20 whose item wants a stream', 400, withLine({ stream: true })],
    ['B20 whose item wants something like a stream', 400, withLine({ stream: 'true' })],
    ...['image_url', 'image', 'input_image', 'input_audio', 'audio', 'video_url', 'file', 'input_file', 'document'].map(
      (type) =>
        [
          `B21 whose item holds a part of type ${type}`,
          400,
          batchOf({ requests: [line('one'), line('two', image(type))] }),
        ] as const,
    ),
    ['B22 whose item refers to an earlier response', 400, withLine({ previous_response_id: CANARY })],
    ...['1h', '24H', 24, null, '', {}].map(
      (window) =>
        [`B23 with a window of ${JSON.stringify(window)}`, 400, batchOf({ completion_window: window })] as const,
    ),
    ...[[], 'x', { only: [] }, { only: 'lots-talk' }, { only: [1] }, { only: [''] }, { order: ['lots-talk'] }].map(
      (provider) => [`B24 with provider ${JSON.stringify(provider).slice(0, 40)}`, 400, batchOf({ provider })] as const,
    ),
    [
      'B24 with ten thousand providers',
      400,
      batchOf({ provider: { only: Array.from({ length: 10_000 }, () => 'x') } }),
    ],
    ['B24 with a provider that is not known', 404, batchOf({ provider: { only: [CANARY] } })],
    ['B24 with a provider that does not run the model', 404, batchOf({ provider: { only: ['lots-embed'] } })],
    ...[0, -1, 1.5, 1e18, 1e9, '16', true].map(
      (value) => [`B29, B30 with max_tokens ${JSON.stringify(value)}`, 400, withLine({ max_tokens: value })] as const,
    ),
    ...[0, -1, 1.5, 1e9, '1'].map((n) => [`B29 with n ${JSON.stringify(n)}`, 400, withLine({ n })] as const),
    [
      'B29 that would cost more than anybody has',
      402,
      batchOf({
        model: PRICEY,
        requests: Array.from({ length: 100 }, (_, at) =>
          line(`l${at}`, { ...bodyOf('x'), max_tokens: 10_000_000, n: 128 }),
        ),
      }),
    ],
    ['B46 with an item of 65 levels', 400, withLine({ deep: JSON.parse(nested(64)) })],
    ['B46 with a member of 5,000 levels', 400, batchOf({ deep: 'DEEP' })],
    [
      'B48 with ten thousand pairs of metadata',
      400,
      withLine({ metadata: Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, 'v'])) }),
    ],
  ];

  it.each(bads)('%s is refused with %i', async (name, status, body) => {
    const text = JSON.stringify(body).replace('"DEEP"', nested(5_000));
    const answer = await expectRefused(() => sendRaw(text), status);
    if (/B(?:09|10|18|30|46 with an item)/.test(name)) expect(answer.body).toContain('requests[1]');
  });

  const malformed: readonly (readonly [string, number, string])[] = [
    ['B30 with NaN for max_tokens', 400, JSON.stringify(withLine({})).replace('"max_tokens":16', '"max_tokens":NaN')],
    ['B29 with a max_tokens of 1e999', 400, JSON.stringify(batchOf()).replace('"max_tokens":16', '"max_tokens":1e999')],
    ['B37 whose requests come twice', 400, `{"requests":[],${JSON.stringify(batchOf()).slice(1)}`],
    [
      'B37 whose requests come twice, the second spelled with an escape',
      400,
      `${JSON.stringify(batchOf()).slice(0, -1)},"reque\\u0073ts":[${JSON.stringify(line('three'))}]}`,
    ],
    ['B38 that stops inside its requests', 400, JSON.stringify(batchOf()).slice(0, -20)],
    ['B38 that stops before its last brace', 400, JSON.stringify(batchOf()).slice(0, -1)],
    ['that goes on after its end', 400, `${JSON.stringify(batchOf())}{}`],
    [
      'with a comma too many between items',
      400,
      `{"endpoint":"${ENDPOINT}","model":"${CHAT}","requests":[${JSON.stringify(line('a'))},,${JSON.stringify(line('b'))}]}`,
    ],
    [
      'with a comma after the last item',
      400,
      `{"endpoint":"${ENDPOINT}","model":"${CHAT}","requests":[${JSON.stringify(line('a'))},]}`,
    ],
    [
      'with an item in single quotes',
      400,
      `{"endpoint":"${ENDPOINT}","model":"${CHAT}","requests":[{'custom_id':'${CANARY}'}]}`,
    ],
    [
      'with brackets that do not fit',
      400,
      `{"endpoint":"${ENDPOINT}","model":"${CHAT}","requests":[{"custom_id":"a","body":{]}]}`,
    ],
  ];

  it.each(malformed)('%s is refused with %i', async (_case, status, text) => {
    await expectRefused(() => sendRaw(text), status);
  });

  it('B12 with one custom_id twice is refused, and the answer names it', async () => {
    const body = JSON.stringify(batchOf({ requests: [line('one'), line('same"id'), line('same"id')] }));
    const answer = await expectRefused(() => sendRaw(body), 422);
    const { error } = JSON.parse(answer.body) as { error: { message: string } };
    expect(error.message).toContain(JSON.stringify('same"id'));
  });

  it('B13 with one custom_id twice, ten thousand lines apart, is refused, and nothing is left of what was stored', async () => {
    const filler = 'x'.repeat(KIBIBYTE);
    const requests = Array.from({ length: 10_000 }, (_, at) =>
      line(at === 9_999 ? 'line-0' : `line-${at}`, bodyOf(filler)),
    );
    const answer = await expectRefused(() => sendRaw(JSON.stringify(batchOf({ requests }))), 422);
    expect(answer.body).toContain('line-0');
  });

  it('B33 of which more arrives than was announced is cut where it was to end', async () => {
    const text = JSON.stringify(batchOf());
    await expectRefused(() => sendRaw(text + text, { framing: [['Content-Length', String(text.length - 30)]] }), 400);
  });

  it('B34 with an item of 6 MiB is refused', async () => {
    const body = JSON.stringify(batchOf({ requests: [line('one'), line('big', bodyOf('x'.repeat(6 * MEBIBYTE)))] }));
    await expectRefused(() => sendRaw(body), 413);
  });

  it('B35 with more items than there may be is refused', async () => {
    const items = Array.from({ length: 500_001 }, (_, at) => `{"custom_id":"${at}","body":{}}`);
    const body = Buffer.from(`{"endpoint":"${ENDPOINT}","model":"${CHAT}","requests":[${items.join(',')}]}`);
    await expectRefused(() => sendRaw(body), 413);
  });

  it('B38 that breaks off after twenty megabytes is refused', async () => {
    const body = largeBody(20 * MEBIBYTE).slice(0, -1);
    const framing: HeaderLine[] = [['Transfer-Encoding', 'chunked']];
    await expectRefused(() => exchange(installation.baseUrl, [submissionOf('', { framing }), ...chunkedOf(body)]), 400);
  });

  it('B39 that is abandoned on its way leaves nothing', async () => {
    const before = await traces();
    const socket = await open(installation.baseUrl);
    const framing: HeaderLine[] = [['Content-Length', String(40 * MEBIBYTE)]];
    await write(socket, submissionOf('', { framing }));
    for (const piece of largeBody(40 * MEBIBYTE).slice(0, -4)) await write(socket, piece);
    await eventually('a part of it is stored', 10_000, async () =>
      (await countRows(installation.database)).batch_lines === before.rows.batch_lines ? undefined : true,
    );
    socket.resetAndDestroy();
    await eventually('all of it is gone', 10_000, async () => {
      const now = await traces();
      return JSON.stringify(now) === JSON.stringify(before) ? true : undefined;
    });
  });

  it('B50 that is compressed is refused', async () => {
    const more: HeaderLine[] = [['Content-Encoding', 'gzip']];
    await expectRefused(() => sendRaw(gzipSync(JSON.stringify(batchOf())), { more }), 400);
  });
});

/** A good submission of exactly `bytes` bytes, in pieces that share their memory: lines of 4 MiB and one more. */
function largeBody(bytes: number): Buffer[] {
  const filler = Buffer.alloc(4 * MEBIBYTE, 'x');
  const start = Buffer.from(`{"endpoint":"${ENDPOINT}","model":"${CHAT}","requests":[`);
  const end = Buffer.from(']}');
  const pieces: Buffer[] = [start];
  let left = bytes - start.length - end.length;
  for (let at = 0; left > 0; at += 1) {
    const comma = at === 0 ? '' : ',';
    const head = Buffer.from(`${comma}{"custom_id":"large-${at}","body":{"messages":[{"role":"user","content":"`);
    const tail = Buffer.from('"}],"max_tokens":16}}');
    const room = left - head.length - tail.length;
    // The last line takes what is left, which is less than the next one's frame needs or than 5 MiB.
    const size = room < filler.length + KIBIBYTE ? room : filler.length;
    pieces.push(head, size <= filler.length ? filler.subarray(0, size) : Buffer.alloc(size, 'x'), tail);
    left -= head.length + size + tail.length;
  }
  return [...pieces, end];
}

const chunkedOf = (pieces: readonly Buffer[]): Buffer[] => [
  ...pieces.flatMap((piece) => [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
  Buffer.from('0\r\n\r\n'),
];

describe('a submission at the limit of its size', () => {
  it('B31 is accepted with exactly 209,715,200 bytes, and runs', async () => {
    const pieces = largeBody(MAX_BYTES);
    expect(pieces.reduce((sum, { length }) => sum + length, 0)).toBe(MAX_BYTES);
    const framing: HeaderLine[] = [['Content-Length', String(MAX_BYTES)]];
    const answer = await exchange(installation.baseUrl, [submissionOf('', { framing }), ...pieces]);
    expect({ status: answer.status, body: answer.body.slice(0, 300) }).toMatchObject({ status: 202 });
    const batch = await finished((JSON.parse(answer.body) as BatchBody).id, client, 45_000);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { failed: 0 } });
    expect(batch.results).toHaveLength(batch.request_counts.total);
  });

  it('B31, B32 is refused with one byte more, which only shows at the end of a chunked body', async () => {
    const framing: HeaderLine[] = [['Transfer-Encoding', 'chunked']];
    const pieces = [submissionOf('', { framing }), ...chunkedOf(largeBody(MAX_BYTES + 1))];
    await expectRefused(() => exchange(installation.baseUrl, pieces), 413);
    await expectRefused(() => sendRaw('', { framing: [['Content-Length', String(MAX_BYTES + 1)]] }), 413);
  });
});

describe('lines that do not fit their endpoint', () => {
  const odd: readonly (readonly [string, Json, string])[] = [
    ['messages that are empty', { messages: [] }, 'messages'],
    ['no messages', { max_tokens: 5 }, 'messages'],
    ['a role nobody has', { messages: [{ role: 'king', content: 'x' }] }, 'messages[0].role'],
    ['a temperature of 3', { ...bodyOf('x'), temperature: 3 }, 'temperature'],
    [
      'a tool without a name',
      { ...bodyOf('x'), tools: [{ type: 'function', function: {} }] },
      'tools[0].function.name',
    ],
  ];

  it.each(odd)('%s fail the batch before anything runs or costs', async (_case, body, member) => {
    const lines = linesOf(`odd-${member.replaceAll(/\W/g, '')}`, 3);
    const requests = [...chatRequests(lines), { custom_id: 'odd', body }];
    const { id } = await submitted({ endpoint: ENDPOINT, model: CHAT, requests });
    const batch = await finished(id);
    expect(batch).toMatchObject({
      status: 'failed',
      results: [],
      usage: null,
      request_counts: { total: 4, completed: 0, failed: 0 },
    });
    expect(batch.error!.message).toMatch(/^requests\[3\]\.body/);
    expect(batch.error!.message).toContain(member);
    const books = await readBooks(installation.database, id);
    expect(books).toMatchObject({ holds: [{ state: 'resolved' }], transfers: [], segments: 0, drift: [] });
    expect(Number(books.holds[0]!.settledUsd)).toBe(0);
    const called = (await upstream.calls()).filter(({ marker }) => lines.some((each) => each.marker === marker));
    expect(called).toEqual([]);
  });

  it('of embeddings fail it too', async () => {
    const requests = [line('one', { input: 'fine' }), line('two', { input: [] })];
    const batch = await finished((await submitted({ endpoint: '/v1/embeddings', model: EMBEDDER, requests })).id);
    expect(batch).toMatchObject({ status: 'failed', results: [] });
    expect(batch.error!.message).toMatch(/^requests\[1\]\.body.*input/);
  });
});

describe('a workspace that submits again', () => {
  const submitWith = (key: string, body: Json, by: ApiClient = client): Promise<ApiAnswer<BatchBody>> =>
    by.request<BatchBody>('POST', '/batches', body, { 'idempotency-key': key });

  it('B40 under the same Idempotency-Key gets the same batch, and pays once', async () => {
    const first = await submitWith('again', batchOf());
    await finished(first.body.id);
    const before = await traces();
    const second = await submitWith('again', batchOf());
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body.id).toBe(first.body.id);
    expect(await traces()).toEqual(before);
  });

  it('B40 under the same key with another body is refused, and the first batch stays', async () => {
    const first = await submitWith('other-body', batchOf());
    await finished(first.body.id);
    const more: HeaderLine[] = [['Idempotency-Key', 'other-body']];
    await expectRefused(() => sendRaw(JSON.stringify(batchOf({ requests: [line('three')] })), { more }), 422);
    expect((await client.getBatch(first.body.id)).status).toBe(200);
  });

  it('B40 in another workspace is a stranger to the key', async () => {
    const mine = await submitWith('shared', batchOf());
    const theirs = await submitWith('shared', batchOf(), other.workspace);
    expect(theirs.status).toBe(202);
    expect(theirs.body.id).not.toBe(mine.body.id);
    await Promise.all([finished(mine.body.id), finished(theirs.body.id, other.workspace)]);
  });

  it('after a refusal may use the key for what it corrected', async () => {
    expect((await submitWith('corrected', without('model'))).status).toBe(400);
    const answer = await submitWith('corrected', batchOf());
    expect(answer.status).toBe(202);
    await finished(answer.body.id);
  });

  it.each([
    ['of 256 characters', 'k'.repeat(256)],
    ['that is empty', ''],
    ['with a control character', 'a\tb'],
    ['with letters beyond ASCII', 'schl\xfcssel'],
  ])('B41 may not use a key %s', async (_case, key) => {
    await expectRefused(() => sendRaw(JSON.stringify(batchOf()), { more: [['Idempotency-Key', key]] }), 400);
  });

  it('B42 eight times at once makes one batch', async () => {
    const rows = await countRows(installation.database);
    const answers = await Promise.all(Array.from({ length: 8 }, () => submitWith('at-once', batchOf())));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 202));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    await finished(answers[0]!.body.id);
    expect(Number((await countRows(installation.database)).batches)).toBe(Number(rows.batches) + 1);
  });
});

describe('an organization with one dollar', () => {
  const priced = (lines: number): Json =>
    batchOf({
      model: PRICEY,
      requests: Array.from({ length: lines }, (_, at) => line(`line-${at}`, bodyOf('x'.repeat(30)))),
    });

  it('B27 cannot submit what may cost more', async () => {
    await expectRefused(() => sendRaw(JSON.stringify(priced(40)), { key: other.tenant.apiKey }), 402);
  });

  it('B28 submits many at once, and exactly as many are accepted as it can pay', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => other.organization.request<BatchBody>('POST', '/batches', priced(4))),
    );
    const accepted = answers.filter(({ status }) => status === 202);
    const { holds } = await readBooks(installation.database, accepted[0]!.body.id);
    const affordable = Math.floor(1 / Number(holds[0]!.amountUsd));
    expect(affordable).toBeGreaterThan(1);
    expect(affordable).toBeLessThan(12);
    expect(accepted).toHaveLength(affordable);
    for (const answer of answers.filter((each) => each.status !== 202)) {
      expectRefusal({ ...answer, body: answer.text }, 402);
    }
    for (const { body } of accepted) await finished(body.id, other.organization);
    expect((await readBooks(installation.database, accepted[0]!.body.id)).drift).toEqual([]);
  });

  it('B40 may repeat a submission that took what it had left, and is told of the same batch', async () => {
    const submit = (lines: number): Promise<ApiAnswer<BatchBody>> =>
      other.organization.request<BatchBody>('POST', '/batches', priced(lines), { 'idempotency-key': 'all-there-was' });
    let lines = 40;
    let first = await submit(lines);
    while (first.status === 402 && lines > 1) first = await submit((lines -= 1));
    const again = await submit(lines);
    expect([again.status, again.body.id]).toEqual([202, first.body.id]);
    await finished(first.body.id, other.organization);
  });
});

describe('reading a batch', () => {
  let batch: BatchBody;
  let unknown: RawAnswer;

  const get = (target: string, more: readonly HeaderLine[] = [], method = 'GET', body = ''): Promise<RawAnswer> =>
    exchange(
      installation.baseUrl,
      bytesOf({
        method,
        target,
        headers: [['Host', 'gateway'], ['Authorization', `Bearer ${installation.seed.apiKey}`], ...more],
        body,
      }),
    );
  const read = (id: string): Promise<RawAnswer> => get(`/api/v1/batches/${id}`);

  beforeAll(async () => {
    batch = await finished((await submitted(batchOf({ requests: [line('by-custom-id')] }))).id);
    unknown = await read('batch-1760000000-AAAAAAAAAAAAAAAAAAAA');
  });

  it('P01 that nobody knows gets 404', () => {
    expectRefusal(unknown, 404);
  });

  it.each([
    ['P02 of another organization', () => other.organization],
    ['P03, GB14 of another workspace', () => other.workspace],
  ])('%s gets the very bytes of an unknown one', async (_case, by) => {
    const answer = await by().getBatch(batch.id);
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 404, text: unknown.body });
  });

  const ids: readonly (readonly [string, number, (id: string) => string])[] = [
    ['P04 no id', 404, () => ''],
    ['P05 an id of 10 KB', 404, () => 'b'.repeat(10_240)],
    ['P05 an id of 20 KB', 431, () => 'b'.repeat(20_480)],
    ['P06 a NUL', 404, () => '%00'],
    ['P06 its id and a NUL', 404, (id) => `${id}%00`],
    ['P07 a way up', 404, () => '..%2f..%2fetc%2fpasswd'],
    ['P08 the folder above', 404, () => '%2e%2e'],
    ['P09 SQL', 404, () => `'%20OR%201=1--`],
    ['P10 a bad escape', 400, () => '%'],
    ['P11 bytes that are no UTF-8', 400, () => '%ff'],
    ['P12 its id in capitals', 404, (id) => id.toUpperCase()],
    ['P12 its id in small letters', 404, (id) => (id === id.toLowerCase() ? 'x' : id.toLowerCase())],
    ['P13 its id and a blank', 404, (id) => `${id}%20`],
    ['P13 a blank and its id', 404, (id) => `%20${id}`],
    ['P14 a path below it', 404, (id) => `${id}/x`],
    ['P14 a slash after it', 404, (id) => `${id}/`],
    ['P15 a parameter of its path', 404, (id) => `${id};a=b`],
    ['P16 a custom_id of it', 404, () => 'by-custom-id'],
    ['P17 an id of another kind', 404, (id) => id.replace('batch-', 'gen-')],
    ['P18 a star', 404, () => '*'],
    ['P18 a LIKE pattern', 404, () => '%25'],
    ['P18 a LIKE pattern that would fit', 404, () => 'batch-%25'],
    ['P21 the nil UUID', 404, () => '00000000-0000-0000-0000-000000000000'],
    ['P22 its id behind a mark that turns the text', 404, (id) => `%E2%80%AE${id}`],
    ['P22 its id with a character of no width', 404, (id) => `${id}%E2%80%8B`],
    ['P22 half a surrogate pair', 400, () => '%ED%A0%80'],
    ...['[object%20Object]', 'undefined', 'null', 'NaN', '0', '-1', '__proto__'].map(
      (id) => [`P23 ${id}`, 404, () => id] as const,
    ),
  ];

  it.each(ids)('by %s gets %i', async (_case, status, idOf) => {
    expectRefusal(await read(idOf(batch.id)), status);
  });

  it('P24 ignores a query', async () => {
    const answer = await get(`/api/v1/batches/${batch.id}?id=x&id=y&status[]=1`);
    expect(answer).toMatchObject({ status: 200, body: (await read(batch.id)).body });
  });

  it('P25 with a body of a megabyte is answered all the same', async () => {
    const body = 'x'.repeat(MEBIBYTE);
    const answer = await get(`/api/v1/batches/${batch.id}`, [['Content-Length', String(body.length)]], 'GET', body);
    expect([200, 400]).toContain(answer.status);
    expect((await read(batch.id)).status).toBe(200);
  });

  it('under the path where batches were first published is the same', async () => {
    expect((await get(`/api/beta/batches/${batch.id}`)).body).toBe((await read(batch.id)).body);
  });

  it('GB3 that is finished shows a result for each request', () => {
    expect(batch.results).toHaveLength(batch.request_counts.total);
    expect(batch.finalized_at).toBeGreaterThanOrEqual(batch.created_at);
  });

  it('GB9 by HEAD shows no body', async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      open(installation.baseUrl).then((socket) => {
        let text = '';
        socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
        socket.once('close', () => resolve(text));
        const headers: HeaderLine[] = [
          ['Host', 'gateway'],
          ['Authorization', `Bearer ${installation.seed.apiKey}`],
          ['Connection', 'close'],
        ];
        socket.write(bytesOf({ method: 'HEAD', target: `/api/v1/batches/${batch.id}`, headers }));
      }, reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 (?:200|405) /);
    expect(answer.endsWith('\r\n\r\n')).toBe(true);
  });

  it.each([
    ['If-None-Match', '*'],
    ['Range', 'bytes=0-10'],
    ['Accept', 'text/html'],
    ['Accept-Encoding', 'gzip'],
  ])('GB10, GB13 with %s: %s is plain JSON and whole', async (name, value) => {
    const answer = await get(`/api/v1/batches/${batch.id}`, [[name, value]]);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect(JSON.parse(answer.body)).toMatchObject({ id: batch.id, status: 'completed' });
  });

  it('GB1 that nobody has looked at yet says validating', async () => {
    await installation.stopApp('batch-worker');
    const { id } = await submitted(batchOf());
    expect((await client.getBatch(id)).body).toMatchObject({
      status: 'validating',
      results: null,
      request_counts: { total: 2, completed: 0, failed: 0 },
    });
    await installation.startApp('batch-worker');
    expect((await finished(id)).status).toBe('completed');
  });

  it('GB2 that is at work shows how far it is and no results', async () => {
    const { id } = await submitted(batchOf({ model: PRICEY }));
    const running = await eventually('it is at work', 5_000, async () => {
      const { body } = await client.getBatch(id);
      return body.status === 'validating' ? undefined : body;
    });
    expect(running).toMatchObject({
      status: 'in_progress',
      results: null,
      usage: null,
      finalized_at: null,
      request_counts: { total: 2 },
    });
    expect((await finished(id)).results).toHaveLength(2);
  });

  it('GB4 ends thirty days after it was created, and not before', async () => {
    const { id } = await finished((await submitted(batchOf())).id);
    const age = (margin: string): Promise<number> =>
      installation.database.execute({
        sql: `UPDATE batches SET created_at = now() - interval '30 days' + $2::interval WHERE id = $1`,
        values: [id, margin],
      });
    await age('3 seconds');
    expect((await read(id)).status).toBe(200);
    await age('-1 second');
    expectRefusal(await read(id), 410);
  });
});

describe('a workspace in a hurry', () => {
  const trio = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

  function expectLimited(answer: ApiAnswer): void {
    expectRefusal({ ...answer, body: answer.text }, 429);
    expect(String(answer.headers['retry-after'])).toMatch(/^[1-9]\d*$/);
    for (const name of trio) expect(String(answer.headers[name])).toMatch(/^\d+$/);
    expect(Number(answer.headers['x-ratelimit-remaining'])).toBe(0);
  }

  it('U51 may submit sixty batches in a minute and no more', async () => {
    const startedMs = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 75 }, () => other.limited.request<BatchBody>('POST', '/batches', batchOf())),
    );
    const refilled = Math.ceil((performance.now() - startedMs) / 1_000);
    const accepted = answers.filter(({ status }) => status === 202);
    expect(accepted.length).toBeGreaterThanOrEqual(60);
    expect(accepted.length).toBeLessThanOrEqual(60 + refilled);
    for (const answer of answers.filter(({ status }) => status !== 202)) expectLimited(answer);
    for (const { body } of accepted) await finished(body.id, other.limited);
  });

  it('does not use up its submissions with mistakes', async () => {
    const before = await countRows(installation.database);
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, at) =>
        other.workspace.request('POST', '/batches', at < 40 ? without('model') : batchOf({ model: 'x' })),
      ),
    );
    // Eighty at once are more than sixty; those that were looked at were refused and given back.
    expect(answers.every(({ status }) => status === 400 || status === 429)).toBe(true);
    expect((await other.workspace.request('POST', '/batches', without('model'))).status).toBe(400);
    expect(await countRows(installation.database)).toEqual(before);
  });

  it('GB7 may read often and not without end, and reading costs nothing', async () => {
    const before = await countRows(installation.database);
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => other.workspace.getBatch('batch-1760000000-AAAAAAAAAAAAAAAAAAAA')),
    );
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(0);
    for (const answer of limited) expectLimited(answer);
    expect(answers.filter(({ status }) => status === 404).length).toBeGreaterThanOrEqual(100);
    expect(await countRows(installation.database)).toEqual(before);
  });
});

describe('without RabbitMQ', () => {
  it('B43 a batch is accepted, and completes when the broker is back', async () => {
    const text = JSON.stringify(batchOf());
    const unseen = await new Operator(installation).createTenant('unseen', null);
    const socket = await open(installation.baseUrl);
    const answer = readAnswer(socket);
    const whole = submissionOf(text);
    await write(socket, whole.subarray(0, whole.length - 40));
    // The caller is known once the gateway has begun to read.
    await client.request('GET', '/models');
    await installation.broker.kill9();
    await write(socket, whole.subarray(whole.length - 40));
    const { status, body } = await answer;
    socket.destroy();
    expect({ status, body }).toMatchObject({ status: 202 });
    // A key that the gateway has not seen cannot be checked, which does not make it a wrong one.
    const stranger = await exchange(installation.baseUrl, submissionOf(text, { key: unseen.apiKey }));
    expectRefusal(stranger, 503);
    expect(stranger.headers['retry-after']).toMatch(/^\d+$/);
    await installation.broker.restart();
    const { id } = JSON.parse(body) as BatchBody;
    const batch = await eventually('the batch completes', 60_000, async () => {
      const read = await client.getBatch(id);
      if (read.status === 200 && read.body.finalized_at !== null) return read.body;
      return delay(100).then(() => undefined);
    });
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 2, completed: 2, failed: 0 } });
    expect(['gateway', 'auth', 'batch-worker'].map((name) => installation.deathsOf(name))).toEqual([0, 0, 0]);
  });
});

describe('at the end of all this', () => {
  it('the books balance to the last digit', async () => {
    const audit = await new Operator(installation).runHere<{ drift: string }>('ledger', 'audit');
    expect(audit).toMatchObject({ drift: '0', findings: [] });
  });
});
