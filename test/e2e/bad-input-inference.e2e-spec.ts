import type { ServerResponse } from 'node:http';
import { FakeUpstream, type ReceivedRequest } from '@libs/inference/testing';
import { LedgerRepository } from '@libs/persistence';
import { catalogueOf, type TestModel } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { amountOf } from '../support/decimal';
import { eventually } from '../support/eventually';
import { type Installation, PROVIDER_KEY } from '../support/installation';
import { COUNTED, scriptOf } from '../support/provider-scripts';
import { openStream } from './event-stream';
import { Operator, type Tenant } from '../support/operator';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { CANARY, expectRefusal, findInsides } from './refusals';
import { settledGeneration, type StoredGeneration } from './stored-generation';
import { findProblems, readEvents } from './stream-grammar';
import { countRows, type StoredRows } from '../support/stored-rows';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const CONTEXT_LENGTH = 32_768;
const HELD_MS = 5_000;
const script = scriptOf('responses', CANARY);

type Behaviour = (response: ServerResponse, isStream: boolean) => void;

const json = (body: string, status = 200, headers = {}): Behaviour => {
  return (response) => void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
};
const streams = (...pieces: readonly (string | Buffer)[]): Behaviour => {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const [first, ...rest] = pieces;
    response.write(first);
    setTimeout(() => {
      for (const piece of rest) response.write(piece);
      response.end();
    }, 20);
  };
};
const { announcement, words, moreWords, end } = script.stream;
const countedAs = (usage: unknown): Behaviour =>
  json(JSON.stringify({ ...(JSON.parse(script.answer) as object), usage }));

