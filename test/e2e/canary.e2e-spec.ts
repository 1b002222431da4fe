import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect } from 'amqplib';
import Redis from 'ioredis';
import { Client } from 'pg';
import { hashApiKey, mintApiKey } from '@libs/contracts';
import { FakeUpstream, type ReceivedRequest } from '@libs/inference/testing';
import { PROVIDER_KEY_VARIABLE } from '../support/catalogue';
import { answerJson, CHAT_ANSWER } from '../support/chat-answer';
import type { ApiAnswer, ApiClient } from '../support/client';
import { eventually } from '../support/eventually';
import { APP_NAMES, Installation, REDIS_URL } from '../support/installation';
import { encodeSecret, SECRET_ENCODINGS, SecretHunt, type Find } from '../support/secret-hunt';
import { WireTap } from '../support/wire-tap';
import { IdentityIssuer, newIssuerKey } from '../support/identity-issuer';

/** RFC 7636, appendix B, is public: this verifier is not. */
const VERIFIER = randomBytes(48).toString('base64url');
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
const CALLBACK = 'https://app.example/callback';
/** What a provider speaks, and how the keys of those who speak it begin. */
const PROTOCOLS = { openai: 'sk-proj-', anthropic: 'sk-ant-api03-', google: 'AIza' } as const;
type Protocol = keyof typeof PROTOCOLS;

const newSecret = (): string => randomBytes(36).toString('base64url');

const hunt = new SecretHunt();
const sharedKey = hunt.add('shared provider key', `shared-${newSecret()}`);
const ringKey = hunt.add('key-encryption key', randomBytes(32).toString('base64'));

let upstream: FakeUpstream;
let issuer: IdentityIssuer;
let installation: Installation;
let manager: ApiClient;
let client: ApiClient;
/** To the database, the broker and Redis, in this order. */
const taps: WireTap[] = [];
let metricsUrls: string[];
/** Heads and bodies of all answers but those that are there to give out a secret. */
const answers: string[] = [];

type Mood = (response: ServerResponse, key: string) => void;

const complaint = (key: string): object => ({
  error: { message: `Incorrect key ${key} in use`, type: key, code: key },
});

/** What a provider can do with a key that was shown to it. */
const MOODS: Readonly<Record<string, Mood>> = {
  'is well': (response) => answerJson(response, CHAT_ANSWER),
  refuses: (response, key) => answerJson(response, complaint(key), 401),
  forbids: (response, key) => answerJson(response, complaint(key), 403),
  'does not understand': (response, key) => answerJson(response, complaint(key), 400),
  'has enough of it': (response, key) => answerJson(response, complaint(key), 429, { 'retry-after': '1' }),
  'breaks down': (response, key) => answerJson(response, complaint(key), 500, { 'x-request-id': key }),
  'sends away': (response, key) =>
    void response.writeHead(302, { location: `https://other.example/?key=${key}` }).end(),
  'answers with nonsense': (response, key) => void response.writeHead(200).end(`{"key":"${key}"`),
  'answers with another thing': (response) => answerJson(response, { choices: [{}] }),
  'breaks off': (response, key) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '9999' });
    response.write(`{"id":"${key}"`, () => response.destroy());
  },
  'hangs up': (response) => void response.destroy(),
  'fails within a stream': (response, key) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const event = JSON.stringify({ type: 'error', ...complaint(key) });
    response.end(`event: error\ndata: ${event}\n\ndata: ${key}\n\ndata: [DONE]\n\n`);
  },
};

let mood = 'is well';

interface TestProvider {
  readonly slug: string;
  readonly protocol: Protocol;
  readonly mood: string;
}

/** One of each protocol for each mood: a provider that failed is not asked again at once. */
const PROVIDERS: readonly TestProvider[] = Object.keys(MOODS).flatMap((name, index) =>
  (Object.keys(PROTOCOLS) as Protocol[]).map((protocol) => ({ slug: `${protocol}-${index}`, protocol, mood: name })),
);

