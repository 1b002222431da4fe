import { joinFrames, type AnswerFrame } from '../../model/answer-frame';
import { AppError } from '@libs/errors';
import type { AnswerEvent, CanonicalAnswer } from '../../model/canonical-answer';
import { emptyUsage } from '../../pricing/usage';
import { aModel, anEndpoint, dataOfEventStream, findResponsesGrammarProblems } from '../../testing';
import type { AnswerContext } from '../dialect';
import { ResponsesStreamWriter } from './stream-writer';
import { writeAnswer } from './answer-writer';

const endpoint = anEndpoint();
const context = (body: object = { model: 'acme/large', input: 'Hi' }): AnswerContext => ({
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard',
  beganMs: 0,
  requestBody: Buffer.from(JSON.stringify(body)),
});
const bill = {
  usage: { ...emptyUsage('upstream'), promptTokens: 3, completionTokens: 2, totalTokens: 5 },
  cost: { totalCost: 7_000_000n, promptCost: 3_000_000n, completionCost: 4_000_000n },
};

const start: AnswerEvent = { type: 'start', upstreamId: 'up', createdAt: 5 };
const text = (part: number, value: string): AnswerEvent => ({ type: 'text-delta', part, text: value });
const opens = (part: number, kind: 'text' | 'refusal' | 'reasoning'): AnswerEvent => ({
  type: 'part-start',
  part,
  kind,
});
const calls = (part: number, name = 'f'): AnswerEvent => ({
  type: 'part-start',
  part,
  kind: 'tool-call',
  id: `call_${part}`,
  name,
});
const argues = (part: number, value: string): AnswerEvent => ({ type: 'tool-arguments-delta', part, arguments: value });
const ends = (part: number): AnswerEvent => ({ type: 'part-end', part });
const finishes = (finishReason: 'stop' | 'length' | 'content_filter' | 'error'): AnswerEvent => ({
  type: 'finish',
  finishReason,
  nativeFinishReason: null,
});

type Sent = { type: string; response: Record<string, unknown>; item: object; delta: string };

/** What the caller gets for these events and an end. */
function send(
  events: readonly AnswerEvent[],
  end: (writer: ResponsesStreamWriter) => readonly AnswerFrame[] = (writer) => writer.complete(bill),
  body?: object,
) {
  const writer = new ResponsesStreamWriter(context(body));
  const frames = [...events.flatMap((event) => writer.write(event)), ...end(writer)];
  const data = dataOfEventStream(joinFrames(frames).toString());
  expect(findResponsesGrammarProblems(data)).toEqual([]);
  const sent = data.slice(0, -1).map((event) => JSON.parse(event) as Sent);
  return { sent, types: sent.map(({ type }) => type.slice('response.'.length)), response: sent.at(-1)!.response };
}

