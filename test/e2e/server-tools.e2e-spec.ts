import { dataOfEventStream, FakeUpstream, findResponsesGrammarProblems } from '@libs/inference/testing';
import { catalogueOf } from '../support/catalogue';
import type { ApiAnswer, ApiClient } from '../support/client';
import { amountOf, textOf } from '../support/decimal';
import type { Installation } from '../support/installation';
import { giveBack, shareInstallation } from '../support/shared-installations';
import { TURN_COUNTS, turnsBy, type Asked, type TurnScript } from '../support/turn-scripts';
import { openStream } from './event-stream';
import { expectRefusal } from './refusals';
import { settledGeneration } from './stored-generation';

const PRICES = { prompt: '0.000000123', completion: '0.000000457' };
const PICTURE_PRICES = { prompt: '0.000000301', completion: '0.000000907' };
const TURN_TOKENS = TURN_COUNTS.prompt + TURN_COUNTS.completion;
const DIALECTS = ['chat', 'responses', 'messages'] as const;
const PICTURE = 'iVBORw0KGgo=';

type Json = Readonly<Record<string, unknown>>;

let upstream: FakeUpstream;
let installation: Installation;
let client: ApiClient;

/** What so many turns cost, to the last digit. */
const costOf = (turns: bigint, prices = PRICES): bigint =>
  turns *
  (amountOf(prices.prompt) * BigInt(TURN_COUNTS.prompt) + amountOf(prices.completion) * BigInt(TURN_COUNTS.completion));

const clock = (args = '{}', id = 'call_1') => ({ id, name: 'datetime', arguments: args });
const TOOLS = [{ type: 'sluice:datetime', parameters: { timezone: 'Europe/Berlin' } }];
const THEIRS = { type: 'function', name: 'theirs', description: 'Of the caller.', parameters: { type: 'object' } };

const asked = (members: object = {}): Json => ({ model: 'tools/chat', input: 'When?', tools: TOOLS, ...members });

/** The turns of the next request, one after the other; the last for all that come after it. */
function says(...turns: readonly TurnScript[]): void {
  let count = 0;
  upstream.behaviour = turnsBy(() => turns[Math.min(count++, turns.length - 1)]!);
  upstream.requests.length = 0;
}

const sent = (index: number): Asked => JSON.parse(upstream.requests[index]!.body) as Asked;

async function stream(path: string, body: Json) {
  const opened = await openStream(installation.baseUrl, path, installation.seed.apiKey, { ...body, stream: true });
  const data = dataOfEventStream(await opened.rest()).filter((one) => !one.startsWith(':'));
  const events = data.filter((one) => one !== '[DONE]').map((one) => JSON.parse(one) as Json);
  return { data, events, id: opened.headers.get('x-generation-id')! };
}

/** A streamed response, which must be one by the grammar. */
async function streamResponse(body: Json) {
  const { data, events, id } = await stream('/responses', body);
  expect(findResponsesGrammarProblems(data)).toEqual([]);
  return { events, id, response: events.at(-1)!['response'] as Json };
}

const idOf = ({ headers }: ApiAnswer): string => String(headers['x-generation-id']);

async function expectBooked(id: string, turns: bigint, outcome = 'completed'): Promise<void> {
  const row = await settledGeneration(installation.database, id);
  expect(row).toMatchObject({
    outcome,
    prompt_tokens: Number(turns) * TURN_COUNTS.prompt,
    completion_tokens: Number(turns) * TURN_COUNTS.completion,
  });
  expect(textOf(amountOf(row.cost))).toBe(textOf(costOf(turns)));
  expect(row.charges.map((charge) => textOf(amountOf(charge)))).toEqual([textOf(costOf(turns))]);
}