const modelOf = ({ slug }: TestProvider): string => `canary/${slug}`;
const providersOf = (name: string): TestProvider[] => PROVIDERS.filter((provider) => provider.mood === name);

const keyOf = ({ headers, path }: ReceivedRequest): string =>
  String(
    headers.authorization ??
      headers['x-api-key'] ??
      headers['x-goog-api-key'] ??
      new URL(path, 'http://a').searchParams,
  ).replace('Bearer ', '');

function catalogue(): string {
  const pricing = { prompt: '0.000001', completion: '0.000002' };
  return JSON.stringify({
    providers: PROVIDERS.map(({ slug, protocol }) => ({
      slug,
      name: slug,
      protocol,
      base_url: `${upstream.origin}/${slug}/v1`,
      api_key_env: PROVIDER_KEY_VARIABLE,
    })),
    models: PROVIDERS.map((provider) => ({
      slug: modelOf(provider),
      name: provider.slug,
      endpoints: [
        {
          provider: provider.slug,
          upstream_model: 'talk',
          apis: [provider.protocol === 'anthropic' ? 'messages' : 'chat'],
          pricing,
        },
      ],
    })),
  });
}

beforeAll(async () => {
  [upstream, issuer] = await Promise.all([FakeUpstream.start(), IdentityIssuer.start()]);
  upstream.behaviour = (response, request) => MOODS[mood]!(response, keyOf(request));
  installation = await Installation.start({
    catalogue: catalogue(),
    ownBroker: true,
    environment: { LOG_LEVEL: 'trace', [PROVIDER_KEY_VARIABLE]: sharedKey },
    environmentOf: {
      auth: { NODE_EXTRA_CA_CERTS: issuer.certificateFile, EGRESS_ALLOW_CIDRS: '127.0.0.0/8' },
      credentials: { CREDENTIALS_KEYRING: `canary:${ringKey}` },
    },
    between: async (url) => {
      const tap = await WireTap.start(url);
      taps.push(tap);
      return tap.url;
    },
  });
  const secrets = JSON.parse(readFileSync(join(installation.folder, 'secrets.json'), 'utf8')) as {
    TOKEN_SIGNING_KEYS: string;
  };
  const signingKeys = JSON.parse(secrets.TOKEN_SIGNING_KEYS) as { d: string }[];
  for (const { d } of signingKeys) hunt.add('token signing key', d);
  hunt.add('seeded API key', installation.seed.apiKey);
  hunt.add('seeded management key', installation.seed.managementKey);
  hunt.add('code verifier', VERIFIER);
  metricsUrls = APP_NAMES.map((app) => `${installation.healthUrlOf(app)}/metrics`);
  manager = installation.client(installation.seed.managementKey);
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await Promise.all([manager, client].map((each) => each?.close()));
  await installation?.stop();
  await Promise.all([upstream?.close(), issuer?.stop(), ...taps.map((tap) => tap.stop())]);
}, 240_000);

function keep(answer: ApiAnswer): ApiAnswer {
  answers.push(`${answer.status} ${JSON.stringify(answer.headers)}\n${answer.text}`);
  return answer;
}

/** By whatever credential; the answer is kept for the search. */
async function ask(
  bearer: string,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
): Promise<ApiAnswer> {
  const caller = installation.client(bearer);
  const answer = await caller.request(method, path, body);
  await caller.close();
  return keep(answer);
}

/** An answer that gives out a secret: only its status is looked at. */
async function give<T>(path: string, body: object, type = 'application/json', as = manager): Promise<T> {
  const isForm = type !== 'application/json';
  const answer = isForm
    ? await postForm(path, body as Record<string, string>)
    : await as.request<T>('POST', path, body);
  if (answer.status >= 300) throw new Error(`${path} was refused: ${answer.text}`);
  return answer.body as T;
}

async function postForm(
  path: string,
  fields: Record<string, string>,
  key = installation.seed.apiKey,
): Promise<ApiAnswer> {
  const answer = await fetch(installation.baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    body: JSON.parse(text) as unknown,
    text,
  };
}