describe(ResponsesStreamWriter.name, () => {
  it('tells of a text from its beginning to its end', () => {
    expect(send([start, opens(0, 'text'), text(0, 'Hel'), text(0, 'lo'), ends(0), finishes('stop')]).types).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
  });

  it('tells of thoughts and of a call', () => {
    const thought: AnswerEvent = { type: 'reasoning-delta', part: 0, delta: { summary: 'Hm', id: 'rs_up' } };
    const sealed: AnswerEvent = { type: 'reasoning-delta', part: 0, delta: { encrypted: 'x' } };
    const { types, response } = send([
      start,
      opens(0, 'reasoning'),
      thought,
      sealed,
      ends(0),
      calls(1),
      argues(1, '{}'),
    ]);
    expect(types.slice(2)).toEqual([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    expect(response['output']).toMatchObject([
      { id: 'rs_up', type: 'reasoning', encrypted_content: 'x', summary: [{ text: 'Hm' }], status: 'completed' },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}', status: 'completed' },
    ]);
  });

  it('keeps apart parts that overlap', () => {
    const events = [
      start,
      opens(0, 'text'),
      text(0, 'a'),
      calls(1),
      calls(2),
      argues(2, '{"b"'),
      argues(1, '{"a"'),
      text(0, 'z'),
    ];
    const { response } = send([
      ...events,
      argues(2, ':2}'),
      argues(1, ':1}'),
      ends(0),
      ends(1),
      ends(2),
      finishes('stop'),
    ]);
    expect(response['output']).toMatchObject([
      { type: 'message', content: [{ text: 'az' }] },
      { call_id: 'call_1', arguments: '{"a":1}' },
      { call_id: 'call_2', arguments: '{"b":2}' },
    ]);
  });

  it('announces thoughts before what begins after them', () => {
    send([start, opens(0, 'reasoning'), opens(1, 'text'), text(1, 'x'), ends(1), ends(0), finishes('stop')]);
  });

  it('tells of the tools of the gateway, each of which ends with its own work', () => {
    const looks = (part: number, tool: string): AnswerEvent => {
      const itemType = `sluice:${tool}`;
      return { type: 'part-start', part, kind: 'server-tool', tool, itemType, item: { query: '' } };
    };
    const found = (part: number, hasSucceeded = true): AnswerEvent => {
      return { type: 'tool-outcome', part, hasSucceeded, item: { query: 'q' } };
    };
    const events = [start, looks(0, 'web_search'), looks(1, 'datetime'), calls(2), argues(2, '{}'), ends(2)];
    const more = [
      found(1, false),
      ends(1),
      found(0),
      ends(0),
      opens(3, 'text'),
      text(3, 'x'),
      ends(3),
      looks(4, 'look'),
    ];
    const { types, response } = send([...events, ...more, finishes('stop')]);
    expect(types.filter((type) => type.startsWith('web_search_call'))).toEqual([
      'web_search_call.in_progress',
      'web_search_call.searching',
      'web_search_call.completed',
    ]);
    expect(response['output']).toMatchObject([
      { type: 'sluice:web_search', id: expect.stringMatching(/^ws_/) as string, status: 'completed', query: 'q' },
      { type: 'sluice:datetime', id: expect.stringMatching(/^st_/) as string, status: 'incomplete', query: 'q' },
      { type: 'function_call', status: 'completed' },
      { type: 'message', status: 'completed' },
      { type: 'sluice:look', status: 'incomplete', query: '' },
    ]);
  });

  it('says what the tools of the gateway did and cost', () => {
    const tools = { requested: 3, executed: 2, webSearches: 1, webFetches: 0, cost: 5_000_000n };
    const { response } = send([start, finishes('stop')], (writer) => writer.complete({ ...bill, tools }));
    expect(response['usage']).toMatchObject({
      cost: 0.000012,
      cost_details: { server_tool_cost: 0.000005, upstream_inference_input_cost: 0.000003 },
      server_tool_use_details: { tool_calls_requested: 3, tool_calls_executed: 2, web_search_requests: 1 },
    });
  });

  it('gives tools with free text their text', () => {
    const body = { input: 'Hi', tools: [{ type: 'custom', name: 'shell' }] };
    const events = [start, calls(0, 'shell'), argues(0, '{"inp'), argues(0, 'ut":"ls\\n"}'), ends(0)];
    const { types, sent, response } = send(events, undefined, body);
    expect(types.slice(3, 5)).toEqual(['custom_tool_call_input.delta', 'custom_tool_call_input.done']);
    expect(sent[3]?.delta).toBe('ls\n');
    expect(response['output']).toMatchObject([{ type: 'custom_tool_call', name: 'shell', input: 'ls\n' }]);
    const cut = send([start, calls(0, 'shell'), argues(0, '{"inp')], undefined, body);
    expect(cut.response['output']).toMatchObject([{ input: '{"inp' }]);
  });

  it('calls tools of namespaces and of the input by the names that the request has', () => {
    const tools = [{ type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'spawn' }] }];
    const said = [start, calls(0, 'agents__spawn'), argues(0, '{}'), ends(0), calls(1, 'f'), argues(1, '{}'), ends(1)];
    const output = [
      { type: 'function_call', namespace: 'agents', name: 'spawn', arguments: '{}' },
      { type: 'function_call', name: 'f' },
    ];
    for (const body of [{ input: 'Hi', tools }, { input: [{ type: 'additional_tools', tools }] }]) {
      const { sent, response } = send(said, undefined, body);
      expect(response['output']).toMatchObject(output);
      expect((response['output'] as object[])[1]).not.toHaveProperty('namespace');
      expect(sent[2]?.item).toMatchObject({ namespace: 'agents', name: 'spawn' });
    }
  });

  it.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ] as const)('calls an answer that ended by %s incomplete, and its last item too', (reason, details) => {
    const events = [
      start,
      opens(0, 'text'),
      text(0, 'a'),
      ends(0),
      calls(1),
      argues(1, '{'),
      ends(1),
      finishes(reason),
    ];
    const { response } = send(events);
    expect(response).toMatchObject({
      status: 'incomplete',
      completed_at: null,
      incomplete_details: { reason: details },
      output: [{ status: 'completed' }, { status: 'incomplete' }],
    });
  });

  it('fails once, with the whole response, what it says, and what it cost', () => {
    const error = new AppError('rate_limit_exceeded', 'Slow down', { metadata: { provider_name: 'Acme' } });
    const { types, response } = send([start, opens(0, 'text'), text(0, 'Hel')], (writer) => writer.fail(error, bill));
    expect(types.filter((type) => ['completed', 'incomplete', 'failed'].includes(type))).toEqual(['failed']);
    expect(response).toMatchObject({
      id: 'gen-1-abc',
      status: 'failed',
      error: { code: 'rate_limit_exceeded', message: 'Slow down', metadata: { provider_name: 'Acme' } },
      error_type: 'rate_limit_exceeded',
      output: [{ status: 'incomplete', content: [{ text: 'Hel' }] }],
      usage: { input_tokens: 3, cost: 0.000007 },
    });
  });

  it('does not say that a call is done if the response fails while it is open', () => {
    const custom = { tools: [{ type: 'custom', name: 'patch' }] };
    for (const [name, begun] of [
      ['f', ['output_item.added', 'function_call_arguments.delta']],
      ['patch', ['output_item.added']],
    ] as const) {
      const fail = (writer: ResponsesStreamWriter) => writer.fail(new AppError('server', 'x'), bill);
      const { types, response } = send([start, calls(0, name), argues(0, '{"input":"a')], fail, custom);
      expect(types).toEqual(['created', 'in_progress', ...begun, 'failed']);
      expect(response['output']).toMatchObject([{ name, status: 'incomplete' }]);
    }
  });

  it.each([
    ['invalid_request', 'invalid_prompt'],
    ['content_policy_violation', 'image_content_policy_violation'],
    ['provider_overloaded', 'server_error'],
    ['timeout', 'server_error'],
  ] as const)('says %s in the words of this API: %s', (code, word) => {
    const { response } = send([], (writer) => writer.fail(new AppError(code, 'x'), bill));
    expect(response).toMatchObject({ error: { code: word }, error_type: code });
  });

  it('masks what went wrong inside us', () => {
    const { response } = send([], (writer) => writer.fail(new AppError('server', 'table keys is gone'), bill));
    expect(response['error']).toMatchObject({ code: 'server_error', message: 'Internal error' });
  });

  it.each(['context_length_exceeded', 'max_tokens_exceeded', 'token_limit_exceeded', 'string_too_long'] as const)(
    'takes %s for an answer cut short',
    (code) => {
      const end = (writer: ResponsesStreamWriter) => writer.fail(new AppError(code, 'x'), bill);
      const { response } = send([start, opens(0, 'text'), text(0, 'a')], end);
      expect(response).toMatchObject({
        status: 'incomplete',
        error: null,
        incomplete_details: { reason: 'max_output_tokens' },
      });
      expect(response).not.toHaveProperty('error_type');
    },
  );

  it('fails when the model gave up', () => {
    expect(send([start, finishes('error')]).response).toMatchObject({
      status: 'failed',
      error: { code: 'server_error' },
    });
  });
});

