import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import { hashApiKey, mintApiKey } from '@libs/contracts';
import { TcpProxy } from '@libs/platform/testing';
import { linesOf, chatRequests } from '../support/batch-lines';
import { catalogueOf } from '../support/catalogue';
import { ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { Installation } from '../support/installation';
import { Upstream } from '../support/upstream';
import { bytesOf, exchange, open, write, type HeaderLine, type RawAnswer } from './raw-http';
import { CANARY, expectRefusal } from './refusals';
import { countRows, type StoredRows } from '../support/stored-rows';

const CHAT = 'edge/talker';
const EMBEDDER = 'edge/embedder';
const MEBIBYTE = 1024 * 1024;
const PRICES = { prompt: '0.0000000001', completion: '0.0000000002' };

type Access = 'api' | 'management';

interface Endpoint {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly access: Access;
  /** A body that is accepted. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** The most bytes that a body may have. */
  readonly maxBytes?: number;
}

const messages = [{ role: 'user', content: 'Say something please.' }];
const CHAT_BODY = { model: CHAT, messages, max_tokens: 16 };
const BATCH_BODY = {
  endpoint: '/v1/chat/completions',
  model: CHAT,
  requests: chatRequests(linesOf('edge', 2)),
};

const POSTS: readonly Endpoint[] = [
  {
    name: 'POST /chat/completions',
    method: 'POST',
    path: '/chat/completions',
    access: 'api',
    body: CHAT_BODY,
    maxBytes: 32 * MEBIBYTE,
  },
  {
    name: 'POST /embeddings',
    method: 'POST',
    path: '/embeddings',
    access: 'api',
    body: { model: EMBEDDER, input: 'words' },
    maxBytes: 32 * MEBIBYTE,
  },
  {
    name: 'POST /batches',
    method: 'POST',
    path: '/batches',
    access: 'api',
    body: BATCH_BODY,
    maxBytes: 200 * MEBIBYTE,
  },
  {
    name: 'POST /keys',
    method: 'POST',
    path: '/keys',
    access: 'management',
    body: { name: 'edge' },
    maxBytes: MEBIBYTE,
  },
  {
    name: 'POST /workspaces',
    method: 'POST',
    path: '/workspaces',
    access: 'management',
    body: { name: 'Edge', slug: 'edge' },
    maxBytes: MEBIBYTE,
  },
  {
    name: 'POST /byok',
    method: 'POST',
    path: '/byok',
    access: 'management',
    body: { key: 'edge-0123456789abcdef', provider: 'openai' },
    maxBytes: MEBIBYTE,
  },
];
const GETS: readonly Endpoint[] = [
  { name: 'GET /batches/{id}', method: 'GET', path: '/batches/batch-1760000000-AAAAAAAAAAAAAAAAAAAA', access: 'api' },
  { name: 'GET /models', method: 'GET', path: '/models', access: 'api' },
  { name: 'GET /embeddings/models', method: 'GET', path: '/embeddings/models', access: 'api' },
  { name: 'GET /keys', method: 'GET', path: '/keys', access: 'management' },
  { name: 'GET /workspaces', method: 'GET', path: '/workspaces', access: 'management' },
  { name: 'GET /credits', method: 'GET', path: '/credits', access: 'management' },
  { name: 'GET /byok', method: 'GET', path: '/byok', access: 'management' },
];
const ENDPOINTS = [...POSTS, ...GETS];

let upstream: Upstream;
let redis: TcpProxy;
let installation: Installation;
let manager: ApiClient;
let before: StoredRows;
let callsBefore: number;
/** Keys by what is wrong with them. */
let spoilt: { disabled: string; expired: string; unknown: string; misprinted: string };

beforeAll(async () => {
  upstream = await Upstream.start({ steady: {} });
  redis = await TcpProxy.start(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
  const baseUrl = upstream.baseUrl('steady');
  installation = await Installation.start({
    catalogue: catalogueOf([
      { slug: CHAT, provider: 'edge-talk', baseUrl, pricing: PRICES },
      { slug: EMBEDDER, provider: 'edge-embed', baseUrl, apis: ['embeddings'], pricing: PRICES },
    ]),
    environment: { REDIS_URL: redis.through(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379') },
  });
  manager = installation.client(installation.seed.managementKey);
  spoilt = {
    disabled: await createKey('disabled'),
    expired: await createKey('expired'),
    unknown: mintApiKey('sluice', 'api'),
    misprinted: misprint(installation.seed.apiKey),
  };
  await manager.request('PATCH', `/keys/${hashApiKey(spoilt.disabled)}`, { disabled: true });
  await installation.database.execute({
    sql: `UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE hash = $1`,
    values: [hashApiKey(spoilt.expired)],
  });
  before = await countRows(installation.database);
  callsBefore = (await upstream.counts()).calls;
}, 240_000);

afterAll(async () => {
  await manager?.close();
  await installation?.stop();
  await redis?.close();
  await upstream?.stop();
});

async function createKey(name: string): Promise<string> {
  return (await manager.request<{ key: string }>('POST', '/keys', { name })).body.key;
}

/** The last character of the checksum is another one. */
function misprint(key: string): string {
  return key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
}

const keyFor = (access: Access): string =>
  access === 'api' ? installation.seed.apiKey : installation.seed.managementKey;

const host = (): HeaderLine => ['Host', new URL(installation.baseUrl).host];
const bearer = (key: string): HeaderLine => ['Authorization', `Bearer ${key}`];
const json: HeaderLine = ['Content-Type', 'application/json'];
const lengthOf = (body: string | Buffer): HeaderLine => ['Content-Length', String(Buffer.byteLength(body))];

interface Changes {
  readonly method?: string;
  readonly target?: string;
  readonly authorization?: readonly HeaderLine[];
  readonly hosts?: readonly HeaderLine[];
  readonly contentType?: readonly HeaderLine[];
  readonly framing?: readonly HeaderLine[];
  readonly more?: readonly HeaderLine[];
  readonly body?: string | Buffer;
}

/** A good request to the endpoint, but for the changes. */
function requestTo(endpoint: Endpoint, changes: Changes = {}): Buffer {
  const { method, access, path } = endpoint;
  const body = changes.body ?? (endpoint.body === undefined ? '' : JSON.stringify(endpoint.body));
  const { contentType, framing } = method === 'POST' ? { contentType: [json], framing: [lengthOf(body)] } : NO_BODY;
  const parts = {
    hosts: [host()],
    authorization: [bearer(keyFor(access))],
    contentType,
    framing,
    more: [],
    ...changes,
  };
  return bytesOf({
    method: changes.method ?? method,
    target: changes.target ?? `/api/v1${path}`,
    headers: [...parts.hosts, ...parts.authorization, ...parts.contentType, ...parts.framing, ...parts.more],
    body,
  });
}

const NO_BODY = { contentType: [], framing: [] };

const send = (endpoint: Endpoint, changes: Changes = {}): Promise<RawAnswer> =>
  exchange(installation.baseUrl, requestTo(endpoint, changes));

async function expectNothingLeft(): Promise<void> {
  expect(await countRows(installation.database)).toEqual(before);
  expect((await upstream.counts()).calls).toBe(callsBefore);
}

/** Refused with the status in the standard envelope, and nothing is left of it. */
async function expectRefused(answer: RawAnswer | Promise<RawAnswer>, status: number): Promise<RawAnswer> {
  const given = await answer;
  expectRefusal(given, status, [...Object.values(spoilt), hashApiKey(installation.seed.apiKey)]);
  await expectNothingLeft();
  return given;
}

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const jwtOf = (header: object, expiresAt: number, signature: string): string =>
  `${base64url(header)}.${base64url({ sub: 'edge', scope: 'inference', exp: expiresAt })}.${signature}`;

describe.each(ENDPOINTS)('a caller of $name', (endpoint) => {
  const cases: readonly (readonly [string, number, () => Changes])[] = [
    ['U01 without an Authorization header', 401, () => ({ authorization: [] })],
    ['U02 with an empty one', 401, () => ({ authorization: [['Authorization', '']] })],
    ['U03 with a Bearer that holds nothing', 401, () => ({ authorization: [['Authorization', 'Bearer']] })],
    [
      'U04 with Basic',
      401,
      () => ({
        authorization: [['Authorization', `Basic ${Buffer.from(`x:${keyFor(endpoint.access)}`).toString('base64')}`]],
      }),
    ],
    [
      'U06 with two good ones',
      401,
      () => ({ authorization: [bearer(keyFor(endpoint.access)), bearer(keyFor(endpoint.access))] }),
    ],
    [
      'U06 with two, the second invented',
      401,
      () => ({ authorization: [bearer(keyFor(endpoint.access)), bearer(spoilt.unknown)] }),
    ],
    ['U07 with a second word after the key', 401, () => ({ authorization: [bearer(`${keyFor(endpoint.access)} x`)] })],
    [
      'U07 with a tab and more after the key',
      401,
      () => ({ authorization: [bearer(`${keyFor(endpoint.access)}\tx`)] }),
    ],
    ['U07 with two blanks before the key', 401, () => ({ authorization: [bearer(` ${keyFor(endpoint.access)}`)] })],
    ['U08 with a misprinted key', 401, () => ({ authorization: [bearer(spoilt.misprinted)] })],
    ['U09 with a key nobody made', 401, () => ({ authorization: [bearer(spoilt.unknown)] })],
    ['U10 with a disabled key', 401, () => ({ authorization: [bearer(spoilt.disabled)] })],
    ['U11 with an expired key', 401, () => ({ authorization: [bearer(spoilt.expired)] })],
    ['U12 with the hash of a good key', 401, () => ({ authorization: [bearer(hashApiKey(keyFor(endpoint.access)))] })],
    ['U13 with a bearer of 10 KiB', 401, () => ({ authorization: [bearer('k'.repeat(10_240))] })],
    ['U13 with a bearer of 16 KiB', 431, () => ({ authorization: [bearer('k'.repeat(16_384))] })],
    [
      'U14 with bytes above ASCII in the header',
      401,
      () => ({ authorization: [bearer(`${keyFor(endpoint.access)}\xff\x80`)] }),
    ],
    ['U14 with a NUL in the header', 400, () => ({ authorization: [bearer(`${keyFor(endpoint.access)}\0`)] })],
    [
      'U15 with the key in the query',
      401,
      () => ({ authorization: [], target: `/api/v1${endpoint.path}?api_key=${keyFor(endpoint.access)}` }),
    ],
    [
      'U16 with a token that signs itself with nothing',
      401,
      () => ({ authorization: [bearer(jwtOf({ alg: 'none', typ: 'at+jwt' }, 9_999_999_999, ''))] }),
    ],
    [
      'U16 with a token whose signature is invented',
      401,
      () => ({ authorization: [bearer(jwtOf({ alg: 'ES256', typ: 'at+jwt' }, 9_999_999_999, 'A'.repeat(86)))] }),
    ],
    [
      'U16 with a token that has expired',
      401,
      () => ({ authorization: [bearer(jwtOf({ alg: 'ES256', typ: 'at+jwt' }, 1, 'A'.repeat(86)))] }),
    ],
    [
      'U20 with the token of an identity provider',
      401,
      () => ({
        authorization: [bearer(jwtOf({ alg: 'RS256', typ: 'JWT', kid: '1' }, 9_999_999_999, 'A'.repeat(342)))],
      }),
    ],
  ];

  it.each(cases)('%s gets %i', async (_case, status, changes) => {
    await expectRefused(send(endpoint, changes()), status);
  });

  it('learns nothing from how a credential is refused', async () => {
    const bodies = await Promise.all(
      [spoilt.misprinted, spoilt.unknown, spoilt.disabled, spoilt.expired].map(
        async (key) => (await send(endpoint, { authorization: [bearer(key)] })).body,
      ),
    );
    expect(new Set(bodies).size).toBe(1);
  });

  it('U05 may write bearer in small letters', async () => {
    const answer = await send(endpoint, {
      authorization: [['Authorization', `bearer ${keyFor(endpoint.access)}`]],
      ...(endpoint.body && { body: '[]' }),
    });
    expect(answer.status).toBe(endpoint.method === 'POST' ? 400 : endpoint.path.startsWith('/batches/') ? 404 : 200);
    await expectNothingLeft();
  });
});

describe('the two kinds of key', () => {
  const management = ENDPOINTS.filter(({ access }) => access === 'management');
  it.each(management)('U18 an API key cannot do $name', async (endpoint) => {
    const answer = await expectRefused(send(endpoint, { authorization: [bearer(installation.seed.apiKey)] }), 403);
    expect(answer.body).toContain('Only management keys can perform this operation');
  });

  const inference = ENDPOINTS.filter(({ access, path }) => access === 'api' && !path.endsWith('/models'));
  it.each(inference)('U19 a management key cannot do $name', async (endpoint) => {
    const answer = await expectRefused(
      send(endpoint, { authorization: [bearer(installation.seed.managementKey)] }),
      403,
    );
    expect(answer.body).toMatch(/Management keys cannot run inference/);
  });

  it.each(POSTS)('U15 a key in the body of $name is no credential', async (endpoint) => {
    const key = keyFor(endpoint.access);
    const body = JSON.stringify({ ...endpoint.body, api_key: key, authorization: `Bearer ${key}` });
    await expectRefused(send(endpoint, { authorization: [], body }), 401);
  });
});

describe.each(ENDPOINTS)('HTTP to $name', (endpoint) => {
  const chunked: readonly HeaderLine[] = [['Transfer-Encoding', 'chunked']];
  const asText = (): string => JSON.stringify(endpoint.body ?? {});
  const cases: readonly (readonly [string, number, () => Changes])[] = [
    ['U23 without Host', 400, () => ({ hosts: [] })],
    ['U23 with two Hosts', 400, () => ({ hosts: [host(), ['Host', 'elsewhere.example']] })],
    [
      'U24 with Transfer-Encoding and Content-Length',
      400,
      () => ({
        framing: [...chunked, lengthOf(asText())],
        body: `${asText().length.toString(16)}\r\n${asText()}\r\n0\r\n\r\n`,
      }),
    ],
    [
      'U25 with two Content-Lengths',
      400,
      () => ({ framing: [lengthOf(asText()), ['Content-Length', '3']], body: asText() }),
    ],
    ['U26 with a negative length', 400, () => ({ framing: [['Content-Length', '-1']] })],
    ['U26 with a signed length', 400, () => ({ framing: [['Content-Length', '+5']] })],
    ['U26 with a length in hexadecimal', 400, () => ({ framing: [['Content-Length', '0x10']] })],
    ['U27 with headers of more than 16 KiB', 431, () => ({ more: [['X-Long', 'x'.repeat(16_500)]] })],
    [
      'U27 with more than 100 headers',
      431,
      () => ({ more: Array.from({ length: 101 }, (_, n) => [`X-${n}`, 'x'] as const) }),
    ],
    ['U33 with a bare CR inside a header', 400, () => ({ more: [['X-Test', 'one\rTwo: 2']] })],
    ['U33 with a bare LF inside a header', 400, () => ({ more: [['X-Test', 'one\nTwo: 2']] })],
  ];

  it.each(cases)('%s is refused with %i', async (_case, status, changes) => {
    await expectRefused(send(endpoint, changes()), status);
  });

  it('U21 with another method gets 405 and learns which it could use', async () => {
    const answer = await expectRefused(send(endpoint, { method: 'PUT' }), 405);
    const allowed = (answer.headers['allow'] ?? '').split(', ');
    expect(allowed).toContain(endpoint.method);
    expect(allowed).not.toContain('PUT');
  });

  it('U34 carries our request id instead of an impossible one, and its own otherwise', async () => {
    const long = await send(endpoint, { authorization: [], more: [['X-Request-Id', 'r'.repeat(10_240)]] });
    const strange = await send(endpoint, { authorization: [], more: [['X-Request-Id', `a<b>${CANARY}`]] });
    const fine = await send(endpoint, { authorization: [], more: [['X-Request-Id', 'mine-1']] });
    expect(long.headers['x-request-id']).toMatch(/^req-\d+-[0-9A-Za-z]{20}$/);
    expect(strange.headers['x-request-id']).toMatch(/^req-\d+-[0-9A-Za-z]{20}$/);
    expect(fine.headers['x-request-id']).toBe('mine-1');
  });
});

describe('a path that is not one of ours', () => {
  const targets = [
    '/',
    '/api/v1',
    '/api/v1/',
    '/api/v1/nothing',
    '/api/v2/models',
    '/API/v1/models',
    '/api/v1/MODELS',
    '/api/v1/BATCHES',
    '//api/v1/models',
    '/api/v1//models',
    '/api/v1//batches',
    '/api/v1/models/',
    '/api/v1/%2e%2e/',
    '/api/v1/../v1/models',
    '/api/v1/%2e%2e/v1/models',
    '/api/v1/models%2f',
    '/api/v1/models;x=1',
    '/api/v1/batches/',
    '/metrics',
    '/.env',
  ];

  it.each(targets)('U22 %s gets 404, with a credential or without', async (target) => {
    await expectRefused(send(GETS[1]!, { target }), 404);
    await expectRefused(send(GETS[1]!, { target, authorization: [] }), 404);
  });

  it('U22 is not made one by an absolute target (RFC 9112 §3.2.2), nor is the credential forgotten', async () => {
    const target = 'http://elsewhere.example/api/v1/models';
    expect((await send(GETS[1]!, { target })).body).toBe((await send(GETS[1]!)).body);
    await expectRefused(send(GETS[1]!, { target, authorization: [] }), 401);
  });

  it.each([['%'], ['%zz'], ['%ff'], ['%c0%af']])('%s in a path is refused', async (escape) => {
    const answer = await send(GETS[0]!, { target: `/api/v1/batches/${escape}` });
    await expectRefused(answer, 400);
  });
});

describe('headers that speak of another request', () => {
  it.each([
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X-Method-Override', 'POST'],
    ['X-Original-URL', '/api/v1/credits'],
    ['X-Rewrite-URL', '/api/v1/credits'],
    ['X-Forwarded-For', '127.0.0.1'],
    ['X-Forwarded-Host', 'elsewhere.example'],
    ['X-Test', 'one%0d%0aSet-Cookie: two'],
  ])('U32, U33 %s: %s changes nothing', async (name, value) => {
    const plain = await send(GETS[1]!);
    const answer = await send(GETS[1]!, { more: [[name, value]] });
    expect(answer.status).toBe(200);
    expect(answer.body).toBe(plain.body);
    expect(Object.keys(answer.headers).toSorted()).toEqual(Object.keys(plain.headers).toSorted());
  });

  it('U32 does not turn a refusal into leave', async () => {
    const more: HeaderLine[] = [
      ['X-Forwarded-User', 'admin'],
      ['X-Original-URL', '/health/live'],
    ];
    await expectRefused(send(GETS[5]!, { authorization: [], more }), 401);
  });
});

describe.each(POSTS)('the body of $name', (endpoint) => {
  const good = { ...endpoint.body, note: CANARY };
  const text = JSON.stringify(good);
  const nested = (depth: number): string =>
    `${text.slice(0, -1)},"deep":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
  const isStreamed = endpoint.path === '/batches';
  const isPlain = endpoint.maxBytes === MEBIBYTE;
  const gzip: readonly HeaderLine[] = [['Content-Encoding', 'gzip']];
  const cases: readonly (readonly [string, number, Changes])[] = [
    ['U35 empty', 400, { body: '' }],
    ['U35 blank', 400, { body: ' \r\n\t ' }],
    ...['null', '[]', '"x"', '1', 'true', `[${text}]`].map(
      (body) => [`U36 ${body.slice(0, 10)}`, 400, { body }] as const,
    ),
    ['U37 cut', 400, { body: text.slice(0, -3) }],
    ['U37 cut inside an escape', 400, { body: `${text.slice(0, -2)}\\` }],
    ['U38 two objects', 400, { body: `${text}${text}` }],
    ['U38 a comma too many', 400, { body: `${text.slice(0, -1)},}` }],
    ['U38 a comment', 400, { body: `${text.slice(0, -1)}/* ${CANARY} */}` }],
    ['U38 single quotes', 400, { body: text.replaceAll('"', "'") }],
    ['U38 NaN', 400, { body: `${text.slice(0, -1)},"n":NaN}` }],
    ['U38 a raw line break in a text', 400, { body: `${text.slice(0, -2)}\n"}` }],
    ['U39 a byte order mark', 400, { body: `\ufeff${text}` }],
    ['U39 UTF-16', 400, { body: Buffer.from(text, 'utf16le') }],
    ['U40 no Content-Type', 400, { contentType: [] }],
    ...[
      'text/plain',
      'application/xml',
      'application/json; charset=utf-16',
      'application/jsonx',
      'multipart/form-data',
    ].map((type) => [`U40 ${type}`, 400, { contentType: [['Content-Type', type]] }] as const),
    ['U40 two Content-Types', 400, { contentType: [json, ['Content-Type', 'text/plain']] }],
    ['U41 an overlong sequence', 400, { body: withBytes(text, [0xc0, 0xaf]) }],
    ['U41 a lone continuation byte', 400, { body: withBytes(text, [0x80]) }],
    ['U41 half a surrogate pair in UTF-8', 400, { body: withBytes(text, [0xed, 0xa0, 0x80]) }],
    ['U42 gzip', 400, { more: gzip, body: gzipSync(text) }],
    ['U42 a gzip bomb', 400, { more: gzip, body: gzipSync(Buffer.alloc(10 * MEBIBYTE, ' ')) }],
    ['U42 an unknown coding', 400, { more: [['Content-Encoding', 'x-strange']] }],
    ['U42 gzip twice', 400, { more: [['Content-Encoding', 'gzip, gzip']], body: gzipSync(gzipSync(text)) }],
    ['U43 5,000 levels', 400, { body: nested(5_000) }],
    ['U43 more levels than may be', 400, { body: nested(isStreamed ? 67 : 65) }],
    ['U44 100,000 members', isStreamed ? 413 : isPlain ? 413 : 400, { body: withMembers(text, 100_000) }],
    ['U26 a chunk size that is no number', 400, chunked('zz\r\nabc\r\n0\r\n\r\n')],
    ['U26 a chunk size that is negative', 400, chunked('-1\r\nabc\r\n0\r\n\r\n')],
  ];

  it.each(cases)('%s is refused with %i', async (_case, status, changes) => {
    await expectRefused(send(endpoint, changes), status);
  });

  it('U42 coded is refused at once', async () => {
    const body = gzipSync(Buffer.alloc(100 * MEBIBYTE, ' '));
    const tookMs: number[] = [];
    // The quickest of three: a busy machine may keep one of them waiting.
    for (let time = 0; time < 3; time += 1) {
      tookMs.push((await expectRefused(send(endpoint, { more: gzip, body }), 400)).tookMs);
    }
    expect(Math.min(...tookMs)).toBeLessThan(200);
  });

  it('U31 announced as too large is refused before it is sent', async () => {
    const more: HeaderLine[] = [['Expect', '100-continue']];
    const framing: HeaderLine[] = [['Content-Length', String(endpoint.maxBytes! + 1)]];
    const answer = await expectRefused(send(endpoint, { more, framing, body: '' }), 413);
    expect(answer.interim).toEqual([]);
  });

  it('U31 is asked for only when the caller may send it', async () => {
    const framing: HeaderLine[] = [['Content-Length', '10']];
    const more: HeaderLine[] = [['Expect', '100-continue']];
    const stranger = await expectRefused(send(endpoint, { authorization: [], more, framing, body: '' }), 401);
    expect(stranger.interim).toEqual([]);
    const friend = await expectRefused(send(endpoint, { more, framing, body: '0123456789' }), 400);
    expect(friend.interim).toEqual([100]);
  });

  it('U50 announced as one byte too long is refused', async () => {
    const framing: HeaderLine[] = [['Content-Length', String(endpoint.maxBytes! + 1)]];
    await expectRefused(send(endpoint, { framing, body: text }), 413);
  });

  it('U30 that breaks off leaves nothing', async () => {
    const socket = await open(installation.baseUrl);
    const framing: HeaderLine[] = [['Content-Length', '100000']];
    await write(socket, requestTo(endpoint, { framing, body: text.slice(0, 40) }));
    await send(GETS[1]!);
    socket.resetAndDestroy();
    await send(GETS[1]!);
    await expectNothingLeft();
  });
});