beforeAll(async () => {
  upstream = await FakeUpstream.start();
  const model = (api: string, protocol: string) => ({
    slug: `tools/${api}`,
    provider: `tools-${api}`,
    baseUrl: `${upstream.origin}/${api}/v1`,
    protocol,
    apis: [api],
    pricing: PRICES,
  });
  const catalogue = JSON.parse(
    catalogueOf([
      model('chat', 'openai'),
      { ...model('responses', 'openai'), toolPricing: { web_search: '0.01', code_interpreter: '0.03' } },
      model('messages', 'anthropic'),
      { ...model('picture', 'openai'), apis: ['chat'], pricing: PICTURE_PRICES },
    ]),
  ) as { models: { slug: string; architecture: { output_modalities: string[] } }[] };
  catalogue.models.find(({ slug }) => slug === 'tools/picture')!.architecture.output_modalities = ['text', 'image'];
  installation = await shareInstallation({
    catalogue: JSON.stringify(catalogue),
    apps: ['auth', 'gateway'],
  });
  client = installation.client();
}, 240_000);

afterAll(async () => {
  await client?.close();
  await giveBack(installation);
  await upstream?.close();
});

describe('server tools', () => {
  describe.each(DIALECTS)('over an upstream that speaks %s', (dialect) => {
    const model = `tools/${dialect}`;
    const turns = [{ text: 'One moment.', calls: [clock()] }, { text: 'It is noon.' }];

    it('answer a response whole', async () => {
      says(...turns);
      const answer = await client.request<Json>('POST', '/responses', asked({ model }));
      expect(answer.body).toMatchObject({
        status: 'completed',
        tools: TOOLS,
        output: [
          { type: 'message', content: [{ text: 'One moment.' }] },
          {
            type: 'sluice:datetime',
            status: 'completed',
            timezone: 'Europe/Berlin',
            datetime: expect.stringMatching(/^\d{4}-.*\+0[12]:00$/) as string,
          },
          { type: 'message', status: 'completed', content: [{ text: 'It is noon.' }] },
        ],
        usage: {
          total_tokens: 2 * TURN_TOKENS,
          cost_details: { server_tool_cost: 0 },
          server_tool_use_details: { tool_calls_requested: 1, tool_calls_executed: 1, web_search_requests: 0 },
        },
      });
      expect(textOf(amountOf((answer.body['usage'] as { cost: string }).cost))).toBe(textOf(costOf(2n)));
      expect(JSON.stringify(sent(1))).toContain('Europe/Berlin');
      await expectBooked(idOf(answer), 2n);
    });

    it('answer a response as one stream', async () => {
      says(...turns);
      const { events, response, id } = await streamResponse(asked({ model }));
      const types = events.map(({ type }) => type);
      expect(types.filter((type) => type === 'response.created' || type === 'response.completed')).toHaveLength(2);
      expect(events.filter(({ type }) => type === 'response.output_item.added').map(({ item }) => item)).toMatchObject([
        { type: 'message' },
        { type: 'sluice:datetime', status: 'in_progress', datetime: '', timezone: 'Europe/Berlin' },
        { type: 'message' },
      ]);
      expect(response).toMatchObject({ status: 'completed', usage: { total_tokens: 2 * TURN_TOKENS } });
      await expectBooked(id, 2n);
    });

    it('answer a chat, whole and streamed', async () => {
      const chat = { model, messages: [{ role: 'user', content: 'When?' }], tools: TOOLS };
      says(...turns);
      const answer = await client.request<Json>('POST', '/chat/completions', chat);
      expect(answer.body).toMatchObject({
        choices: [{ finish_reason: 'stop', message: { content: 'One moment.It is noon.' } }],
        usage: { total_tokens: 2 * TURN_TOKENS, server_tool_use_details: { tool_calls_executed: 1 } },
      });
      expect(answer.text).not.toContain('tool_calls"');
      const use = {
        type: 'reasoning.server_tool_call',
        tool_name: 'datetime',
        tool_call_id: expect.any(String) as string,
        arguments: '{}',
        result: expect.stringContaining('Europe/Berlin') as string,
        index: 0,
      };
      expect(answer.body).toMatchObject({ choices: [{ message: { reasoning_details: [use] } }] });
      await expectBooked(idOf(answer), 2n);
      says(...turns);
      const { events, data, id } = await stream('/chat/completions', chat);
      const deltas = events.flatMap(({ choices }) =>
        (choices as { delta: { content?: string; reasoning_details?: object[] } }[]).map(({ delta }) => delta),
      );
      expect(deltas.map(({ content }) => content ?? '').join('')).toBe('One moment.It is noon.');
      expect(deltas.flatMap(({ reasoning_details: details = [] }) => details)).toEqual([use]);
      expect(data.at(-1)).toBe('[DONE]');
      expect(events.at(-1)).toMatchObject({ usage: { total_tokens: 2 * TURN_TOKENS } });
      await expectBooked(id, 2n);
    });

    it('answer messages, whole and streamed', async () => {
      const messages = { model, max_tokens: 99, messages: [{ role: 'user', content: 'When?' }], tools: TOOLS };
      says(...turns);
      const answer = await client.request<Json>('POST', '/messages', messages);
      expect(answer.body).toMatchObject({
        content: [{ text: 'One moment.' }, { text: 'It is noon.' }],
        stop_reason: 'end_turn',
        usage: { output_tokens: 2 * TURN_COUNTS.completion, server_tool_use: { web_search_requests: 0 } },
      });
      await expectBooked(idOf(answer), 2n);
      says(...turns);
      const { events, id } = await stream('/messages', messages);
      expect(events.filter(({ type }) => type === 'message_start' || type === 'message_stop')).toHaveLength(2);
      await expectBooked(id, 2n);
    });

    it('hand functions of the caller over, with what the tools of the same turn found', async () => {
      says({ calls: [clock(), { id: 'call_2', name: 'theirs', arguments: '{"a":1}' }] });
      const { response, id } = await streamResponse(asked({ model, tools: [...TOOLS, THEIRS] }));
      expect(response['output']).toMatchObject([
        { type: 'sluice:datetime', status: 'completed' },
        { type: 'function_call', call_id: 'call_2', name: 'theirs', arguments: '{"a":1}' },
      ]);
      expect(upstream.requests).toHaveLength(1);
      await expectBooked(id, 1n);
    });
  });

  it.each([
    ['max_tool_calls', { max_tool_calls: 2 }, 3],
    ['step_count_is', { stop_server_tools_when: [{ type: 'step_count_is', step_count: 2 }] }, 3],
    ['has_tool_call', { stop_server_tools_when: [{ type: 'has_tool_call', tool_name: 'sluice:datetime' }] }, 2],
    ['max_tokens_used', { stop_server_tools_when: [{ type: 'max_tokens_used', max_tokens: TURN_TOKENS + 1 }] }, 3],
    ['max_cost', { stop_server_tools_when: [{ type: 'max_cost', max_cost_in_dollars: 0.0003 }] }, 3],
    ['finish_reason_is', { stop_server_tools_when: [{ type: 'finish_reason_is', reason: 'tool_calls' }] }, 2],
  ])('end with %s: what is pending runs, and the last turn may call nothing', async (name, members, turns) => {
    upstream.requests.length = 0;
    upstream.behaviour = turnsBy(({ tool_choice: choice }) =>
      choice === 'none' ? { text: 'Enough.' } : { calls: [clock()] },
    );
    const answer = await client.request<Json>('POST', '/responses', asked(members), { 'x-sluice-metadata': 'enabled' });
    expect(upstream.requests).toHaveLength(turns);
    expect(answer.body).toMatchObject({
      status: 'completed',
      usage: { server_tool_use_details: { tool_calls_executed: turns - 1 } },
      sluice_metadata: {
        attempt: turns,
        pipeline: expect.arrayContaining([
          expect.objectContaining({
            type: 'server_tools',
            name: 'server-tools',
            data: { steps: turns - 1, uses: { datetime: turns - 1 }, stopped_by: name },
          }),
        ]) as unknown[],
      },
    });
    await expectBooked(idOf(answer), BigInt(turns));
  });

  it('go on after a tool that could not do it', async () => {
    says({ calls: [clock('{"timezone":"Mars/Olympus"}'), clock('{', 'call_2')] }, { text: 'No idea.' });
    const { response, id } = await streamResponse(asked());
    expect(response['output']).toMatchObject([
      { type: 'sluice:datetime', status: 'incomplete' },
      { type: 'sluice:datetime', status: 'incomplete' },
      { type: 'message' },
    ]);
    await expectBooked(id, 2n);
  });

  it('fail with the bill so far when a later turn fails', async () => {
    says({ text: 'One moment.', calls: [clock()] }, { status: 500 });
    const { response, id } = await streamResponse(asked());
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'server_error' },
      output: [{ type: 'message' }, { type: 'sluice:datetime' }],
      usage: { total_tokens: TURN_TOKENS },
    });
    await expectBooked(id, 1n, 'failed');
    says({ text: 'One moment.', calls: [clock()] }, { status: 500 });
    const whole = await client.request<Json>('POST', '/responses', asked());
    expect(whole).toMatchObject({ status: 200, body: { status: 'failed', usage: { total_tokens: TURN_TOKENS } } });
    await expectBooked(idOf(whole), 1n, 'failed');
  });

  it('tell chats and messages of a later turn that fails', async () => {
    const messages = [{ role: 'user', content: 'When?' }];
    says({ calls: [clock()] }, { status: 500 });
    const chat = await client.request('POST', '/chat/completions', { model: 'tools/chat', messages, tools: TOOLS });
    expect(chat.body).toMatchObject({ choices: [{ finish_reason: 'error', error: { code: 502 } }] });
    await expectBooked(idOf(chat), 1n, 'failed');
    says({ calls: [clock()] }, { status: 500 });
    const body = { model: 'tools/chat', max_tokens: 9, messages, tools: TOOLS };
    const message = await client.request('POST', '/messages', body);
    expect(message).toMatchObject({ status: 502, body: { type: 'error' } });
    await expectBooked(idOf(message), 1n, 'failed');
  });

  it('are over when the caller leaves: the upstream is left, and what was said is paid once', async () => {
    says({ calls: [clock()] }, { text: 'Let me think', hangs: true });
    const { baseUrl, seed } = installation;
    const opened = await openStream(baseUrl, '/responses', seed.apiKey, asked({ stream: true }));
    let received = '';
    while (!received.includes('Let me think')) received += (await opened.next()) ?? '';
    opened.leave();
    expect(await upstream.endings.at(-1)).toBe(false);
    const row = await settledGeneration(installation.database, opened.headers.get('x-generation-id')!);
    expect(row).toMatchObject({ outcome: 'cancelled', provenance: 'partial' });
    expect(row.charges).toEqual([row.cost]);
    expect(amountOf(row.cost)).toBeGreaterThan(costOf(1n));
    expect(amountOf(row.cost)).toBeLessThan(costOf(2n));
  });

  it('make pictures with a model that can, and charge for them', async () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } };
    const draw = { id: 'call_1', name: 'image_generation', arguments: '{"prompt":"A cat"}' };
    const paint = turnsBy(({ messages }) =>
      JSON.stringify(messages).includes('"tool"') ? { text: 'Here.' } : { calls: [draw] },
    );
    upstream.behaviour = (response, request) => {
      if (!request.path.startsWith('/picture')) return paint(response, request);
      const { prompt, completion } = TURN_COUNTS;
      const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: TURN_TOKENS };
      const message = { role: 'assistant', content: '', images: [image] };
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id: 'up-2', object: 'chat.completion', created: 1, model: 'm', choices, usage }));
    };
    const tools = [{ type: 'sluice:image_generation' }];
    const { response, id, events } = await streamResponse(asked({ tools }));
    expect(response['output']).toMatchObject([
      { type: 'sluice:image_generation', status: 'completed', prompt: 'A cat', result: PICTURE },
      { type: 'message' },
    ]);
    expect(events.map(({ type }) => type)).toContain('response.image_generation_call.generating');
    const row = await settledGeneration(installation.database, id);
    expect(textOf(amountOf(row.cost))).toBe(textOf(costOf(2n) + costOf(1n, PICTURE_PRICES)));
    const messages = [{ role: 'user', content: 'A cat' }];
    const chat = await client.request('POST', '/chat/completions', { model: 'tools/chat', messages, tools });
    expect(chat.body).toMatchObject({ choices: [{ message: { content: 'Here.', images: [image] } }] });
  });

  it('find functions that the model was not shown', async () => {
    const find = { id: 'call_1', name: 'tool_search', arguments: '{"query":"caller"}' };
    says({ calls: [find] }, { calls: [{ id: 'call_2', name: 'theirs', arguments: '{}' }] });
    const deferred = { protocol: 'v1', profile: 'portable', search: { type: 'bm25' }, validation: 'runtime' };
    const tools = [{ ...THEIRS, defer_loading: true }];
    const answer = await client.request<Json>('POST', '/responses', asked({ tools, deferred_tools: deferred }));
    expect(answer.body['output']).toMatchObject([
      { type: 'sluice:tool_search', status: 'completed', query: 'caller' },
      { type: 'function_call', name: 'theirs' },
    ]);
    const namesSent = (index: number) =>
      (sent(index)['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name);
    expect([namesSent(0), namesSent(1)]).toEqual([['tool_search'], ['tool_search', 'theirs']]);
  });

  it('leave tools of a provider to a provider that speaks responses', async () => {
    says({ text: 'Found.' });
    const tools = [
      { type: 'web_search', search_context_size: 'low' },
      { type: 'code_interpreter', container: { type: 'auto' } },
    ];
    await client.request('POST', '/responses', asked({ model: 'tools/responses', tools }));
    expect(sent(0)['tools']).toEqual(tools);
    const sized = [tools[0], { type: 'code_interpreter', container: { type: 'auto', memory_limit: '64g' } }];
    const dear = await client.request<Json>('POST', '/responses', asked({ model: 'tools/responses', tools: sized }));
    expect({ status: dear.status, text: dear.text }).toEqual({
      status: 400,
      text: expect.stringContaining('tools[1].container.memory_limit'),
    });
    const unpriced = [...tools, { type: 'image_generation' }];
    const refused = await client.request('POST', '/responses', asked({ model: 'tools/responses', tools: unpriced }));
    expect({ status: refused.status, text: refused.text }).toEqual({
      status: 400,
      text: expect.stringContaining('The tool image_generation has no price at the providers of the model'),
    });
  });

  it('pass no tool of a provider on chat completions without a price', async () => {
    says({ text: 'Found.' });
    const ask = async (members: Json) =>
      client.request<Json>('POST', '/chat/completions', {
        model: 'tools/chat',
        messages: [{ role: 'user', content: 'Hi' }],
        ...members,
      });
    for (const [member, members] of [
      ['tools[0]', { tools: [{ type: 'browser_search' }] }],
      ['mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://a.test', name: 'a' }] }],
      ['web_search_options', { web_search_options: {} }],
    ] as const) {
      const answer = await ask(members);
      expectRefusal(answer, 400);
      expect(answer.text).toContain(`has no price at the providers of the model: ${member} can only be used`);
    }
    expect(upstream.requests).toEqual([]);
  });

  it.each([
    ['tools[0].type', { tools: [{ type: 'sluice:bash' }] }],
    ['tools[0].type', { tools: [{ type: 'file_search', vector_store_ids: ['v'] }] }],
    [
      'tools[0].parameters.timezone',
      { tools: [{ type: 'sluice:datetime', parameters: { timezone: 'Mars/Olympus' } }] },
    ],
    ['tools[1].parameters', { tools: [...TOOLS, ...TOOLS] }],
    ['deferred_tools.search.type', { deferred_tools: { search: { type: 'custom' } } }],
    ['max_tool_calls', { max_tool_calls: 31 }],
    ['stop_server_tools_when', { stop_server_tools_when: [] }],
  ])('are refused by %s of %j', async (member, members) => {
    upstream.requests.length = 0;
    const answer = await client.request('POST', '/responses', asked(members));
    expectRefusal(answer, 400);
    expect(answer.text).toContain(member);
    expect(upstream.requests).toEqual([]);
  });
});
