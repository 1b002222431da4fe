import type { ServerResponse } from 'node:http';
import { dataOfEventStream, findResponsesGrammarProblems } from '@libs/inference/testing';
import {
  CHAT_ANSWER,
  chatChunk,
  DONE,
  CHAT_END,
  MESSAGE_ANSWER,
  RESPONSE_ANSWER,
  TOOL_CALL_ANSWER,
  TOOL_CALL_STREAM,
  until,
} from '../inference/testing/answers';
import { InferenceApp } from '../inference/testing/inference-app';
import { ServerToolEngine } from './server-tool-engine';
import { FakeTool, found } from './testing/fake-tool';

const TOOLS = [{ type: 'sluice:datetime' }];
const REQUEST = { model: 'test/chat', input: 'Hi', tools: TOOLS };
/** 10 tokens in at a microdollar each, 5 out at two. */
const TURN_USD = '0.00002';

type Turn = (response: ServerResponse) => void;
const whole =
  (answer: object): Turn =>
  (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
const streamed =
  (text: string, isOver = true): Turn =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text);
    if (isOver) response.end();
  };

let app: InferenceApp;
let tool: FakeTool;

beforeEach(async () => {
  tool = new FakeTool('datetime', () => found('Found.', { costPicoUsd: 3_000_000n }));
  app = await InferenceApp.start([tool]);
});

afterEach(() => app.close());

function says(...turns: readonly Turn[]): void {
  let count = 0;
  app.answer = (_request, response) => turns[count++]!(response);
}

async function settled() {
  await until(() => app.books.settled.length === 1);
  return app.books.settled[0]!;
}