const exchangeFields = (policyId: string, subjectToken: string): Record<string, string> => ({
  grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  federation_policy_id: policyId,
  subject_token: subjectToken,
});

const ASKS: readonly [string, (model: string) => object][] = [
  ['/chat/completions', (model) => ({ model, messages: [{ role: 'user', content: 'Hello?' }], max_tokens: 8 })],
  ['/responses', (model) => ({ model, input: 'Hello?', max_output_tokens: 16 })],
  ['/messages', (model) => ({ model, messages: [{ role: 'user', content: 'Hello?' }], max_tokens: 8 })],
];

async function callEverything(bearer: string): Promise<void> {
  for (const provider of providersOf(mood)) {
    for (const [path, body] of ASKS) {
      for (const stream of [false, true]) await ask(bearer, 'POST', path, { ...body(modelOf(provider)), stream });
    }
  }
}

/** Every value of every table. */
async function dumpDatabase(): Promise<Buffer> {
  const tables = await installation.database.rows<{ name: string }>({
    sql: `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name FROM information_schema.tables
          WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_type = 'BASE TABLE'`,
  });
  const texts: string[] = [];
  for (const { name } of tables) {
    const sql = `SELECT coalesce(string_agg(value, E'\\n'), '') AS text FROM ${name} t, jsonb_each_text(to_jsonb(t))`;
    texts.push((await installation.database.firstRow<{ text: string }>({ sql }))!.text);
  }
  return Buffer.from(texts.join('\n'));
}

async function dumpRedis(): Promise<Buffer> {
  const redis = new Redis(REDIS_URL);
  const values: Buffer[] = [];
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `${installation.redisKeyPrefix}*`, 'COUNT', 500);
    for (const key of keys) values.push(Buffer.from(key), ...(await valuesOf(redis, key)));
    cursor = next;
  } while (cursor !== '0');
  redis.disconnect();
  return Buffer.concat(values);
}

async function valuesOf(redis: Redis, key: string): Promise<Buffer[]> {
  const type = await redis.type(key);
  if (type === 'hash') {
    return Object.entries(await redis.hgetallBuffer(key)).flatMap(([name, value]) => [Buffer.from(name), value]);
  }
  if (type === 'list') return redis.lrangeBuffer(key, 0, -1);
  if (type === 'set') return redis.smembersBuffer(key);
  if (type === 'zset') return redis.zrangeBuffer(key, '0', '-1');
  if (type === 'string') return [(await redis.getBuffer(key)) ?? Buffer.alloc(0)];
  // It expired since it was listed.
  if (type === 'none') return [];
  throw new Error(`a key of type ${type} is not looked at`);
}

function filesIn(folder: string): Buffer {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Buffer.concat(files.map((file) => readFileSync(join(file.parentPath, file.name))));
}

const logFiles = (): string[] => readdirSync(installation.folder).filter((name) => /\.log(\.1)?$/.test(name));

/** Everywhere that a secret could have come to lie, by name. */
async function places(): Promise<Map<string, Buffer>> {
  const metrics = await Promise.all(
    metricsUrls.map(async (url) =>
      Buffer.from(await (await fetch(url, { headers: { connection: 'close' } })).arrayBuffer()),
    ),
  );
  const broker = readdirSync(installation.folder).includes('rabbitmq') ? ['rabbitmq/data'] : [];
  const [database, rabbit, redis] = taps;
  return new Map([
    ['database', await dumpDatabase()],
    ['redis', await dumpRedis()],
    ['wire to the database', database!.bytes],
    ['wire to the broker', rabbit!.bytes],
    ['wire to redis', redis!.bytes],
    ...broker.map((folder) => [folder, filesIn(join(installation.folder, folder))] as const),
    ...logFiles().map((name) => [name, readFileSync(join(installation.folder, name))] as const),
    ['metrics', Buffer.concat(metrics)],
    ['answers', Buffer.from(answers.join('\n'), 'latin1')],
  ]);
}