/** By the first part of the path, which is the provider. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  talker: (response, isStream) =>
    isStream ? streams(announcement, words + moreWords + end)(response, true) : json(script.answer)(response, false),
  locked: json(JSON.stringify({ error: { message: `Incorrect API key provided: ${PROVIDER_KEY}` } }), 401),
  limited: json(script.error, 429, { 'retry-after': '7' }),
  empty: streams(announcement, `: nothing\n\nevent: ping\n\n${words}`, moreWords + end),
  endless: streams(announcement, words, `data: "${'x'.repeat(10 * 1024 * 1024)}`),
  torn: (response) => {
    const all = Buffer.from((announcement + words + moreWords + end).replaceAll('was said', 'wäs säid'));
    const at = all.indexOf('ä') + 1;
    streams(all.subarray(0, at), all.subarray(at))(response, true);
  },
  uncounted: countedAs(null),
  indebted: countedAs({ input_tokens: -5, output_tokens: -7, total_tokens: -12 }),
  boasting: countedAs({ input_tokens: 1e15, output_tokens: 1e15, total_tokens: 2e15 }),
  wordy: countedAs({ input_tokens: 'many', output_tokens: 'few', total_tokens: null }),
  modest: countedAs({ input_tokens: 0, output_tokens: 0, total_tokens: 0 }),
};

let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;
let poor: Tenant;
let before: StoredRows;

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  upstream.behaviour = (response, { path, body }: ReceivedRequest) =>
    BEHAVIOURS[path.split('/')[1]!]!(response, (JSON.parse(body) as { stream?: boolean }).stream === true);
  const model = (name: string): TestModel => ({
    slug: `bad/${name}`,
    provider: `bad-${name}`,
    baseUrl: `${upstream.origin}/${name}/v1`,
    apis: ['responses'],
    pricing: PRICES,
  });
  const catalogue = catalogueOf(Object.keys(BEHAVIOURS).map(model));
  installation = await shareInstallation({ catalogue, apps: ['auth', 'gateway'] });
  client = installation.client();
  poor = await new Operator(installation).createTenant('Poor', null);
  before = await countRows(installation.database);
}, 240_000);

afterAll(async () => {
  await client?.close();
  await giveBack(installation);
  await upstream?.close();
}, 240_000);

type Members = Readonly<Record<string, unknown>>;

const GOOD: Readonly<Record<'responses' | 'messages', Members>> = {
  responses: { model: 'bad/talker', input: 'Say something.' },
  messages: { model: 'bad/talker', max_tokens: 16, messages: [{ role: 'user', content: 'Say something.' }] },
};

const ask = (api: 'responses' | 'messages', members: Members, headers = {}): Promise<ApiAnswer<Members>> =>
  client.request('POST', `/${api}`, { ...GOOD[api], ...members }, headers);

const item = (members: Members): Members => ({ input: [members] });
const part = (members: Members): Members => item({ role: 'user', content: [members] });
const picture = (url: string): Members => part({ type: 'input_image', image_url: url });
const tool = (members: Members): Members => ({ tools: [{ type: 'function', name: 'a', parameters: {}, ...members }] });
const condition = (members: Members): Members => ({ stop_server_tools_when: [members] });
const each = <T>(values: readonly T[], toMembers: (value: T) => Members): Members[] => values.map(toMembers);

/** What is refused with 400, by the number of its rule. */
const RESPONSES: Readonly<Record<string, readonly Members[]>> = {
  'R01 model': each([undefined, '', 1, 'bad/none'], (model) => ({ model })),
  'R02 input': each([undefined, null, '', [], 1], (input) => ({ input })),
  'R03 an item': [
    item({}),
    item({ role: 'user' }),
    item({ role: CANARY, content: 'a' }),
    item({ type: CANARY }),
    item({ type: 'item_reference', id: 'a' }),
    { input: [null] },
    part({ type: CANARY }),
    part({ type: 'input_text' }),
  ],
  'R04 previous_response_id': each(['x', '', 0, {}], (previous_response_id) => ({ previous_response_id })),
  'R05 max_tool_calls': each([0, -1, 31, 1.5, '3'], (max_tool_calls) => ({ max_tool_calls })),
  'R06 stop_server_tools_when': [
    { stop_server_tools_when: [] },
    condition({ type: CANARY }),
    ...each([0, -1, 1.5], (step_count) => condition({ type: 'step_count_is', step_count })),
    ...each([-1, '1'], (max_cost_in_dollars) => condition({ type: 'max_cost', max_cost_in_dollars })),
    { stop_server_tools_when: Array.from({ length: 1_000 }, () => ({ type: 'step_count_is', step_count: 1 })) },
  ],
  'R07 metadata': [
    { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, 'v'])) },
    { metadata: { ['k'.repeat(65)]: 'v' } },
    { metadata: { 'a[0]': 'v' } },
    { metadata: { k: 'v'.repeat(513) } },
    { metadata: { k: 1 } },
    { metadata: { k: {} } },
    { metadata: { k: null } },
    { metadata: ['v'] },
  ],
  'R09 service_tier': each(['gold', 1], (service_tier) => ({ service_tier })),
  'R10 session_id': each(['s'.repeat(257), 1], (session_id) => ({ session_id })),
  'R11 user': each(['u'.repeat(257), 1], (user) => ({ user })),
  'R12 stream': each(['true', 1], (stream) => ({ stream })),
  'R13 temperature': each(['hot', -1, 3], (temperature) => ({ temperature })),
  'R14 max_output_tokens': each([0, -1, 1e12, 1.5, '1'], (max_output_tokens) => ({ max_output_tokens })),
  'R15 tools': [
    { tools: {} },
    { tools: Array.from({ length: 1_000 }, (_, n) => ({ type: 'function', name: `a${n}`, parameters: {} })) },
    tool({ name: 'a'.repeat(65) }),
    tool({ name: 'a b' }),
    tool({ name: undefined }),
    tool({ parameters: 'x' }),
    tool({ parameters: { type: 'object', properties: { self: { $ref: '#' } } } }),
    tool({ parameters: { type: 'object', description: 'x'.repeat(1024 * 1024) } }),
  ],
  'R16 a tool of a kind that nobody has': [{ tools: [{ type: CANARY }] }, { tools: [{ type: `sluice:${CANARY}` }] }],
  'R17 tool_choice': [
    { ...tool({}), tool_choice: { type: 'function', name: 'b' } },
    { tool_choice: 'required' },
    { tool_choice: 7 },
  ],
  'R18 text': [
    { text: { format: { type: 'json_schema', name: 'a' } } },
    { text: { format: { type: 'json_schema', name: 'a', schema: 'x' } } },
    { text: { format: { type: 'json_schema', name: 'a', schema: { type: 'what' } } } },
    { text: { format: { type: 7 } } },
  ],
  'R19 include': [{ include: [CANARY] }, { include: CANARY }],
  'R20 modalities': each([[], ['smell']], (modalities) => ({ modalities })),
  'R21 truncation': [{ truncation: 'on' }],
  'R22 reasoning': [{ reasoning: { effort: 'x'.repeat(65) } }, { reasoning: { effort: 1 } }, { reasoning: 'high' }],
  'R23 provider': [{ provider: { only: [] } }, { provider: { only: 'x' } }, { provider: 'x' }],
  'R24 a picture': each(
    [
      'file:///etc/passwd',
      'http://169.254.169.254/latest',
      'http://localhost/',
      'javascript:alert(1)',
      'cat.png',
      `data:image/png;base64,${'A'.repeat(30 * 1024 * 1024)}`,
    ],
    picture,
  ),
  'R25 base64': each(['data:image/png;base64,%%%', 'data:image/png;base64,A', 'data:image/png,A'], picture),
  'R26 an echo without a stream': [{ debug: { echo_upstream_body: true } }],
  'R28 plugins': [
    { plugins: [{ id: CANARY }] },
    { plugins: Array.from({ length: 13 }, () => ({ id: 'web' })) },
    { plugins: {} },
  ],
  'R41 prompt_cache_breakpoint': each([true, 'x', { mode: 'always' }], (prompt_cache_breakpoint) =>
    part({ type: 'input_text', text: 'a', prompt_cache_breakpoint }),
  ),
  'R42 trace': [
    { trace: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`k${n}`, 'v'])) },
    { trace: { trace_id: 1 } },
    { trace: 'x' },
  ],
  'R43 route': each(['x', 1], (route) => ({ route })),
};