function withBytes(text: string, bytes: readonly number[]): Buffer {
  return Buffer.concat([Buffer.from(`${text.slice(0, -1)},"t":"`), Buffer.from(bytes), Buffer.from('"}')]);
}

function withMembers(text: string, count: number): string {
  const members = Array.from({ length: count }, (_, n) => `"member-${n}":0`);
  return `${text.slice(0, -1)},"many":{${members.join(',')}}}`;
}

function chunked(body: string): Changes {
  return { framing: [['Transfer-Encoding', 'chunked']], body };
}

describe('a body at the edge of its size', () => {
  it.each(POSTS.filter(({ path }) => path !== '/batches'))(
    'U50 of $name, chunked and one byte too long, is refused',
    async (endpoint) => {
      const body = padded(endpoint, endpoint.maxBytes! + 1);
      const chunks = Buffer.concat([
        Buffer.from(`${body.length.toString(16)}\r\n`),
        body,
        Buffer.from('\r\n0\r\n\r\n'),
      ]);
      await expectRefused(send(endpoint, { framing: [['Transfer-Encoding', 'chunked']], body: chunks }), 413);
    },
  );

  it('U44 that holds ten million values is refused', async () => {
    const body = `{"model":"${CHAT}","messages":[${'0,'.repeat(9_999_999)}0]}`;
    await expectRefused(send(POSTS[0]!, { body }), 400);
  });
});