const searchIn = (all: ReadonlyMap<string, Buffer>, wanted: SecretHunt): Find[] =>
  [...all].flatMap(([place, bytes]) => wanted.search(place, bytes));

describe('provider keys', () => {
  const bring = async (provider: string, material: string): Promise<string> => {
    const { managementKey } = installation.seed;
    const key = hunt.add(`key for ${provider}`, material);
    const made = await ask(managementKey, 'POST', '/byok', { key, provider, name: 'canary' });
    expect({ status: made.status, text: made.text }).toMatchObject({ status: 200 });
    return (made.body as { data: { id: string } }).data.id;
  };

  it('come in, are changed and thrown away', async () => {
    const { managementKey } = installation.seed;
    for (const { slug, protocol } of PROVIDERS) {
      const id = await bring(slug, `${PROTOCOLS[protocol]}${newSecret()}`);
      const key = hunt.add(`next key for ${slug}`, `${PROTOCOLS[protocol]}${newSecret()}`);
      expect((await ask(managementKey, 'PATCH', `/byok/${id}`, { key })).status).toBe(200);
      await ask(managementKey, 'GET', `/byok/${id}`);
    }
    const inside = hunt.add('key in JSON', newSecret());
    const id = await bring('fireworks', JSON.stringify({ api_key: inside, region: 'global' }));
    await bring('fireworks', `${newSecret()}!#$%&'()*+,-./:;<=>?@[]^_{|}~${newSecret()}`);
    await ask(managementKey, 'DELETE', `/byok/${id}`);
    await ask(managementKey, 'GET', '/byok?limit=100');
  });

  it('come in wrong', async () => {
    const key = hunt.add('refused key', `sk-refused-${newSecret()}`);
    const provider = 'openai';
    const wrong: object[] = [
      ...[
        'provider',
        'workspace_id',
        'declared_region',
        'declared_zdr',
        'disabled',
        'is_byok_only',
        'allowed_models',
      ].map((member) => ({ key, provider, [member]: key })),
      { key, provider, allowed_api_key_hashes: [key] },
      { key, provider, [key]: key, name: 1 },
      { key: [key], provider },
      { key: { key }, provider },
      { key: `${key}\r\n`, provider },
      { key: ` ${key}`, provider },
      { key: JSON.stringify({ api_key: key, region: 'mars' }), provider },
      { key: JSON.stringify({ private_key: key }), provider: 'google-vertex' },
      { key: JSON.stringify([{ api_key: key }]), provider: 'azure' },
      { key: `{"api_key":"${key}"`, provider: 'fireworks' },
      { key: JSON.stringify({ secretAccessKey: key }), provider: 'amazon-bedrock' },
      ...[
        `https://${key}@x.openai.azure.com`,
        `https://x.openai.azure.com/?api-key=${key}`,
        `https://x.openai.azure.com/openai/deployments/${key}`,
        `https://x.openai.azure.com.${key.toLowerCase()}.example`,
        `https://${key}.OPENAI.AZURE.COM./`,
      ].map((endpoint_url) => ({
        key: JSON.stringify([{ api_key: key, model_slug: 'a/b', model_id: 'x', endpoint_url }]),
        provider: 'azure',
      })),
      {
        key: JSON.stringify({ accessKeyId: 'a', secretAccessKey: key, region: `us-east-1.${key}.example/` }),
        provider: 'amazon-bedrock',
      },
      { key, provider, is_fallback: true, is_byok_only: true },
    ];
    const { managementKey, apiKey } = installation.seed;
    for (const body of wrong) {
      expect([(await ask(managementKey, 'POST', '/byok', body)).status, body]).toEqual([400, body]);
    }
    for (const bearer of [apiKey, key, 'sk-nobody']) await ask(bearer, 'POST', '/byok', { key, provider });
    await ask(managementKey, 'GET', `/byok/${key}`);
    await ask(managementKey, 'GET', `/byok?provider=${key}&workspace_id=${key}`);
    await ask(managementKey, 'GET', `/nowhere/${key}?key=${key}`);
    await ask(managementKey, 'PATCH', `/byok/${randomUUID()}`, { key });
    for (const text of [`{"key":"${key}"`, `{"key":"${key}","key":"${key}"}`, `"${key}"`]) {
      const answer = await fetch(`${installation.baseUrl}/byok`, {
        method: 'POST',
        headers: { authorization: `Bearer ${managementKey}`, 'content-type': 'application/json' },
        body: text,
      });
      keep({
        status: answer.status,
        headers: Object.fromEntries(answer.headers),
        body: null,
        text: await answer.text(),
      });
    }
  });

  it.each(Object.keys(MOODS))(
    'are shown to a provider that %s',
    async (name) => {
      mood = name;
      if (name === 'is well') {
        await eventually('the key that was brought along is used', 5_000, async () => {
          await ask(installation.seed.apiKey, 'POST', '/chat/completions', ASKS[0]![1](modelOf(PROVIDERS[0]!)));
          return keyOf(upstream.requests.at(-1)!) === sharedKey ? undefined : true;
        });
      }
      const seen = upstream.requests.length;
      await callEverything(installation.seed.apiKey);
      const shown = new Set(upstream.requests.slice(seen).map(keyOf));
      // Where the first one did not answer, every provider has seen two.
      expect(shown.size).toBeGreaterThanOrEqual(providersOf(name).length);
    },
    60_000,
  );

  it('are shown by batches', async () => {
    for (const name of ['does not understand', 'answers with another thing']) {
      mood = name;
      const submitted = await client.submitBatch({
        endpoint: '/v1/chat/completions',
        model: modelOf(providersOf(name)[0]!),
        requests: [{ custom_id: 'c1', body: { messages: [{ role: 'user', content: 'Hello?' }], max_tokens: 8 } }],
      });
      expect({ status: submitted.status, text: submitted.text }).toMatchObject({ status: 202 });
      await eventually('the batch ends', 60_000, async () => {
        const batch = keep(await client.getBatch(submitted.body.id)).body as { status: string };
        return ['completed', 'failed'].includes(batch.status) ? true : undefined;
      });
    }
    mood = 'is well';
  });
});