const block = (members: Members): Members => ({ messages: [{ role: 'user', content: [members] }] });

const MESSAGES: Readonly<Record<string, readonly Members[]>> = {
  model: each([undefined, '', 1, 'bad/none'], (model) => ({ model })),
  messages: each([undefined, null, 'x', [], [null], [{}], [{ role: CANARY, content: 'a' }]], (messages) => ({
    messages,
  })),
  'a block': [
    block({}),
    block({ type: 'text' }),
    block({ type: 'image' }),
    block({ type: 'image', source: { type: 'url' } }),
    block({ type: 'tool_result' }),
  ],
  max_tokens: each([0, -1, 1.5, '1', 1e12], (max_tokens) => ({ max_tokens })),
  stream: each(['true', 1], (stream) => ({ stream })),
  temperature: each(['hot', -1, 3], (temperature) => ({ temperature })),
  stop_sequences: each(['x', [1]], (stop_sequences) => ({ stop_sequences })),
  tools: each(['x', [null], [{}], [{ name: 'a b', input_schema: {} }]], (tools) => ({ tools })),
  tool_choice: each(['auto', { type: 1 }, { type: '' }], (tool_choice) => ({ tool_choice })),
  thinking: each(['x', { type: 1 }, { type: 'x'.repeat(65) }], (thinking) => ({ thinking })),
  system: each([1, [{ type: 'image' }]], (system) => ({ system })),
  metadata: each(['x', { user_id: 1 }], (metadata) => ({ metadata })),
  'fallbacks beside models': [{ models: ['bad/talker'], fallbacks: [{ model: 'bad/talker' }] }],
  session_id: each(['s'.repeat(257), 1], (session_id) => ({ session_id })),
  provider: each(['x', { only: [] }], (provider) => ({ provider })),
};

function expectMessagesRefusal({ status, text, headers }: ApiAnswer<Members>, expected: number): void {
  expect({ status, text }).toMatchObject({ status: expected });
  expect(headers['content-type']).toMatch(/^application\/json\b/);
  expect(JSON.parse(text)).toMatchObject({
    type: 'error',
    error: {
      type: expect.stringMatching(/_error$/),
      message: expect.stringMatching(/.{3,300}/),
      error_type: expect.any(String),
    },
    request_id: expect.any(String),
  });
  expect(text).not.toContain(CANARY);
  expect(findInsides(text)).toBeNull();
}

/** Nobody was asked, and nothing is stored but, at most, that a call came to nothing. */
async function expectNothingLeft(): Promise<void> {
  // A hold is given back a moment after the answer that refuses the call.
  const { generations: _calls, ...kept } = await eventually('nothing is held for a refused call', HELD_MS, async () => {
    const now = await countRows(installation.database);
    return now.held_usd === before.held_usd ? now : undefined;
  });
  expect(before).toMatchObject(kept);
  expect(upstream.requests).toEqual([]);
}