describe(writeAnswer.name, () => {
  const answer = (finishReason: 'stop' | 'length' | 'error'): CanonicalAnswer => ({
    upstreamId: null,
    createdAt: 5,
    choices: [{ parts: [{ type: 'text', text: 'Hi' }], finishReason, nativeFinishReason: null }],
    usage: null,
    serviceTier: 'standard',
  });
  const written = (value: CanonicalAnswer, body?: object) => writeAnswer(value, bill, context(body));

  it('has every member with what holds where the request is silent', () => {
    expect(written(answer('stop'))).toEqual({
      id: 'gen-1-abc',
      object: 'response',
      created_at: 5,
      completed_at: expect.any(Number),
      status: 'completed',
      background: false,
      error: null,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: null,
      model: 'acme/large',
      output: [
        {
          id: expect.stringMatching(/^msg_[0-9a-f]{48}$/),
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }],
        },
      ],
      parallel_tool_calls: true,
      presence_penalty: null,
      frequency_penalty: null,
      previous_response_id: null,
      service_tier: 'default',
      store: false,
      temperature: null,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      top_p: null,
      truncation: null,
      usage: {
        input_tokens: 3,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 5,
        cost: 0.000007,
        cost_details: {
          upstream_inference_cost: null,
          upstream_inference_input_cost: 0.000003,
          upstream_inference_output_cost: 0.000004,
        },
        is_byok: false,
      },
    });
  });

  it('repeats the settings of the request', () => {
    const settings = {
      instructions: 'Be kind',
      temperature: 0,
      parallel_tool_calls: false,
      tools: [{ type: 'function', name: 'f', parameters: null }],
      tool_choice: 'required',
      reasoning: { effort: 'low' },
      user: 'anna',
      metadata: { a: 'b' },
      truncation: 'auto',
      max_output_tokens: 5,
    };
    expect(written(answer('stop'), { input: 'Hi', ...settings })).toMatchObject(settings);
  });

  it('gives tools with free text their text', () => {
    const parts = [{ type: 'tool-call' as const, id: 'c', name: 'shell', arguments: '{"input":"ls"}' }];
    const whole = { ...answer('stop'), choices: [{ parts, finishReason: 'stop' as const, nativeFinishReason: null }] };
    expect(written(whole, { input: 'Hi', tools: [{ type: 'custom', name: 'shell' }] })).toMatchObject({
      output: [{ type: 'custom_tool_call', call_id: 'c', name: 'shell', input: 'ls' }],
    });
  });

  it('tells of an answer that was cut short or failed', () => {
    expect(written(answer('length'))).toMatchObject({
      status: 'incomplete',
      completed_at: null,
      output: [{ status: 'incomplete' }],
    });
    expect(written(answer('error'))).toMatchObject({
      status: 'failed',
      error: { code: 'server_error' },
      error_type: 'provider_unavailable',
    });
  });
});
