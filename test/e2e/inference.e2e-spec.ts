import type { ServerResponse } from 'node:http';
import { FakeUpstream, type Behaviour, type ReceivedRequest } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { amountOf, textOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { type Installation, PROVIDER_KEY } from '../support/installation';
import { eventsOf, openStream, type OpenedStream } from './event-stream';
import { Operator, type Tenant } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { CANARY, expectRefusal } from './refusals';
import { settledGeneration } from './stored-generation';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
/** What the upstream says it counted. */
const USAGE = { prompt_tokens: 1_371, completion_tokens: 213, total_tokens: 1_584 };
const COST = textOf(amountOf(PRICES.prompt) * 1_371n + amountOf(PRICES.completion) * 213n);
const EMBEDDING_COST = textOf(amountOf(PRICES.prompt) * 1_371n);
const VECTOR = [0.5, -0.25, 0.125, 1];

const messages = [{ role: 'user', content: 'Say something please.' }];
const chatOf = (model: string, members: object = {}): Readonly<Record<string, unknown>> => ({
  model: `inf/${model}`,
  messages,
  ...members,
});

let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;
let poor: Tenant;
let modest: Tenant;

const pieceOf = (members: object): string =>
  `data: ${JSON.stringify({ id: 'up-1', object: 'chat.completion.chunk', created: 1_760_000_000, model: 'theirs', ...members })}\n\n`;
const words = (content: string): string =>
  pieceOf({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const STOP = pieceOf({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const USED = pieceOf({ choices: [], usage: USAGE });
const DONE = 'data: [DONE]\n\n';

function sendJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

const complaint = (message: string, code: string | null = null): object => ({
  error: { message, type: 'error', code },
});
const fails =
  (status: number, body: unknown = complaint(CANARY), headers: Record<string, string> = {}): Behaviour =>
  (response) =>
    sendJson(response, status, body, headers);

/** Far enough apart that no two pieces are read at once. */
const BETWEEN_PIECES_MS = 50;

function streams(response: ServerResponse, pieces: readonly string[], end: (response: ServerResponse) => void): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const [first, ...rest] = pieces;
  if (first === undefined) return end(response);
  response.write(first);
  setTimeout(() => {
    response.write(rest.join(''));
    end(response);
  }, BETWEEN_PIECES_MS);
}

const finish = (response: ServerResponse): void => void response.end();
const cut = (response: ServerResponse): void => void setTimeout(() => response.destroy(), 50);
const keepOpen = (): void => undefined;
const streaming =
  (pieces: readonly string[], end = finish): Behaviour =>
  (response) =>
    streams(response, pieces, end);

function answers(response: ServerResponse, { body }: ReceivedRequest): void {
  const asked = JSON.parse(body) as { stream?: boolean };
  if (asked.stream) return streams(response, [words('Some'), words('thing.'), STOP, USED, DONE], finish);
  const choice = { index: 0, message: { role: 'assistant', content: 'Something.' }, finish_reason: 'stop' };
  sendJson(response, 200, {
    id: 'up-1',
    object: 'chat.completion',
    created: 1,
    model: 'theirs',
    choices: [choice],
    usage: USAGE,
  });
}

function embeds(response: ServerResponse, { body }: ReceivedRequest): void {
  const { input, encoding_format: format } = JSON.parse(body) as { input: string | string[]; encoding_format?: string };
  const embedding = format === 'base64' ? Buffer.from(Float32Array.from(VECTOR).buffer).toString('base64') : VECTOR;
  const data = [input].flat().map((_, index) => ({ object: 'embedding', index, embedding }));
  sendJson(response, 200, {
    object: 'list',
    model: 'theirs',
    data,
    usage: { prompt_tokens: 1_371, total_tokens: 1_371 },
  });
}

/** By the first part of the path, which is the provider. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  talker: answers,
  embedder: embeds,
  limited: fails(429, complaint(CANARY), { 'retry-after': '7' }),
  broken: fails(500),
  gateway: fails(502, `<html>${CANARY} at 10.0.0.1</html>`, { 'content-type': 'text/html' }),
  overloaded: fails(529),
  slow: fails(504),
  lost: fails(404, complaint(`The model ${CANARY} does not exist`)),
  locked: fails(401, complaint(`Incorrect API key provided: ${PROVIDER_KEY}`)),
  poor: fails(429, complaint('You exceeded your current quota', 'insufficient_quota')),
  strict: fails(400, complaint('temperature must be lower')),
  telling: fails(400, complaint(`your key ${PROVIDER_KEY} cannot do that`)),
  garbled: (response) => sendJson(response, 200, '{"id":"up-1","choices":[{"ind'),
  empty: (response) => sendJson(response, 200, ''),
  hangup: (response) => void response.destroy(),
  // Streams that go wrong.
  silent: streaming([], cut),
  cut: streaming([words('Some'), words('thing')], cut),
  confessing: streaming([
    words('Some'),
    `data: ${JSON.stringify({ error: { message: CANARY, code: 'server_error' } })}\n\n`,
  ]),
  rambling: streaming([words('Some'), 'data: {"choices":[{"ind\n\n']),
  forgetful: streaming([words('Something.'), STOP, DONE]),
  abrupt: streaming([words('Something.'), STOP, USED]),
  endless: streaming([words('Something '), words('and more')], keepOpen),
  waiting: keepOpen,
};

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, request) => {
    const provider = request.path.split('/')[1]!.replace(/-\d$/, '');
    BEHAVIOURS[provider]!(response, request);
  };
  const model = (name: string, apis?: readonly string[]): TestModel => ({
    slug: `inf/${name}`,
    provider: `inf-${name}`,
    baseUrl: `${upstream.origin}/${name}/v1`,
    pricing: PRICES,
    ...(apis && { apis }),
  });
  // What failed in one test must not be avoided in another, so each of them meets providers of its own.
  const names = [
    ...Object.keys(BEHAVIOURS),
    'broken-1',
    'broken-2',
    'broken-3',
    'broken-4',
    'limited-1',
    'limited-2',
    'cut-1',
  ];
  const models = names.map((name) => model(name, name === 'embedder' ? ['embeddings'] : ['chat']));
  const catalogue = JSON.parse(catalogueOf(models)) as {
    models: { slug: string; name: string; endpoints: { provider: string }[] }[];
  };
  const endpointOf = (name: string): { provider: string } =>
    catalogue.models.find(({ slug }) => slug === `inf/${name}`)!.endpoints[0]!;
  const several = (slug: string, ...names: string[]): (typeof catalogue.models)[number] => ({
    ...catalogue.models[0]!,
    slug: `inf/${slug}`,
    name: slug,
    endpoints: names.map(endpointOf),
  });
  catalogue.models.push(
    several('second', 'broken-1', 'talker'),
    several('third', 'broken-2', 'limited-1', 'talker'),
    several('none', 'limited-2', 'broken-3'),
    several('blamed', 'strict', 'talker'),
    several('alone', 'broken-4', 'talker'),
    several('halfway', 'cut-1', 'talker'),
  );
  installation = await shareInstallation({
    catalogue: JSON.stringify(catalogue),
    apps: ['auth', 'gateway'],
  });
  client = installation.client();
  const operator = new Operator(installation);
  poor = await operator.createTenant('Poor', null);
  modest = await operator.createTenant('Modest', '0.01');
}, 240_000);

afterAll(async () => {
  await client?.close();
  await giveBack(installation);
  await upstream?.close();
});

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens?: number;
  readonly total_tokens: number;
  /** The text of the number. */
  readonly cost: string;
}

const generationIdOf = ({ headers }: ApiAnswer): string => String(headers['x-generation-id']);
const stream = (model: string, members: object = {}, apiKey = installation.seed.apiKey): Promise<OpenedStream> =>
  openStream(installation.baseUrl, '/chat/completions', apiKey, chatOf(model, { ...members, stream: true }));
const costIn = (text: string): string => /"cost":([-+\d.eE]+)/.exec(text)?.[1] ?? 'none';
const sameAmount = (one: string, other: string): boolean => amountOf(one) === amountOf(other);

/** Until no call is open and nothing is held. */
function untilSettled(): Promise<true> {
  return eventually('every call is settled', 5_000, async () => {
    const row = await installation.database.firstRow<{ open: number; held: string }>({
      sql: `SELECT (SELECT count(*)::integer FROM generations WHERE state = 'open') AS open,
                   (SELECT sum(held_usd)::text FROM ledger_accounts) AS held`,
      values: [],
    });
    return row!.open === 0 && Number(row!.held) === 0 ? true : undefined;
  });
}

async function expectBooksBalanced(): Promise<void> {
  expect(await new LedgerRepository(installation.database).audit()).toEqual([]);
}

describe('a chat completion', () => {
  it('is answered with 200, under our names, with what it cost to the digit', async () => {
    const answer = await client.request<{ id: string; usage: Usage }>('POST', '/chat/completions', chatOf('talker'));
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    const id = generationIdOf(answer);
    expect(id).toMatch(/^gen-\d+-[0-9A-Za-z]{20}$/);
    expect(answer.body).toMatchObject({
      id,
      object: 'chat.completion',
      model: 'inf/talker',
      provider: 'Test inf-talker',
      choices: [
        { message: { role: 'assistant', content: 'Something.' }, finish_reason: 'stop', native_finish_reason: 'stop' },
      ],
      usage: USAGE,
    });
    expect(sameAmount(answer.body.usage.cost, COST)).toBe(true);
    const row = await settledGeneration(installation.database, id);
    expect(row).toMatchObject({
      state: 'settled',
      outcome: 'completed',
      provider: 'inf-talker',
      provenance: 'upstream',
    });
    expect(row).toMatchObject({ prompt_tokens: 1_371, completion_tokens: 213 });
    expect(sameAmount(row.cost, COST)).toBe(true);
    expect(row.charges.map((charge) => sameAmount(charge, COST))).toEqual([true]);
  });

  it('is asked of the provider with its key and its model, and with nothing of the caller but the body', async () => {
    const already = upstream.requests.length;
    const extra = { temperature: 0.25, strange_member: { kept: [1, 2] }, user: 'somebody' };
    await client.chat(chatOf('talker', { ...extra, provider: { only: ['inf-talker'] } }));
    const { path, headers, body } = upstream.requests[already]!;
    expect(path).toBe('/talker/v1/chat/completions');
    expect(headers.authorization).toBe(`Bearer ${PROVIDER_KEY}`);
    expect(JSON.parse(body)).toMatchObject({
      model: 'upstream-inf-talker',
      messages,
      temperature: 0.25,
      strange_member: { kept: [1, 2] },
    });
    expect(JSON.parse(body)).not.toHaveProperty('provider');
    const all = JSON.stringify([headers, body]);
    for (const secret of [installation.seed.apiKey, installation.seed.workspaceId]) expect(all).not.toContain(secret);
  });

  it('costs a stream what it costs a whole answer', async () => {
    const opened = await stream('talker');
    expect(opened.status).toBe(200);
    expect(opened.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(opened.headers.get('cache-control')).toBe('no-cache');
    const id = opened.headers.get('x-generation-id')!;
    const text = await opened.rest();
    const events = eventsOf(text);
    expect(events.at(-1)).toBe('[DONE]');
    expect(events.filter((event) => event === '[DONE]')).toHaveLength(1);
    const chunks = events
      .slice(0, -1)
      .map((event) => JSON.parse(event) as { id: string; choices: { delta: { content?: string } }[]; usage?: Usage });
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({
        id,
        object: 'chat.completion.chunk',
        model: 'inf/talker',
        provider: 'Test inf-talker',
      });
    }
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Something.');
    expect(chunks.filter(({ usage }) => usage !== undefined && usage !== null)).toHaveLength(1);
    expect(chunks.at(-1)!.usage).toMatchObject(USAGE);
    expect(sameAmount(costIn(text), COST)).toBe(true);
    const row = await settledGeneration(installation.database, id);
    expect(row).toMatchObject({ state: 'settled', outcome: 'completed', provenance: 'upstream' });
    expect(row.charges.map((charge) => sameAmount(charge, COST))).toEqual([true]);
  });

  it('asks the provider for the usage of a stream', async () => {
    const already = upstream.requests.length;
    await (await stream('talker')).rest();
    expect(JSON.parse(upstream.requests[already]!.body)).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('shows in the credits of the organization', async () => {
    // Calls of other tests may be charged a moment after their answers.
    const tenant = await new Operator(installation).createTenant('Counted', '1');
    const [manager, caller] = [tenant.managementKey, tenant.apiKey].map((key) => installation.client(key));
    const answer = await caller!.chat(chatOf('talker'));
    await settledGeneration(installation.database, generationIdOf(answer));
    const credits = await manager!.request<{ data: { total_usage: number } }>('GET', '/credits');
    expect(credits.body.data.total_usage).toBeCloseTo(Number(COST), 12);
    await Promise.all([manager!.close(), caller!.close()]);
  });
});

describe('embeddings', () => {
  const embed = (
    members: object,
  ): Promise<ApiAnswer<{ data: { embedding: unknown; index: number }[]; usage: Usage }>> =>
    client.request('POST', '/embeddings', { model: 'inf/embedder', input: 'words', ...members });

  it.each([
    ['by default', {}, VECTOR],
    ['as float', { encoding_format: 'float' }, VECTOR],
    ['as base64', { encoding_format: 'base64' }, Buffer.from(Float32Array.from(VECTOR).buffer).toString('base64')],
  ])('come %s, and are charged by their input alone', async (_case, members, vector) => {
    const answer = await embed(members);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      object: 'list',
      model: 'inf/embedder',
      data: [{ object: 'embedding', index: 0, embedding: vector }],
    });
    expect(sameAmount(answer.body.usage.cost, EMBEDDING_COST)).toBe(true);
    const row = await settledGeneration(installation.database, generationIdOf(answer));
    expect(row).toMatchObject({ state: 'settled', outcome: 'completed', completion_tokens: 0 });
    expect(row.charges.map((charge) => sameAmount(charge, EMBEDDING_COST))).toEqual([true]);
  });

  it('come one for each input, in order', async () => {
    const answer = await embed({ input: ['one', 'two', 'three'] });
    expect(answer.body.data.map(({ index }) => index)).toEqual([0, 1, 2]);
  });

  it.each([
    ['no input', { input: '' }],
    ['no inputs', { input: [] }],
    ['inputs of two kinds', { input: ['one', 2] }],
    ['a format nobody has', { encoding_format: 'hex' }],
    ['no dimensions at all', { dimensions: 0 }],
    ['a model that only talks', { model: 'inf/talker' }],
  ])('of %s are refused', async (_case, members) => {
    const already = upstream.requests.length;
    const answer = await embed(members);
    expectRefusal({ ...answer, body: answer.text }, 400);
    expect(upstream.requests).toHaveLength(already);
  });
});

describe('a provider that fails', () => {
  it.each([
    ['limited', 429, '7'],
    ['broken', 502, undefined],
    ['gateway', 502, undefined],
    ['overloaded', 503, undefined],
    ['slow', 504, undefined],
    ['lost', 404, undefined],
    ['locked', 502, undefined],
    ['poor', 502, undefined],
    ['garbled', 502, undefined],
    ['empty', 502, undefined],
    ['hangup', 502, undefined],
  ])(
    'as %s is answered with %i, by a whole answer and by a stream, and costs nothing',
    async (model, status, retryAfter) => {
      const whole = await client.chat(chatOf(model));
      expectRefusal({ ...whole, body: whole.text }, status, [PROVIDER_KEY, '10.0.0.1']);
      expect(whole.headers['retry-after']).toBe(retryAfter);
      const row = await settledGeneration(installation.database, generationIdOf(whole));
      expect(row).toMatchObject({ state: 'settled', outcome: 'failed', charges: [] });
      expect(Number(row.cost)).toBe(0);
      const streamed = await stream(model);
      const body = await streamed.rest();
      expectRefusal({ status: streamed.status, headers: Object.fromEntries(streamed.headers), body }, status, [
        PROVIDER_KEY,
      ]);
    },
  );

  it('because of the request says why, without our key', async () => {
    const strict = await client.request<{ error: { message: string } }>('POST', '/chat/completions', chatOf('strict'));
    expect(strict).toMatchObject({
      status: 400,
      body: { error: { code: 400, message: expect.stringContaining('temperature must be lower') as string } },
    });
    const telling = await client.chat(chatOf('telling'));
    expectRefusal({ ...telling, body: telling.text }, 400, [PROVIDER_KEY]);
  });
});

describe('a stream that goes wrong', () => {
  it.each(['silent'])('before its first event (%s) is an error like any other', async (model) => {
    const opened = await stream(model);
    expectRefusal(
      { status: opened.status, headers: Object.fromEntries(opened.headers), body: await opened.rest() },
      502,
    );
  });

  it.each(['cut', 'confessing', 'rambling'])(
    'after its first event (%s) ends with an error and [DONE], and is charged for what was said',
    async (model) => {
      const opened = await stream(model);
      expect(opened.status).toBe(200);
      const text = await opened.rest();
      const events = eventsOf(text);
      expect(events.at(-1)).toBe('[DONE]');
      const last = JSON.parse(events.at(-2)!) as object;
      expect(last).toMatchObject({
        error: { code: 502, message: expect.any(String) as string, metadata: { error_type: 'provider_unavailable' } },
        choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
      });
      expect(text).not.toContain(CANARY);
      const row = await settledGeneration(installation.database, opened.headers.get('x-generation-id')!);
      expect(row).toMatchObject({ outcome: 'failed', provenance: 'partial' });
      expect(row.completion_tokens).toBeGreaterThan(0);
      expect(row.completion_tokens).toBeLessThan(20);
      expect(row.charges).toEqual([row.cost]);
      expect(sameAmount(costIn(text), row.cost)).toBe(true);
    },
  );

  it('only in that it forgets its usage is whole, and estimated', async () => {
    const opened = await stream('forgetful');
    const text = await opened.rest();
    expect(eventsOf(text).at(-1)).toBe('[DONE]');
    expect(text).not.toContain('"error"');
    const row = await settledGeneration(installation.database, opened.headers.get('x-generation-id')!);
    expect(row).toMatchObject({ outcome: 'completed', provenance: 'estimated' });
    expect(sameAmount(costIn(text), row.cost)).toBe(true);
    expect(row.charges).toEqual([row.cost]);
  });

  it('only in that it forgets [DONE] is whole, and gets it from us', async () => {
    const opened = await stream('abrupt');
    const events = eventsOf(await opened.rest());
    expect(events.filter((event) => event === '[DONE]')).toHaveLength(1);
    expect(events.at(-1)).toBe('[DONE]');
    const row = await settledGeneration(installation.database, opened.headers.get('x-generation-id')!);
    expect(row).toMatchObject({ outcome: 'completed', provenance: 'upstream' });
    expect(sameAmount(row.cost, COST)).toBe(true);
  });
});

describe('a model with several providers', () => {
  /** Who was asked since `already`. */
  const asked = (already: number): string[] => upstream.requests.slice(already).map(({ path }) => path.split('/')[1]!);
  const inOrder = (...names: string[]): object => ({ provider: { order: names.map((name) => `inf-${name}`) } });

  it('is answered by the second when the first fails', async () => {
    const already = upstream.requests.length;
    const answer = await client.chat(chatOf('second', inOrder('broken-1', 'talker')));
    expect(answer).toMatchObject({ status: 200, body: { provider: 'Test inf-talker', model: 'inf/second' } });
    expect(asked(already)).toEqual(['broken-1', 'talker']);
    const row = await settledGeneration(installation.database, generationIdOf(answer));
    expect(row).toMatchObject({ provider: 'inf-talker', outcome: 'completed' });
    expect(row.charges).toHaveLength(1);
  });

  it('is answered by the third when two fail, a stream too', async () => {
    const already = upstream.requests.length;
    const opened = await stream('third', inOrder('broken-2', 'limited-1', 'talker'));
    expect(opened.status).toBe(200);
    expect(eventsOf(await opened.rest()).at(-1)).toBe('[DONE]');
    expect(asked(already)).toEqual(['broken-2', 'limited-1', 'talker']);
  });

  it('is refused when all of them fail, and the caller learns of each and when to come back', async () => {
    const answer = await client.request<{ error: { metadata: { previous_errors: object[] } } }>(
      ...(['POST', '/chat/completions', chatOf('none', inOrder('limited-2', 'broken-3'))] as const),
    );
    expectRefusal({ ...answer, body: answer.text }, 502);
    expect(answer.headers['retry-after']).toBe('7');
    expect(answer.body.error.metadata.previous_errors).toMatchObject([
      { provider: 'Test inf-limited-2', code: 'rate_limit_exceeded', status: 429 },
      { provider: 'Test inf-broken-3', code: 'provider_unavailable', status: 502 },
    ]);
  });

  it('is not tried elsewhere when the request is to blame', async () => {
    const already = upstream.requests.length;
    expect((await client.chat(chatOf('blamed', inOrder('strict', 'talker')))).status).toBe(400);
    expect(asked(already)).toEqual(['strict']);
  });

  it('is not tried elsewhere when the caller forbids it', async () => {
    const already = upstream.requests.length;
    const only = { provider: { order: ['inf-broken-4'], allow_fallbacks: false } };
    expect((await client.chat(chatOf('alone', only))).status).toBe(502);
    expect(asked(already)).toEqual(['broken-4']);
  });

  it('is not tried elsewhere once something was said', async () => {
    const already = upstream.requests.length;
    const text = await (await stream('halfway', inOrder('cut-1', 'talker'))).rest();
    expect(text).toContain('"finish_reason":"error"');
    expect(asked(already)).toEqual(['cut-1']);
  });

  it('falls back to another model that the caller names', async () => {
    const answer = await client.chat(chatOf('broken', { models: ['inf/talker'] }));
    expect(answer).toMatchObject({ status: 200, body: { model: 'inf/talker' } });
  });
});

describe('a caller who leaves', () => {
  /** How the latest request to the upstream ended, and how long that took. */
  async function ending(at: number): Promise<{ wasWhole: boolean; tookMs: number }> {
    const startedMs = performance.now();
    const wasWhole = await upstream.endings[at]!;
    return { wasWhole, tookMs: performance.now() - startedMs };
  }

  it('in the middle of a stream ends it at the provider within a second, and pays once for what was said', async () => {
    const already = upstream.endings.length;
    const opened = await stream('endless');
    await opened.next();
    opened.leave();
    const { wasWhole, tookMs } = await ending(already);
    expect(wasWhole).toBe(false);
    expect(tookMs).toBeLessThan(1_000);
    const row = await settledGeneration(installation.database, opened.headers.get('x-generation-id')!);
    expect(row).toMatchObject({ state: 'settled', outcome: 'cancelled', provenance: 'partial' });
    expect(row.charges).toEqual([row.cost]);
    expect(Number(row.cost)).toBeGreaterThan(0);
    await expectBooksBalanced();
  });

  it('before anything was said ends the call at the provider within a second, and pays for its prompt', async () => {
    const already = upstream.endings.length;
    const known = await generationIds();
    const leaving = new AbortController();
    const call = fetch(`${installation.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${installation.seed.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatOf('waiting')),
      signal: leaving.signal,
    });
    await eventually('the provider is asked', 5_000, () => (upstream.endings.length > already ? true : undefined));
    leaving.abort();
    await expect(call).rejects.toThrow();
    const { wasWhole, tookMs } = await ending(already);
    expect(wasWhole).toBe(false);
    expect(tookMs).toBeLessThan(1_000);
    const id = await eventually('the call is on the books', 5_000, async () =>
      [...(await generationIds())].find((each) => !known.has(each)),
    );
    const row = await settledGeneration(installation.database, id);
    expect(row).toMatchObject({ state: 'settled', outcome: 'cancelled', charges: [row.cost] });
    expect(Number(row.cost)).toBeGreaterThan(0);
    await expectBooksBalanced();
  });

  async function generationIds(): Promise<Set<string>> {
    const rows = await installation.database.rows<{ id: string }>({ sql: 'SELECT id FROM generations', values: [] });
    return new Set(rows.map(({ id }) => id));
  }
});

describe('an organization', () => {
  it('without credits is refused, asks no provider and owes nothing', async () => {
    const already = upstream.requests.length;
    const broke = installation.client(poor.apiKey);
    for (const answer of [
      await broke.chat(chatOf('talker')),
      await broke.request('POST', '/embeddings', { model: 'inf/embedder', input: 'x' }),
    ]) {
      expectRefusal({ ...answer, body: answer.text }, 402);
    }
    const opened = await stream('talker', {}, poor.apiKey);
    expectRefusal(
      { status: opened.status, headers: Object.fromEntries(opened.headers), body: await opened.rest() },
      402,
    );
    expect(upstream.requests).toHaveLength(already);
    const account = await new LedgerRepository(installation.database).accountOf(poor.organizationId);
    expect([Number(account.balanceUsd), Number(account.heldUsd)]).toEqual([0, 0]);
    await broke.close();
  });

  it('with a cent is served for a cent, however many calls come at once', async () => {
    const spender = installation.client(modest.apiKey);
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => spender.chat(chatOf('talker', { max_tokens: 1_000 }))),
    );
    const served = answers.filter(({ status }) => status === 200);
    for (const answer of answers) if (answer.status !== 200) expectRefusal({ ...answer, body: answer.text }, 402);
    expect(served.length).toBeGreaterThan(0);
    expect(served.length).toBeLessThan(60);
    for (const answer of served) await settledGeneration(installation.database, generationIdOf(answer));
    const account = await new LedgerRepository(installation.database).accountOf(modest.organizationId);
    expect(Number(account.heldUsd)).toBe(0);
    expect(amountOf(account.balanceUsd)).toBe(amountOf('0.01') - amountOf(COST) * BigInt(served.length));
    expect(Number(account.balanceUsd)).toBeGreaterThanOrEqual(0);
    await spender.close();
  });
});

describe('at the end of all this', () => {
  it('nothing is open or held, and the books balance to the last digit', async () => {
    await untilSettled();
    await expectBooksBalanced();
  });
});