describe('keys of ours', () => {
  it('are made, used, disabled and deleted', async () => {
    const made = await give<{ key: string; data: { hash: string } }>('/keys', { name: 'canary' });
    const key = hunt.add('made key', made.key);
    const path = `/keys/${made.data.hash}`;
    await ask(key, 'GET', '/key');
    await ask(key, 'GET', path);
    await ask(key, 'POST', ...ASK_OF_NOBODY);
    await ask(installation.seed.managementKey, 'GET', path);
    await ask(installation.seed.managementKey, 'PATCH', path, { name: 'other', disabled: true });
    await ask(key, 'GET', '/key');
    await ask(installation.seed.managementKey, 'DELETE', path);
    await ask(key, 'POST', ...ASK_OF_NOBODY);
  });

  const ASK_OF_NOBODY = [
    '/chat/completions',
    { model: 'canary/nobody', messages: [{ role: 'user', content: 'a' }] },
  ] as const;

  it('come where they do not belong', async () => {
    const { apiKey, managementKey } = installation.seed;
    const stray = hunt.add('key that nobody has', mintApiKey('sluice', 'api'));
    for (const key of [apiKey, managementKey, stray]) {
      await ask(key, 'GET', '/models');
      await ask(key, 'GET', '/credits');
      await ask(managementKey, 'GET', `/keys/${key}`);
      await ask(managementKey, 'DELETE', `/keys/${key}`);
      await ask(managementKey, 'GET', `/workspaces/${key}`);
      await ask(managementKey, 'PATCH', `/workload-identity/policies/${key}`, { name: key });
      await ask(managementKey, 'GET', `/keys?offset=${key}`);
      await ask(apiKey, 'GET', `/generation?id=${key}`);
      await ask(apiKey, 'GET', `/batches/${key}`);
      await ask(managementKey, 'POST', '/keys', { name: 'canary', limit: key, expires_at: key, workspace_id: key });
      await ask(managementKey, 'POST', '/auth/keys/code', { callback_url: CALLBACK, workspace_id: key, limit: key });
      await ask(key, 'POST', '/auth/keys', { code: key, code_verifier: key });
      const answer = await fetch(new URL(`/auth?callback_url=${key}&api_key=${key}`, installation.baseUrl));
      answers.push(JSON.stringify([...answer.headers]));
      await answer.text();
    }
  });
});

