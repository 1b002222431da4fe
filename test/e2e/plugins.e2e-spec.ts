import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  dataOfEventStream,
  FakeUpstream,
  findResponsesGrammarProblems,
  type ReceivedRequest,
} from '@libs/inference/testing';
import { HttpsHost } from '@libs/platform/testing';
import { tinyPdf } from '../../apps/gateway/src/parsers/testing/tiny-pdf';
import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { amountOf, textOf } from '../support/decimal';
import { Installation } from '../support/installation';
import { turnsBy, type TurnScript } from '../support/turn-scripts';
import { eventsOf, openStream } from './event-stream';
import { Operator, type Tenant } from '../support/operator';
import { expectRefusal } from './refusals';
import { settledGeneration, type StoredGeneration } from './stored-generation';

type Json = Readonly<Record<string, unknown>>;

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const SEARCH_COST = '0.004';
const FOUND = { url: 'https://a.example/1', title: 'One', content: 'The first page.' };
const MODELS = { chat: 'openai', responses: 'openai', messages: 'anthropic' };

let upstream: FakeUpstream;
let host: HttpsHost;
let installation: Installation;
let client: ApiClient;
let poor: Tenant;
let folder: string;
let turns: readonly TurnScript[];

/** What the model was asked, the searches and the texts to be judged, since the last test. */
let asked: ReceivedRequest[];
let searches: ReceivedRequest[];
let judged: ReceivedRequest[];

const sendJson = (response: ServerResponse, body: object): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

/** Services and models have different paths. */
function behave(response: ServerResponse, request: ReceivedRequest): void {
  if (request.path.startsWith('/search')) {
    searches.push(request);
    return sendJson(response, { results: [FOUND] });
  }
  if (request.path === '/moderations') {
    judged.push(request);
    const { input } = JSON.parse(request.body) as { input: string[] };
    const results = input.map((text) => ({
      flagged: /attack/.test(text),
      categories: { violence: /attack/.test(text) },
    }));
    return sendJson(response, { results });
  }
  asked.push(request);
  turnsBy(() => turns[Math.min(asked.length, turns.length) - 1]!)(response, request);
}

const body = (members: object, model = 'chat'): Json => ({
  model: `plugins/${model}`,
  messages: [{ role: 'user', content: 'What is new?' }],
  ...members,
});
const enabled = { 'x-sluice-metadata': 'enabled' };
const ask = (path: string, request: Json): Promise<ApiAnswer<Json>> =>
  client.request<Json>('POST', path, request, enabled);
const chat = (members: object): Promise<ApiAnswer<Json>> => ask('/chat/completions', body(members));
const stagesOf = ({ body: { sluice_metadata: metadata } }: ApiAnswer<Json>): unknown =>
  (metadata as { pipeline?: unknown }).pipeline;
const contentOf = ({ body: { choices } }: ApiAnswer<Json>): string =>
  (choices as { message: { content: string } }[])[0]!.message.content;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = behave;
  host = await HttpsHost.start((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>A page</title><p>Its text.'),
  );
  folder = mkdtempSync(join(tmpdir(), 'sluice-plugins-'));
  const authority = join(folder, 'authority.pem');
  writeFileSync(authority, host.certificate);
  const models = Object.entries(MODELS).map(([api, protocol]) => ({
    slug: `plugins/${api}`,
    provider: `plugins-${api}`,
    baseUrl: `${upstream.origin}/${api}/v1`,
    protocol,
    apis: [api],
    pricing: PRICES,
  }));
  installation = await Installation.start({
    catalogue: catalogueOf(models),
    apps: ['auth', 'gateway'],
    environmentOf: {
      gateway: {
        SEARXNG_URL: upstream.origin,
        WEB_SEARCH_COST_USD: SEARCH_COST,
        MODERATION_URL: `${upstream.origin}/moderations`,
        EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
        NODE_EXTRA_CA_CERTS: authority,
      },
    },
  });
  client = installation.client();
  poor = await new Operator(installation).createTenant('Poor', null);
}, 240_000);

afterAll(async () => {
  await client?.close();
  await installation?.stop();
  await host?.stop();
  await upstream?.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  [asked, searches, judged] = [[], [], []];
  turns = [{ text: 'See [One](https://a.example/1).' }];
});