/** The good body with as much more as makes it `bytes` long. */
function padded(endpoint: Endpoint, bytes: number): Buffer {
  const start = Buffer.from(JSON.stringify(endpoint.body).slice(0, -1));
  return Buffer.concat([start, Buffer.alloc(bytes - start.length - 1, ' '), Buffer.from('}')]);
}

describe('a member', () => {
  const chat = (members: string): Changes => ({ body: `${JSON.stringify(CHAT_BODY).slice(0, -1)},${members}}` });
  const [talk, embed, batch, keys, workspaces] = POSTS as [Endpoint, Endpoint, Endpoint, Endpoint, Endpoint];
  const cases: readonly (readonly [string, Endpoint, Changes])[] = [
    ['U45 named twice where we store it', keys, { body: `{"name":"one","name":"${CANARY}"}` }],
    ['U45 named twice, once with an escape', keys, { body: `{"name":"one","n\\u0061me":"${CANARY}"}` }],
    ['U45 named twice in a workspace', workspaces, { body: `{"name":"one","slug":"a","slug":"${CANARY}"}` }],
    ['U46 that is in the prototype only', keys, { body: `{"__proto__":{"name":"${CANARY}"}}` }],
    ['U46 that is in the constructor only', keys, { body: `{"constructor":{"prototype":{"name":"${CANARY}"}}}` }],
    ['U46 that is in the prototype of a chat only', talk, { body: `{"__proto__":${JSON.stringify(CHAT_BODY)}}` }],
    ['U47 with a NUL in a stored text', keys, { body: '{"name":"one\\u0000two"}' }],
    ['U47 with a NUL in a stored description', workspaces, { body: '{"name":"n","slug":"n","description":"\\u0000"}' }],
    ['U47 with a NUL in a model', talk, { body: JSON.stringify({ ...CHAT_BODY, model: `${CHAT}\0` }) }],
    ['U47 with a NUL in the model of a batch', batch, { body: JSON.stringify({ ...BATCH_BODY, model: `${CHAT}\0` }) }],
    ['U47 with a NUL in the model of an embedding', embed, { body: `{"model":"${EMBEDDER}\\u0000","input":"x"}` }],
    ['U47 with a NUL in the first of many models', talk, { body: JSON.stringify({ messages, models: [`${CHAT}\0`] }) }],
    ['U48 with half a surrogate pair in a model', talk, { body: JSON.stringify(CHAT_BODY).replace(CHAT, '\\ud800') }],
    ['U48 with half a surrogate pair in a stored text', keys, { body: '{"name":"\\ud800"}' }],
    [
      'U48 with half a surrogate pair in a description',
      workspaces,
      { body: '{"name":"n","slug":"n","description":"\\udc00"}' },
    ],
    [
      'U48 with half a surrogate pair in the model of a batch',
      batch,
      { body: JSON.stringify(BATCH_BODY).replace(CHAT, '\\ud800') },
    ],
    ...['1e999', '-1e999', '9007199254740993', '-0', '-1', '0', '1.5', '"16"', 'true', '[]', '{}'].flatMap((value) => [
      [`U49 max_tokens ${value}`, talk, chat(`"max_tokens":${value}`)] as const,
      [
        `U49 dimensions ${value}`,
        embed,
        { body: `{"model":"${EMBEDDER}","input":"x","dimensions":${value}}` },
      ] as const,
      [
        `U49 max_tokens ${value} in a batch`,
        batch,
        { body: JSON.stringify(BATCH_BODY).replace('"max_tokens":16', `"max_tokens":${value}`) },
      ] as const,
    ]),
    ...['1e999', '-1', '"5"', '0.0000000000001', 'true'].map(
      (value) => [`U49 limit ${value}`, keys, { body: `{"name":"n","limit":${value}}` }] as const,
    ),
  ];

  it.each(cases)('%s is refused', async (_case, endpoint, changes) => {
    await expectRefused(send(endpoint, changes), 400);
  });
});