describe('authorization codes', () => {
  it('are made, redeemed, replayed and refused', async () => {
    const wish = { callback_url: CALLBACK, code_challenge: CHALLENGE, code_challenge_method: 'S256' };
    for (const proof of [{ code_verifier: VERIFIER }, { code_verifier: VERIFIER.slice(1) }, {}]) {
      const { data } = await give<{ data: { id: string } }>('/auth/keys/code', wish);
      const body = { code: hunt.add('authorization code', data.id), ...proof };
      const first = await client.request<{ key?: string }>('POST', '/auth/keys', body);
      if (first.body.key === undefined) keep(first);
      else hunt.add('key of a code', first.body.key);
      await ask(installation.seed.apiKey, 'POST', '/auth/keys', body);
      await ask(installation.seed.apiKey, 'POST', '/auth/keys', { ...body, code_challenge_method: 'plain' });
    }
    const plain = { callback_url: CALLBACK, code_challenge: VERIFIER, code_challenge_method: 'plain' };
    const { data } = await give<{ data: { id: string } }>('/auth/keys/code', plain);
    const got = await give<{ key: string }>('/auth/keys', {
      code: hunt.add('code with a plain challenge', data.id),
      code_verifier: VERIFIER,
    });
    hunt.add('key of a plain code', got.key);
    await ask(installation.seed.managementKey, 'POST', '/auth/keys/code', { ...plain, limit: -1 });
  });
});

describe('tokens', () => {
  const addToken = (what: string, token: string): string => {
    hunt.add(`${what}: signature`, token.split('.')[2]!);
    hunt.add(`${what}: claims`, token.split('.')[1]!);
    return token;
  };

  it('are exchanged, used and refused', async () => {
    const made = await give<{ data: { id: string } }>('/workload-identity/issuers', {
      name: 'canary',
      issuer_url: issuer.url,
    });
    const policy = await give<{ data: { id: string } }>('/workload-identity/policies', {
      issuer_id: made.data.id,
      name: 'canary',
      subject: 'workload',
      audience: 'sluice',
      api_key_hash: hashApiKey(installation.seed.apiKey),
      single_use: true,
    });
    const sign = async (what: string, claims: object = {}, ...more: [object?, never?]): Promise<string> => {
      const jti = hunt.add(`${what}: jti`, newSecret());
      return addToken(what, await issuer.sign({ sub: 'workload', aud: 'sluice', jti, ...claims }, ...more));
    };
    const subjectToken = await sign('subject token');
    const fields = exchangeFields(policy.data.id, subjectToken);
    const { access_token } = await give<{ access_token: string }>('/oauth/token', fields, 'form');
    const accessToken = addToken('access token', access_token);
    await callEverything(accessToken);
    await ask(accessToken, 'GET', '/keys');
    await ask(accessToken, 'POST', '/byok', { key: accessToken, provider: accessToken });
    await ask(accessToken, 'GET', `/generation?id=${accessToken}`);
    await ask(subjectToken, 'GET', '/key');
    await ask(`${accessToken.slice(0, -4)}AAAA`, 'GET', '/key');
    keep(await postForm('/oauth/token', fields));
    const refused = [
      await sign('token of another subject', { sub: hunt.add('subject', newSecret()) }),
      await sign('token of the past', { exp: 1 }),
      addToken('token of another key', await issuer.sign({ sub: 'workload', aud: 'sluice' }, {}, newIssuerKey('es'))),
      accessToken,
    ];
    for (const token of refused) keep(await postForm('/oauth/token', exchangeFields(policy.data.id, token)));
    for (const name of Object.keys(fields)) {
      keep(await postForm('/oauth/token', { ...fields, [name]: `${subjectToken}!` }));
    }
    keep(await postForm('/oauth/token', fields, subjectToken));
  });
});