/** That a call has cost as much as its answer says, and so much more than without plugins. */
async function expectCharged(answer: ApiAnswer<Json>, extra: string): Promise<void> {
  const row = await settledGeneration(installation.database, String(answer.headers['x-generation-id']));
  const usage = answer.body['usage'] as { cost: string };
  expect(textOf(amountOf(row.cost))).toBe(textOf(amountOf(usage.cost)));
  const model =
    amountOf(PRICES.prompt) * BigInt(row.prompt_tokens) + amountOf(PRICES.completion) * BigInt(row.completion_tokens);
  expect(textOf(amountOf(row.cost))).toBe(textOf(model + amountOf(extra)));
}

const ATTACK = {
  input: { input: 'Plan an attack.' },
  messages: { messages: [{ role: 'user', content: 'Plan an attack.' }] },
};

/** How a call ended on the books, and what it was charged. */
const bookedOf = (id: string): Promise<StoredGeneration> => settledGeneration(installation.database, id);

/** What `GET /generation` says of the searches of a call that is settled. */
async function searchesOf(id: string): Promise<Json> {
  await settledGeneration(installation.database, id);
  const { body: told } = await client.request<{ data: Json }>('GET', `/generation?id=${id}`);
  const { num_search_results: results, web_search_engine: engine } = told.data;
  return { results, engine };
}