describe('what is good', () => {
  it.each(POSTS)('U40, U34 goes through $name', async (endpoint) => {
    const contentType: HeaderLine[] = [['Content-Type', 'Application/JSON; charset="UTF-8"']];
    const answer = await send(endpoint, { contentType, more: [['X-Request-Id', 'r'.repeat(10_000)]] });
    const status = { '/batches': 202, '/keys': 201, '/workspaces': 201 }[endpoint.path] ?? 200;
    expect({ status: answer.status, body: answer.body }).toMatchObject({ status });
  });

  it('U45 of a doubled member of a chat the last one counts', async () => {
    const body = `{"model":"edge/nothing",${JSON.stringify(CHAT_BODY).slice(1)}`;
    expect((await send(POSTS[0]!, { body })).status).toBe(200);
    const reversed = `${JSON.stringify(CHAT_BODY).slice(0, -1)},"model":"edge/nothing"}`;
    expect((await send(POSTS[0]!, { body: reversed })).status).toBe(400);
  });

  it('U43 may nest 64 levels', async () => {
    const body = `${JSON.stringify(CHAT_BODY).slice(0, -1)},"deep":${'['.repeat(63)}${']'.repeat(63)}}`;
    expect((await send(POSTS[0]!, { body })).status).toBe(200);
  });

  it('U46 may speak of prototypes without changing any', async () => {
    const body = `${JSON.stringify(CHAT_BODY).slice(0, -1)},"__proto__":{"model":"x"},"constructor":{"prototype":{"stream":true}}}`;
    expect((await send(POSTS[0]!, { body })).status).toBe(200);
    const after = await send(POSTS[0]!);
    expect(JSON.parse(after.body)).toMatchObject({ object: 'chat.completion' });
  });

  it('U49 may write a whole number as 16.0', async () => {
    const body = JSON.stringify(CHAT_BODY).replace('"max_tokens":16', '"max_tokens":16.0');
    expect((await send(POSTS[0]!, { body })).status).toBe(200);
  });

  it('U50 may be exactly as long as is allowed', async () => {
    for (const endpoint of [POSTS[0]!, POSTS[1]!, POSTS[3]!]) {
      const answer = await send(endpoint, { body: padded(endpoint, endpoint.maxBytes!) });
      expect({ name: endpoint.name, status: answer.status }).toEqual({
        name: endpoint.name,
        status: endpoint.path === '/keys' ? 201 : 200,
      });
    }
  });
});