describe('a response is refused for', () => {
  it.each(Object.entries(RESPONSES))('%s', async (_rule, cases) => {
    for (const members of cases) {
      const answer = await ask('responses', members);
      expectRefusal({ ...answer, body: answer.text }, 400);
    }
    await expectNothingLeft();
  });

  it('R06, R07, R14 numbers and texts at their limits, which JSON alone can write', async () => {
    for (const text of [
      '"max_output_tokens":1e999',
      '"stop_server_tools_when":[{"type":"max_cost","max_cost_in_dollars":1e999}]',
    ]) {
      const body = `${JSON.stringify(GOOD.responses).slice(0, -1)},${text}}`;
      const answer = await fetch(`${installation.baseUrl}/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${installation.seed.apiKey}`, 'content-type': 'application/json' },
        body,
      });
      expectRefusal(
        { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() },
        400,
      );
    }
    await expectNothingLeft();
  });

  it('R10 a session id of the header that is too long', async () => {
    const answer = await ask('responses', {}, { 'x-session-id': 's'.repeat(257) });
    expectRefusal({ ...answer, body: answer.text }, 400);
    await expectNothingLeft();
  });

  it('R23 preferences that leave nobody', async () => {
    for (const provider of [{ ignore: ['bad-talker'] }, { max_price: { prompt: 0 } }]) {
      const answer = await ask('responses', { provider });
      expectRefusal({ ...answer, body: answer.text }, 404);
    }
    await expectNothingLeft();
  });

  it('R31 a prompt beyond the context', async () => {
    const answer = await ask('responses', { input: 'word '.repeat(150_000) });
    expectRefusal({ ...answer, body: answer.text }, 400);
    expect(answer.body).toMatchObject({ error: { metadata: { error_type: 'context_length_exceeded' } } });
    await expectNothingLeft();
  });

  it('R30 want of credits', async () => {
    const broke = installation.client(poor.apiKey);
    const answer = await broke.request('POST', '/responses', GOOD.responses);
    await broke.close();
    expectRefusal({ ...answer, body: answer.text }, 402);
    await expectNothingLeft();
  });
});

describe('a message is refused for', () => {
  it.each(Object.entries(MESSAGES))('%s', async (_rule, cases) => {
    for (const members of cases) expectMessagesRefusal(await ask('messages', members), 400);
    await expectNothingLeft();
  });

  it('want of credits', async () => {
    const broke = installation.client(poor.apiKey);
    expectMessagesRefusal(await broke.request('POST', '/messages', GOOD.messages), 402);
    await broke.close();
    await expectNothingLeft();
  });
});

/** What is just good enough. */
const ACCEPTED: readonly (readonly [string, Members])[] = [
  ['R04 previous_response_id null', { previous_response_id: null }],
  ['R05 max_tool_calls 30', { max_tool_calls: 30 }],
  [
    'R07 metadata at its limits',
    { metadata: Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`${n}`.padEnd(64, 'k'), '𝒳'.repeat(512)])) },
  ],
  ['R09 service_tier null', { service_tier: null }],
  ['R09 service_tier fast', { service_tier: 'fast' }],
  ['R10 session_id of 256', { session_id: 's'.repeat(256) }],
  ['R21 truncation null', { truncation: null }],
  ['R43 route fallback', { route: 'fallback' }],
  ['R43 route sort', { route: 'sort' }],
  ['R43 route null', { route: null }],
];