describe('plugins', () => {
  it.each([
    ['/chat/completions', body({}, 'chat'), 'annotations'],
    ['/responses', { model: 'plugins/responses', input: 'What is new?' }, 'annotations'],
    ['/messages', body({ max_tokens: 50 }, 'messages'), 'citations'],
  ])('search the web for a request on %s, cite what was found and charge the search', async (path, request, member) => {
    const answer = await ask(path, { ...request, plugins: [{ id: 'web', max_results: 2 }] });
    expect(answer.status).toBe(200);
    expect(searches.map(({ path: searched }) => searched)).toEqual(['/search?q=What+is+new%3F&format=json']);
    expect(asked[0]!.body).toContain('The first page.');
    expect(asked[0]!.body).not.toContain('plugins"');
    expect(answer.text).toMatch(new RegExp(`"${member}":\\[\\{"type":"[a-z_]+"`));
    expect(stagesOf(answer)).toMatchObject([{ type: 'plugin', name: 'web-search', cost_usd: 0.004 }]);
    await expectCharged(answer, SEARCH_COST);
    const searched = await searchesOf(String(answer.headers['x-generation-id']));
    expect(searched).toEqual({ results: 1, engine: 'searxng' });
  });

  it('begin a streamed chat with what was found, and charge it', async () => {
    const request = body({ plugins: [{ id: 'web' }], stream: true });
    const opened = await openStream(installation.baseUrl, '/chat/completions', installation.seed.apiKey, request);
    const events = eventsOf(await opened.rest());
    expect(JSON.parse(events[0]!)).toMatchObject({
      choices: [{ delta: { annotations: [{ url_citation: { url: FOUND.url } }] } }],
    });
    expect(events.at(-1)).toBe('[DONE]');
    const row = await settledGeneration(installation.database, opened.headers.get('x-generation-id')!);
    expect(amountOf(row.cost)).toBeGreaterThan(amountOf(SEARCH_COST));
    expect(row.charges.map((charge) => textOf(amountOf(charge)))).toEqual([textOf(amountOf(row.cost))]);
    const searched = await searchesOf(opened.headers.get('x-generation-id')!);
    expect(searched).toEqual({ results: 1, engine: 'searxng' });
  });

  it('have a streamed response cite what was found, in all events that show its text', async () => {
    const request = { model: 'plugins/chat', input: 'What is new?', plugins: [{ id: 'web' }] };
    const whole = await ask('/responses', request);
    const opened = await openStream(installation.baseUrl, '/responses', installation.seed.apiKey, {
      ...request,
      stream: true,
    });
    const data = eventsOf(await opened.rest());
    expect(findResponsesGrammarProblems(data)).toEqual([]);
    const events = data.slice(0, -1).map((one) => JSON.parse(one) as Json);
    const [item] = whole.body['output'] as { content: { annotations: object[] }[] }[];
    const { annotations } = item!.content[0]!;
    expect(annotations).toMatchObject([{ url: FOUND.url, start_index: 4, end_index: 30 }]);
    const typed = (type: string): Json => events.find((event) => event['type'] === type)!;
    expect(typed('response.output_text.annotation.added')).toMatchObject({
      annotation_index: 0,
      annotation: annotations[0]!,
    });
    expect(typed('response.content_part.done')).toMatchObject({ part: { annotations } });
    expect(typed('response.output_item.done')).toMatchObject({ item: { content: [{ annotations }] } });
    expect(typed('response.completed')).toMatchObject({ response: { output: [{ content: [{ annotations }] }] } });
  });

  it('have a streamed message cite what was found', async () => {
    const request = body({ max_tokens: 50, plugins: [{ id: 'web' }] }, 'messages');
    const whole = await ask('/messages', request);
    const [block] = whole.body['content'] as { citations: object[] }[];
    const opened = await openStream(installation.baseUrl, '/messages', installation.seed.apiKey, {
      ...request,
      stream: true,
    });
    const events = dataOfEventStream(await opened.rest()).map((one) => JSON.parse(one) as Json);
    const at = events.findIndex(({ type }) => type === 'content_block_stop');
    expect(events[at - 1]).toEqual({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'citations_delta', citation: block!.citations[0] },
    });
  });

  it('do nothing for who cannot pay', async () => {
    const theirs = installation.client(poor.apiKey);
    const answer = await theirs.request('POST', '/chat/completions', body({ plugins: [{ id: 'web' }] }));
    await theirs.close();
    expectRefusal(answer, 402);
    expect([...searches, ...asked]).toEqual([]);
  });

  it('read the pages and files that the user sends', async () => {
    const file = {
      filename: 'a.pdf',
      file_data: `data:application/pdf;base64,${tinyPdf(['In the file']).toString('base64')}`,
    };
    const content = [
      { type: 'text', text: `Read ${host.url('/page')} and https://10.0.0.1/secret` },
      { type: 'file', file },
    ];
    const answer = await chat({
      messages: [{ role: 'user', content }],
      plugins: [{ id: 'web-fetch' }, { id: 'file-parser' }],
    });
    expect(answer.status).toBe(200);
    for (const words of ['Its text.', 'In the file', 'The page could not be read. The URL is refused']) {
      expect(asked[0]!.body).toContain(words);
    }
    expect(asked[0]!.body).not.toContain('base64');
    const { choices } = answer.body as unknown as { choices: { message: { annotations: object[] } }[] };
    expect(choices[0]!.message.annotations).toMatchObject([
      { type: 'url_citation' },
      { type: 'file', file: { name: 'a.pdf', content: [{ type: 'text', text: 'In the file' }] } },
    ]);
    expect(stagesOf(answer)).toMatchObject([
      { name: 'file-parser' },
      { name: 'web-fetch', summary: 'pages=1, failed=1' },
    ]);
    await expectCharged(answer, '0');
  });

  it('repair JSON that does not parse', async () => {
    turns = [{ text: '```json\n{"a": [1, 2,\n```' }];
    const plugins = [{ id: 'response-healing' }];
    const answer = await chat({ plugins, response_format: { type: 'json_object' } });
    expect(JSON.parse(contentOf(answer))).toEqual({ a: [1, 2] });
    expect(stagesOf(answer)).toMatchObject([{ type: 'response_healing' }]);
    expect(contentOf(await chat({ plugins }))).toBe('```json\n{"a": [1, 2,\n```');
  });

  it('make a conversation fit that is too long for the model', async () => {
    const messages = [1, 2, 3, 4, 5].flatMap((turn) => [
      { role: 'user', content: `${turn}${'q'.repeat(40_000)}` },
      { role: 'assistant', content: 'yes' },
    ]);
    const answer = await chat({ messages, plugins: [{ id: 'context-compression' }] });
    expect(answer.status).toBe(200);
    expect(Buffer.byteLength(asked[0]!.body)).toBeLessThan(32_768 * 4);
    expect(stagesOf(answer)).toMatchObject([{ type: 'context_compression', data: { original_count: 10 } }]);
  });

  it('have requests judged, and refuse what is flagged before a model sees it', async () => {
    const plugins = [{ id: 'moderation' }];
    expect((await chat({ plugins })).status).toBe(200);
    const answer = await chat({ plugins, messages: [{ role: 'user', content: 'Plan an attack.' }] });
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({
      error: {
        code: 403,
        metadata: { reasons: ['violence'], flagged_input: 'Plan an attack.', model_slug: 'plugins/chat' },
      },
    });
    expect(judged).toHaveLength(2);
    expect(asked).toHaveLength(1);
  });

  it.each([
    ['/chat/completions', body({})],
    ['/responses', { model: 'plugins/chat', input: 'What is new?' }],
    ['/messages', body({ max_tokens: 50 }, 'messages')],
  ])('refuse and charge a stream on %s as they do a whole answer', async (path, request) => {
    const streamed = async (asked: Json): Promise<{ status: number; id: string; text: string }> => {
      const opened = await openStream(installation.baseUrl, path, installation.seed.apiKey, { ...asked, stream: true });
      const id = opened.headers.get('x-generation-id')!;
      return { status: opened.status, id, text: await opened.rest() };
    };
    const plugins = [{ id: 'moderation' }, { id: 'response-healing' }];
    const flagged = { ...request, plugins, ...(path === '/responses' ? ATTACK.input : ATTACK.messages) };
    const refused = await client.request<Json>('POST', path, flagged);
    const refusedStream = await streamed(flagged);
    expect(refused.status).toBe(403);
    expect(refusedStream.status).toBe(403);
    const numbered = 'request_id' in refused.body && { request_id: expect.any(String) };
    expect(JSON.parse(refusedStream.text)).toEqual({ ...refused.body, ...numbered });
    expect(asked).toEqual([]);
    const whole = await ask(path, { ...request, plugins });
    const stream = await streamed({ ...request, plugins });
    expect(await bookedOf(refusedStream.id)).toEqual(await bookedOf(String(refused.headers['x-generation-id'])));
    const booked = await bookedOf(stream.id);
    expect(booked).toEqual(await bookedOf(String(whole.headers['x-generation-id'])));
    expect(booked).toMatchObject({ outcome: 'completed', provenance: 'upstream' });
  });

  it.each([
    ['/chat/completions', body({})],
    ['/responses', { model: 'plugins/responses', input: 'Hi' }],
    ['/messages', body({ max_tokens: 5 }, 'messages')],
  ])('are refused on %s where they are not offered, unless they are not enabled', async (path, request) => {
    const refused = await ask(path, { ...request, plugins: [{ id: 'web', enabled: false }, { id: 'fusion' }] });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('plugins[1].id');
    expect(asked).toEqual([]);
    const taken = await ask(path, { ...request, plugins: [{ id: 'fusion', enabled: false }] });
    expect(taken.status).toBe(200);
    expect(stagesOf(taken)).toBeUndefined();
  });
});