describe('the logs', () => {
  it('hold no key, no refused value and no failure of ours', () => {
    const secrets = [installation.seed.apiKey, installation.seed.managementKey, ...Object.values(spoilt), CANARY];
    for (const name of readdirSync(installation.folder).filter((file) => /\.log(\.1)?$/.test(file))) {
      const text = readFileSync(join(installation.folder, name), 'utf8');
      for (const secret of secrets) expect(text.includes(secret)).toBe(false);
      expect(text.split('\n').filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
    }
  });
});

describe('without Redis', () => {
  it('U52 everything goes on', async () => {
    redis.refuse();
    redis.cut();
    try {
      const client = installation.client();
      const submitted = await client.submitBatch({ ...BATCH_BODY, endpoint: '/v1/chat/completions' });
      expect(submitted.status).toBe(202);
      expect((await client.getBatch(submitted.body.id)).status).toBe(200);
      expect((await client.chat(CHAT_BODY)).status).toBe(200);
      await client.close();
    } finally {
      redis.accept();
    }
  });
});

describe('without PostgreSQL', () => {
  const NEEDED_BY = [POSTS[2]!, POSTS[3]!, GETS[0]!, GETS[3]!, GETS[5]!];

  /** Only our database: it takes no connections and loses those it has. */
  async function setPostgres(isUp: boolean): Promise<void> {
    const { pathname } = new URL(installation.databaseUrl);
    const name = pathname.slice(1);
    const server = new URL(installation.databaseUrl);
    server.pathname = '/postgres';
    const client = new Client({ connectionString: server.href });
    await client.connect();
    try {
      await client.query(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS ${isUp}`);
      if (!isUp) {
        await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
      }
    } finally {
      await client.end();
    }
  }

  it('U52 what needs it says so within three seconds, and everything works again when it is back', async () => {
    // From here on the gateway knows the caller and what it can pay.
    expect((await send(POSTS[0]!)).status).toBe(200);
    await setPostgres(false);
    let chat: RawAnswer;
    try {
      const answers = await Promise.all([POSTS[0]!, ...NEEDED_BY].map((endpoint) => send(endpoint)));
      chat = answers[0]!;
      for (const [index, answer] of answers.slice(1).entries()) {
        expect({ name: NEEDED_BY[index]!.name, status: answer.status }).toEqual({
          name: NEEDED_BY[index]!.name,
          status: 503,
        });
        expectRefusal(answer, 503);
      }
      expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(3_000);
    } finally {
      await setPostgres(true);
    }
    const back = async (): Promise<true | undefined> => ((await send(GETS[5]!)).status === 200 ? true : undefined);
    await eventually('PostgreSQL is used again', 5_000, back);
    // A call that was answered meanwhile is on the books, and only then.
    const state = await eventually('the call is settled', 10_000, async () => {
      const row = await installation.database.firstRow<{ state: string }>({
        sql: 'SELECT state FROM generations WHERE id = $1',
        values: [chat.headers['x-generation-id'] ?? ''],
      });
      return chat.status !== 200 || row?.state === 'settled' ? (row?.state ?? 'nothing') : undefined;
    });
    expect({ status: chat.status, state }).toEqual(
      chat.status === 200 ? { status: 200, state: 'settled' } : { status: 503, state: 'nothing' },
    );
    expect(['gateway', 'auth', 'batch-worker'].map((name) => installation.deathsOf(name))).toEqual([0, 0, 0]);
  });
});