describe('a response', () => {
  const sentFor = async (
    members: Members,
    headers = {},
  ): Promise<{ answer: ApiAnswer<Members>; sent: ReceivedRequest }> => {
    const already = upstream.requests.length;
    const answer = await ask('responses', members, headers);
    return { answer, sent: upstream.requests[already]! };
  };

  it.each(ACCEPTED)('may say %s', async (_rule, members) => {
    expect(await ask('responses', members)).toMatchObject({ status: 200, body: { status: 'completed' } });
  });

  it('R08 may name a key of its metadata __proto__, which is one like any other', async () => {
    const body = `${JSON.stringify(GOOD.responses).slice(0, -1)},"metadata":{"__proto__":"mine"}}`;
    const already = upstream.requests.length;
    const answer = await fetch(`${installation.baseUrl}/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${installation.seed.apiKey}`, 'content-type': 'application/json' },
      body,
    });
    expect(answer.status).toBe(200);
    expect(upstream.requests[already]!.body).toContain('"metadata":{"__proto__":"mine"}');
    expect(await ask('responses', {})).toMatchObject({ status: 200 });
  });

  it('R10, R11 sends no session and only the hash of a user', async () => {
    const { answer, sent } = await sentFor({ user: CANARY, session_id: CANARY }, { 'x-session-id': 's'.repeat(300) });
    expect(answer.status).toBe(200);
    expect(sent.body).not.toContain(CANARY);
    expect(JSON.stringify(sent.headers)).not.toContain(CANARY);
    expect(JSON.parse(sent.body)).toMatchObject({ user: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it('R27 with a wish for metadata that nobody knows goes without', async () => {
    const { answer } = await sentFor({}, { 'x-sluice-metadata': 'maybe' });
    expect(answer.status).toBe(200);
    expect(answer.body).not.toHaveProperty('sluice_metadata');
  });

  it('R29 reaches no other place and no other key by its members', async () => {
    const members = { api_key: CANARY, base_url: 'https://evil.example', headers: { authorization: CANARY } };
    const { sent } = await sentFor(members);
    expect(sent.path).toBe('/talker/v1/responses');
    expect(sent.headers.authorization).toBe(`Bearer ${PROVIDER_KEY}`);
    expect(JSON.parse(sent.body)).toMatchObject({ model: 'upstream-bad-talker' });
  });

  it('R26 that echoes what went upstream holds no key', async () => {
    const body = { ...GOOD.responses, stream: true, debug: { echo_upstream_body: true } };
    const opened = await openStream(installation.baseUrl, '/responses', installation.seed.apiKey, body);
    const text = await opened.rest();
    expect(opened.status).toBe(200);
    expect(text).not.toContain(PROVIDER_KEY);
    expect(findProblems('responses', readEvents('responses', text))).toEqual([]);
  });

  it('R40 that is asked for twice at once is charged twice', async () => {
    const answers = await Promise.all([ask('responses', {}), ask('responses', {})]);
    const rows = await Promise.all(answers.map(bookedFor));
    expect(new Set(answers.map(({ headers }) => headers['x-generation-id'])).size).toBe(2);
    for (const row of rows) expect(row.charges).toEqual([row.cost]);
  });
});

const bookedFor = ({ headers }: ApiAnswer<Members>): Promise<StoredGeneration> =>
  settledGeneration(installation.database, String(headers['x-generation-id']));

describe('a provider', () => {
  it('R32 that does not know our key is its own affair', async () => {
    const answer = await ask('responses', { model: 'bad/locked' });
    expectRefusal({ ...answer, body: answer.text }, 502, [PROVIDER_KEY]);
  });

  it('R33 that limits us says when to come back', async () => {
    const answer = await ask('responses', { model: 'bad/limited' });
    expectRefusal({ ...answer, body: answer.text }, 429);
    expect(answer.headers['retry-after']).toBe('7');
  });

  it.each([
    ['R34 that sends events without data', 'empty', 'response.completed'],
    ['R34 that cuts a character in two', 'torn', 'response.completed'],
    ['R34 that sends a line of 10 MiB', 'endless', 'response.failed'],
  ])('%s (%s) ends in %s', async (_rule, name, last) => {
    const body = { ...GOOD.responses, model: `bad/${name}`, stream: true };
    const opened = await openStream(installation.baseUrl, '/responses', installation.seed.apiKey, body);
    const events = readEvents('responses', await opened.rest());
    expect(events.slice(-2).map((event) => event.name)).toEqual([last, '[DONE]']);
    expect(findProblems('responses', events)).toEqual([]);
    const row = await settledGeneration(installation.database, opened.headers.get('x-generation-id')!);
    expect(row.charges).toEqual([row.cost]);
  });

  const estimated = { provenance: 'estimated', prompt_tokens: 4, completion_tokens: 5 };
  it.each([
    ['R37 that counts nothing', 'uncounted', estimated],
    ['R37 that counts below zero', 'indebted', estimated],
    ['R37 that counts in words', 'wordy', estimated],
    ['R37 that counts beyond the context', 'boasting', { provenance: 'estimated', prompt_tokens: CONTEXT_LENGTH }],
    ['R38 that counts zero', 'modest', { provenance: 'upstream', prompt_tokens: 0, completion_tokens: 0 }],
  ])('%s is believed as far as that goes', async (_rule, name, expected) => {
    const answer = await ask('responses', { model: `bad/${name}` });
    expect(answer.status).toBe(200);
    const row = await bookedFor(answer);
    expect(row).toMatchObject(expected);
    const usage = answer.body['usage'] as { input_tokens: number; output_tokens: number; cost: string };
    expect(usage).toMatchObject({ input_tokens: row.prompt_tokens, output_tokens: row.completion_tokens });
    expect(amountOf(usage.cost)).toBe(amountOf(row.cost));
    expect(row.charges).toEqual(Number(row.cost) === 0 ? [] : [row.cost]);
  });

  it('that counts well is believed to the digit', async () => {
    const row = await bookedFor(await ask('responses', {}));
    expect(row).toMatchObject({ prompt_tokens: COUNTED.prompt, completion_tokens: COUNTED.completion });
  });
});

describe('at the end of all this', () => {
  it('the books balance, and nobody has died', async () => {
    expect(await new LedgerRepository(installation.database).audit()).toEqual([]);
    expect(installation.deathsOf('gateway')).toBe(0);
  });
});