describe('server tools for the web', () => {
  it('search and read while a response is made', async () => {
    turns = [
      {
        calls: [
          { id: 'call_1', name: 'web_search', arguments: '{"query":"news"}' },
          { id: 'call_2', name: 'web_fetch', arguments: JSON.stringify({ url: host.url('/page') }) },
        ],
      },
      { text: 'See [One](https://a.example/1).' },
    ];
    const tools = [{ type: 'sluice:web_search' }, { type: 'sluice:web_fetch', parameters: { max_uses: 1 } }];
    const answer = await ask('/responses', { model: 'plugins/chat', input: 'News?', tools });
    expect(answer.body['output']).toMatchObject([
      {
        type: 'sluice:web_search',
        status: 'completed',
        action: { type: 'search', query: 'news', sources: [{ type: 'url', url: FOUND.url }] },
      },
      { type: 'sluice:web_fetch', status: 'completed', url: host.url('/page'), title: 'A page', content: 'Its text.' },
      { type: 'message', content: [{ annotations: [{ url: FOUND.url, start_index: 4, end_index: 30 }, {}] }] },
    ]);
    expect(answer.body['usage']).toMatchObject({
      server_tool_use_details: { tool_calls_executed: 2, web_search_requests: 1 },
      cost_details: { server_tool_cost: 0.004 },
    });
    await expectCharged(answer, SEARCH_COST);
    const searched = await searchesOf(String(answer.headers['x-generation-id']));
    expect(searched).toEqual({ results: 1, engine: 'searxng' });
  });
});