describe(ServerToolEngine.name, () => {
  it('answers one request with one row on the books', async () => {
    says(whole(TOOL_CALL_ANSWER), whole(CHAT_ANSWER));
    const answer = (await (await app.post('responses', REQUEST)).json()) as { usage: object };
    expect(answer.usage).toMatchObject({ input_tokens: 20, output_tokens: 10, cost: 0.000043 });
    expect(await settled()).toMatchObject({ outcome: 'completed', promptTokens: 20, costUsd: '0.000043' });
    await app.recorder.flush();
    expect(app.books.settled).toHaveLength(1);
  });

  it('holds the price of several turns', async () => {
    const holdOf = async (body: object): Promise<number> => {
      const fresh = await InferenceApp.start([tool]);
      fresh.answer = (_request, response) => whole(CHAT_ANSWER)(response);
      await fresh.post('responses', body);
      await fresh.close();
      return Number(fresh.books.opened[0]!.holdUsd);
    };
    expect(await holdOf(REQUEST)).toBeGreaterThan(3 * (await holdOf({ ...REQUEST, tools: [] })));
  });

  it('tells in the metadata of a stream what its tools did', async () => {
    says(streamed(TOOL_CALL_STREAM), streamed(chatChunk('Hi.') + CHAT_END + DONE));
    const headers = {
      authorization: `Bearer ${app.key}`,
      'content-type': 'application/json',
      'x-sluice-metadata': 'enabled',
    };
    const response = await app.post('responses', { ...REQUEST, stream: true }, { headers });
    const data = dataOfEventStream(await response.text());
    expect(findResponsesGrammarProblems(data)).toEqual([]);
    expect(JSON.parse(data.at(-2)!)).toMatchObject({
      response: {
        sluice_metadata: {
          attempt: 2,
          translation: { from: 'responses', to: 'chat' },
          pipeline: [
            {
              type: 'server_tools',
              name: 'server-tools',
              cost_usd: 0.000003,
              data: { steps: 1, uses: { datetime: 1 } },
            },
          ],
        },
      },
    });
  });

  describe('of a model that thinks, at a provider that keeps nothing', () => {
    const thought = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'sealed' };
    const called = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'datetime', arguments: '{}' };
    const turns = { messages: [{ role: 'user', content: 'Hi' }] };
    const asked = (more: object) => ({ model: 'test/thinking', tools: TOOLS, ...more });

    it.each<[string, object, boolean]>([
      ['responses', asked({ input: 'Hi' }), false],
      ['responses', asked({ input: 'Hi', include: ['reasoning.encrypted_content'] }), true],
      ['responses', asked({ input: 'Hi', reasoning: { effort: 'low' } }), true],
      ['chat/completions', asked(turns), false],
      ['chat/completions', asked({ ...turns, reasoning_effort: 'low' }), true],
      ['messages', asked({ ...turns, max_tokens: 50 }), false],
    ])(
      'gives each turn of %s the thoughts before it, for %j with the caller seeing seals: %j',
      async (path, body, isSeen) => {
        const { encrypted_content: _seal, ...bare } = thought;
        says((response) => {
          const isSealed = app.upstreamCalls[0]!.includes('reasoning.encrypted_content');
          whole({ ...RESPONSE_ANSWER, output: [isSealed ? thought : bare, called] })(response);
        }, whole(RESPONSE_ANSWER));
        const answer = await app.post(path, body);
        expect(answer.status).toBe(200);
        expect((await answer.text()).includes('sealed')).toBe(isSeen);
        const sent = app.upstreamCalls.map((bytes) => JSON.parse(bytes.toString()) as { input: object[] });
        expect(sent).toHaveLength(2);
        for (const each of sent) expect(each).toMatchObject({ include: ['reasoning.encrypted_content'], store: false });
        expect(sent[1]!.input).toContainEqual(thought);
      },
    );

    it('asks for no seals where the catalogue does not say that the model thinks', async () => {
      says(whole({ ...RESPONSE_ANSWER, output: [called] }), whole(RESPONSE_ANSWER));
      await app.post('responses', { ...asked({ input: 'Hi' }), model: 'test/responses' });
      expect(app.upstreamCalls.map(String).join()).not.toContain('include');
    });
  });

  it('passes a request without tools of ours on byte for byte', async () => {
    const body =
      '{"model":"test/responses","tools":[{"type":"web_search"},{"type":"function","name":"f"}],  "input":"Hi"}';
    await app.post('responses', body);
    const sent = app.upstreamCalls[0]!.toString();
    expect(sent).toContain('"tools":[{"type":"web_search"},{"type":"function","name":"f"}],  "input":"Hi"');
    expect(tool.bindings).toEqual([]);
  });

  it('goes past an endpoint that would not be told of a tool of its provider', async () => {
    const tools = [{ type: 'file_search' }];
    says(whole(RESPONSE_ANSWER));
    const answer = await app.post('responses', { model: 'test/chat', models: ['test/responses'], input: 'Hi', tools });
    expect(answer.status).toBe(200);
    expect(app.upstreamArrivals.map(({ path }) => path)).toEqual(['/v1/responses']);
    const refused = await app.post('responses', { model: 'test/chat', input: 'Hi', tools });
    expect(refused.status).toBe(400);
  });

  it('does so on messages too, and refuses a tool that no endpoint runs by its name', async () => {
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
    const body = { model: 'test/chat', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5, tools };
    says(whole(MESSAGE_ANSWER));
    const answer = await app.post('messages', { ...body, models: ['test/messages'] });
    expect(answer.status).toBe(200);
    expect(app.upstreamArrivals.map(({ path }) => path)).toEqual(['/v1/messages']);
    const refused = await app.post('messages', body);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('tools[0].type is web_search_20250305');
  });

  it.each([
    [
      'responses',
      { input: 'Hi', tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
      'code_interpreter',
    ],
    ['responses', { input: 'Hi', tools: [{ type: 'image_generation' }] }, 'image_generation'],
    ['responses', { input: 'Hi', tools: [{ type: 'mcp', server_label: 'a', server_url: 'https://a.test' }] }, 'mcp'],
    [
      'responses',
      { input: [{ type: 'additional_tools', tools: [{ type: 'mcp', server_url: 'https://a.test' }] }] },
      'mcp',
    ],
    ['messages', { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }, 'code_interpreter'],
    ['messages', { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }, 'web_fetch'],
    ['messages', { mcp_servers: [{ type: 'url', url: 'https://a.test', name: 'a' }] }, 'mcp', 'mcp_servers'],
    ['chat', { tools: [{ type: 'function', function: { name: 'f' } }, { type: 'x_search' }] }, 'x_search', 'tools[1]'],
    ['chat', { tools: [{ type: 'browser_search' }] }, 'browser_search'],
    ['chat', { tools: [{ type: 'CODE-Interpreter', container: { type: 'auto' } }] }, 'code_interpreter'],
    ['chat', { tools: [{ type: 'mcp', server_label: 'a', server_url: 'https://a.test' }] }, 'mcp'],
    ['chat', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'web_search'],
    ['chat', { mcp_servers: { a: { url: 'https://a.test' } } }, 'mcp', 'mcp_servers'],
    ['chat', { web_search_options: {} }, 'web_search', 'web_search_options'],
  ])(
    'refuses on %s, given %j, a tool that the provider charges and that has no price here',
    async (
      api,
      body,
      tool,
      member = 'input' in body && Array.isArray(body.input) ? 'input[0].tools[0]' : 'tools[0]',
    ) => {
      const messages = api === 'responses' ? {} : { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 };
      const path = api === 'chat' ? 'chat/completions' : api;
      const answer = await app.post(path, { model: `test/${api}`, ...messages, ...body });
      expect(answer.status).toBe(400);
      expect(await answer.text()).toContain(
        `The tool ${tool} has no price at the providers of the model: ${member} can only be used with a provider key of your own`,
      );
      expect(app.upstreamCalls).toEqual([]);
    },
  );

  it.each([
    ['builtin_function', { type: 'builtin_function', function: { name: '$web_search' } }],
    ['other:web_search', { type: 'other:web_search' }],
    ['retrieval', { type: 'retrieval' }],
  ])('refuses the tool %s on chat completions, whose answers do not count its uses', async (tool, entry) => {
    const body = { model: 'test/chat', messages: [{ role: 'user', content: 'Hi' }], tools: [entry] };
    const answer = await app.post('chat/completions', body);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(`The tool ${tool} cannot be charged`);
    expect(app.upstreamCalls).toEqual([]);
  });

  it('passes tools of the caller on chat completions', async () => {
    const tools = [
      { type: 'function', function: { name: 'f' } },
      { type: 'custom', custom: { name: 'c' } },
      { type: 'bash_20250124', name: 'bash' },
    ];
    says(whole(CHAT_ANSWER));
    const body = { model: 'test/chat', messages: [{ role: 'user', content: 'Hi' }], tools };
    expect((await app.post('chat/completions', body)).status).toBe(200);
    expect(JSON.parse(app.upstreamCalls[0]!.toString())).toMatchObject({ tools });
  });

  it.each([
    [
      'responses',
      { input: 'Hi', tools: [{ type: 'file_search', vector_store_ids: ['v'] }] },
      'tools[0].vector_store_ids',
    ],
    [
      'responses',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
      'input[0].content[0].file_id',
    ],
    [
      'chat',
      { content: { type: 'image_url', image_url: { url: 'gs://b/a.png' } } },
      'messages[0].content[0].image_url.url',
    ],
    [
      'messages',
      { content: { type: 'image', source: { type: 'file', file_id: 'f' } } },
      'messages[0].content[0].source.file_id',
    ],
  ])("refuses on %s, given %j, a name in the operator's account", async (api, given, member) => {
    const { content, ...body } = given as { readonly content?: object };
    const messages = content === undefined ? {} : { messages: [{ role: 'user', content: [content] }], max_tokens: 5 };
    const path = api === 'chat' ? 'chat/completions' : api;
    const answer = await app.post(path, { model: `test/${api}`, ...messages, ...body });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(`${member} names something in the account of the provider`);
    expect(app.upstreamCalls).toEqual([]);
  });

  it('charges the tools that the provider ran', async () => {
    const search = { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['a'] };
    const failed = { ...search, status: 'failed' };
    const output = [search, failed, search, ...RESPONSE_ANSWER.output];
    const tools = [{ type: 'file_search' }];
    const costOf = async (answered: object): Promise<number> => {
      says(whole(answered));
      const answer = await app.post('responses', { model: 'test/responses', input: 'Hi', tools });
      return ((await answer.json()) as { usage: { cost: number } }).usage.cost;
    };
    const without = await costOf(RESPONSE_ANSWER);
    expect(await costOf({ ...RESPONSE_ANSWER, output })).toBeCloseTo(without + 2 * 0.0025, 12);
  });

  it('asks for a whole answer in whole turns', async () => {
    says(whole(TOOL_CALL_ANSWER), whole(CHAT_ANSWER));
    await app.post('responses', REQUEST);
    expect(app.upstreamCalls.map((body) => body.includes('"stream":true'))).toEqual([false, false]);
  });

  it.each(['a turn', 'a tool'])(
    'says why when the process stops during %s, and charges what was used',
    async (where) => {
      const reached = Promise.withResolvers<void>();
      const endless = new FakeTool('datetime', () => {
        reached.resolve();
        return new Promise(() => undefined);
      });
      if (where === 'a tool') {
        await app.close();
        app = await InferenceApp.start([endless]);
      }
      says(streamed(TOOL_CALL_STREAM), (response) => {
        streamed(chatChunk('Hm'), false)(response);
        reached.resolve();
      });
      const response = await app.post('responses', { ...REQUEST, stream: true });
      const text = response.text();
      await reached.promise;
      await app.inFlight.drain(AbortSignal.timeout(20));
      const data = dataOfEventStream(await text);
      expect(findResponsesGrammarProblems(data)).toEqual([]);
      expect(JSON.parse(data.at(-2)!)).toMatchObject({
        type: 'response.failed',
        response: { error_type: 'provider_overloaded', usage: { input_tokens: expect.any(Number) as number } },
      });
      const row = await settled();
      expect(row.outcome).toBe('cancelled');
      expect(Number(row.costUsd)).toBeGreaterThanOrEqual(Number(TURN_USD));
    },
  );

  it('answers 503 to a call without a stream when the process stops in a later turn, and charges the first', async () => {
    const reached = Promise.withResolvers<void>();
    says(whole(TOOL_CALL_ANSWER), () => reached.resolve());
    const response = app.post('responses', REQUEST);
    await reached.promise;
    await app.inFlight.drain(AbortSignal.timeout(20));
    expect((await response).status).toBe(503);
    expect(await settled()).toMatchObject({ outcome: 'cancelled', statusCode: 499, costUsd: '0.000023' });
  });

  it('charges nothing where the first turn gets no answer', async () => {
    app.answer = (_request, response) => response.writeHead(400).end('{"error":{"message":"no"}}');
    expect((await app.post('responses', REQUEST)).status).toBe(400);
    expect(await settled()).toMatchObject({ outcome: 'failed', costUsd: '0' });
  });
});