describe('the search for all of these', () => {
  let looked: ReadonlyMap<string, Buffer>;

  it('finds none of them in any place', async () => {
    expect(hunt.size).toBeGreaterThan(40);
    expect(answers.length).toBeGreaterThan(300);
    looked = await places();
    const found = searchIn(looked, hunt);
    expect(
      found.map(({ secret, place, encoding, after }) => `${place}: ${secret} in ${encoding} after ${after}`),
    ).toEqual([]);
  });

  it('had something to look at: every place says what the installation did', async () => {
    const sizes = Object.fromEntries([...looked].map(([place, bytes]) => [place, bytes.length]));
    expect(Object.keys(sizes)).toEqual(expect.arrayContaining(APP_NAMES.map((app) => `${app}.log`)));
    const empty = Object.keys(sizes).filter((place) => sizes[place]! < 20 && !place.endsWith('redis'));
    expect(empty).toEqual([]);
    expect(looked.get('wire to the broker')!.includes(hashApiKey(installation.seed.apiKey))).toBe(true);
    expect(looked.get('wire to the database')!.includes(hashApiKey(installation.seed.apiKey))).toBe(true);
    expect(looked.get('database')!.includes(hashApiKey(installation.seed.apiKey))).toBe(true);
    expect(looked.get('gateway.log')!.includes('"level":"debug"')).toBe(true);
  });

  it('finds a secret that is planted there, in every place and every spelling', async () => {
    const decoys = new SecretHunt();
    const decoy = decoys.add('decoy', `decoy-${newSecret()}`);
    const spellings = SECRET_ENCODINGS.map((encoding) => encodeSecret(decoy, encoding));
    const text = Buffer.concat(spellings.flatMap((part) => [part, Buffer.from('\n')]));
    expect(searchIn(looked, decoys)).toEqual([]);
    const server = await plant(text, decoy);
    looked = await places();
    server.close();
    const found = searchIn(looked, decoys);
    const sorted = (list: Iterable<string>): string[] => [...list].toSorted((a, b) => a.localeCompare(b));
    for (const place of looked.keys()) {
      const spelled = sorted(new Set(found.filter((find) => find.place === place).map(({ encoding }) => encoding)));
      // PostgreSQL takes no text with a NUL in it.
      const possible = SECRET_ENCODINGS.filter((encoding) => place !== 'database' || !encoding.startsWith('utf16'));
      expect([place, spelled]).toEqual([place, sorted(possible)]);
    }
  });

  /** Through the same doors by which the apps would have done it. */
  async function plant(text: Buffer, decoy: string): Promise<Server> {
    const [database, broker, redis] = taps;
    for (const name of logFiles()) appendFileSync(join(installation.folder, name), text);
    answers.push(text.toString('latin1'));
    const storable = SECRET_ENCODINGS.filter((encoding) => !encoding.startsWith('utf16'));
    const stored = storable.map((encoding) => encodeSecret(decoy, encoding).toString()).join('\n');
    const sql = new Client({ connectionString: database!.url });
    await sql.connect();
    await sql.query('SELECT $1::bytea', [text]);
    const entry = 'INSERT INTO audit_entries (organization_id, key_id, action, request_id) VALUES ($1, $1, $2, $3)';
    await sql.query(entry, [randomUUID(), stored, 'decoy']);
    await sql.end();
    const connection = await connect(broker!.url);
    const channel = await connection.createConfirmChannel();
    const { queue } = await channel.assertQueue('decoys', { durable: true });
    channel.sendToQueue(queue, text, { persistent: true });
    await channel.waitForConfirms();
    await connection.close();
    const cache = new Redis(redis!.url);
    await cache.set(`${installation.redisKeyPrefix}decoy`, text);
    cache.disconnect();
    const server = createServer((_request, response) => response.end(text));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    metricsUrls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`);
    return server;
  }
});
