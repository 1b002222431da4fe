import { AppError } from '@libs/errors';
import fc from 'fast-check';
import { parseRate } from '../../pricing/money';
import { joinFrames } from '../../model/answer-frame';
import type { UpstreamStream } from '../../wire/upstream-stream';
import { aModel, anEndpoint, dataOfEventStream, findResponsesGrammarProblems, textOf } from '../../testing';
import type { AnswerContext } from '../dialect';
import { StreamDebug } from '../stream-debug';
import { openAiResponses } from './dialect';
import { OpenAiResponsesStream } from './relayed-stream';

type Event = Record<string, unknown>;

const endpoint = anEndpoint({ apis: ['responses'] });
const context = (values: Partial<AnswerContext> = {}): AnswerContext => ({
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard',
  beganMs: 0,
  requestBody: Buffer.from('{"model":"acme/large","input":"Say hello","stream":true,"user":"anna"}'),
  ...values,
});

interface FakeBody extends UpstreamStream {
  ending: 'cancelled' | 'discarded' | null;
}

/** A body that arrives in these pieces and then ends, or breaks. */
function bodyOf(pieces: readonly Buffer[], broken?: Error): FakeBody {
  const left = [...pieces];
  return {
    ending: null,
    async read() {
      const next = left.shift();
      if (next === undefined && broken) throw broken;
      return next ?? null;
    },
    leave: () => 0,
    cancel() {
      this.ending = 'cancelled';
    },
    discard() {
      this.ending = 'discarded';
    },
  };
}

const response = (values: object = {}): object => ({
  id: 'resp_1',
  object: 'response',
  created_at: 5,
  status: 'in_progress',
  model: 'acme-large-2026',
  output: [],
  user: 'a hash',
  ...values,
});
const content = (text: string): object => ({ type: 'output_text', text, annotations: [], logprobs: [] });
const message = (status: string, ...contents: object[]): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status,
  content: contents,
});
const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const usage = { input_tokens: 10, output_tokens: 4, total_tokens: 14 };

const OPENING: readonly Event[] = [
  { type: 'response.created', response: response() },
  { type: 'response.in_progress', response: response() },
];
const BEGUN: readonly Event[] = [
  ...OPENING,
  { type: 'response.output_item.added', output_index: 0, item: message('in_progress') },
  { type: 'response.content_part.added', ...place, part: content('') },
  { type: 'response.output_text.delta', ...place, delta: 'Grüße ', logprobs: [] },
];
const ITEM_DONE: readonly Event[] = [
  ...BEGUN,
  { type: 'response.output_text.delta', ...place, delta: '"😀"', logprobs: [] },
  { type: 'response.output_text.done', ...place, text: 'Grüße "😀"', logprobs: [] },
  { type: 'response.content_part.done', ...place, part: content('Grüße "😀"') },
  { type: 'response.output_item.done', output_index: 0, item: message('completed', content('Grüße "😀"')) },
];
const last = (type: string, values: object): Event => ({
  type: `response.${type}`,
  response: response({ status: type, output: [message('completed', content('Grüße "😀"'))], usage, ...values }),
});
const WHOLE: readonly Event[] = [...ITEM_DONE, last('completed', { completed_at: 6 })];

const sse = (events: readonly Event[], from = 0): Buffer =>
  Buffer.from(
    events
      .map((event, index) => {
        const { type, ...members } = event;
        const numbered = { type, sequence_number: index + from, ...members };
        return `event: ${String(type)}\ndata: ${JSON.stringify(numbered)}\n\n`;
      })
      .join(''),
  );

async function drain(body: UpstreamStream, values: Partial<AnswerContext> = {}) {
  const stream = await OpenAiResponsesStream.open(body, context(values));
  const text = await textOf(stream);
  const data = dataOfEventStream(text);
  const events = data.slice(0, -1).map((event) => JSON.parse(event) as Event);
  return { text, data, events, last: events.at(-1) as Event & { response: Event }, outcome: await stream.outcome };
}

const lastOf = async (pieces: readonly Buffer[], broken?: Error) => {
  const read = await drain(bodyOf(pieces, broken));
  expect(findResponsesGrammarProblems(read.data)).toEqual([]);
  return read;
};

describe(OpenAiResponsesStream.name, () => {
  it('passes every event as it came, and only names and money are ours, wherever the network cuts', async () => {
    const body = sse(WHOLE);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(body.length), { maxLength: 10 }), async (cuts) => {
        const offsets = [0, ...cuts.sort((a, b) => a - b), body.length];
        const pieces = offsets.slice(1).map((end, i) => body.subarray(offsets[i], end));
        const { data, events, outcome } = await drain(bodyOf(pieces));
        expect(findResponsesGrammarProblems(data)).toEqual([]);
        const own = { id: 'gen-1-abc', model: 'acme/large', store: false, previous_response_id: null, user: 'anna' };
        expect(events).toEqual(
          WHOLE.map((event, index) => ({
            ...event,
            sequence_number: index,
            ...(event['response'] ? { response: expect.objectContaining(own) as unknown } : {}),
          })),
        );
        expect(outcome).toMatchObject({
          state: 'completed',
          finishReason: 'stop',
          upstreamId: 'resp_1',
          usage: { promptTokens: 10, completionTokens: 4, provenance: 'upstream' },
        });
      }),
      { numRuns: 100 },
    );
  });

  it('keeps the bytes of events in the middle', async () => {
    const odd = '{"sequence_number":2,"type":"response.output_text.delta", "delta":"\\u00e9\\/","logprobs":[ ]}';
    const body = Buffer.concat([
      sse(OPENING),
      Buffer.from(`data: ${odd}\n\n`),
      sse([last('completed', { output: [] })], 3),
    ]);
    expect((await drain(bodyOf([body]))).text).toContain(`data: ${odd}\n\n`);
  });

  it('has the cost in the last response', async () => {
    const { last: event } = await lastOf([sse(WHOLE)]);
    expect(event.response['usage']).toEqual({
      ...usage,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
      cost: 0.000018,
      cost_details: {
        upstream_inference_cost: null,
        upstream_inference_input_cost: 0.00001,
        upstream_inference_output_cost: 0.000008,
      },
      is_byok: false,
    });
  });

  describe('in which the provider searches the web', () => {
    const priced = { ...endpoint, pricing: { ...endpoint.pricing, webSearch: parseRate('0.01') } };
    const search = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } };
    const searched: readonly Event[] = [
      ...OPENING,
      { type: 'response.output_item.added', output_index: 0, item: { ...search, status: 'in_progress' } },
      { type: 'response.output_item.done', output_index: 0, item: search },
    ];

    it('is charged for the search', async () => {
      const body = bodyOf([sse([...searched, last('completed', { output: [search] })])]);
      const { last: event, outcome } = await drain(body, { endpoint: priced });
      expect(event.response['usage']).toMatchObject({ cost: 0.010018 });
      expect(outcome.cost.totalCost).toBe(10_018_000_000n);
    });

    it('is charged for it also when the caller leaves', async () => {
      const stream = await OpenAiResponsesStream.open(
        bodyOf([sse(searched), sse(WHOLE)]),
        context({ endpoint: priced }),
      );
      await stream.next();
      stream.cancel();
      const { cost, state } = await stream.outcome;
      expect(state).toBe('cancelled');
      expect(cost.totalCost).toBeGreaterThanOrEqual(10_000_000_000n);
    });
  });

  it('estimates a usage that the upstream does not report', async () => {
    const events = [...ITEM_DONE, last('completed', { usage: undefined })];
    const { last: event, outcome } = await lastOf([sse(events)]);
    expect(outcome.usage).toMatchObject({ provenance: 'estimated', completionTokens: 6 });
    expect(event.response['usage']).toMatchObject({ output_tokens: 6 });
  });

  it.each([3, null, 'x'])('numbers the events itself where the upstream counts from %j', async (from) => {
    const body = sse(WHOLE, Number(from)).toString().replaceAll('NaN', '"?"').replaceAll(':null', ':null');
    await lastOf([Buffer.from(body)]);
  });

  it('numbers events that have no number', async () => {
    await lastOf([
      Buffer.from(
        sse(WHOLE)
          .toString()
          .replaceAll(/"sequence_number":\d+,/g, ''),
      ),
    ]);
  });

  it('tells of an answer cut short', async () => {
    const details = { incomplete_details: { reason: 'max_output_tokens' } };
    const { last: event, outcome } = await lastOf([sse([...ITEM_DONE, last('incomplete', details)])]);
    expect(event['type']).toBe('response.incomplete');
    expect(outcome).toMatchObject({
      state: 'incomplete',
      finishReason: 'length',
      nativeFinishReason: 'max_output_tokens',
      usage: { completionTokens: 4, provenance: 'upstream' },
      error: null,
    });
  });

  it('says done once, whatever comes after the last event', async () => {
    const late = Buffer.from('data: [DONE]\n\ndata: {"type":"error","message":"late"}\n\n');
    const body = bodyOf([Buffer.concat([sse(WHOLE), late])]);
    const { text } = await drain(body);
    expect(text.match(/\[DONE\]/g)).toHaveLength(1);
    expect(text).not.toContain('late');
    expect(body.ending).toBe('discarded');
  });

  const timeout = new AppError('timeout', 'The provider did not answer in time');
  it.each([
    ['is cut', [sse(BEGUN)], undefined, 'server_error', 'provider_unavailable'],
    [
      'is cut within an event',
      [sse(BEGUN), Buffer.from('data: {"type":"resp')],
      undefined,
      'server_error',
      'provider_unavailable',
    ],
    ['stalls', [sse(BEGUN)], timeout, 'server_error', 'timeout'],
    [
      'holds what is no JSON',
      [sse(BEGUN), Buffer.from('data: {"type":\n\n')],
      undefined,
      'server_error',
      'provider_unavailable',
    ],
    [
      'says done too early',
      [sse(BEGUN), Buffer.from('data: [DONE]\n\n')],
      undefined,
      'server_error',
      'provider_unavailable',
    ],
    [
      'ends without a response',
      [sse(BEGUN), Buffer.from('data: {"type":"response.completed"}\n\n')],
      undefined,
      'server_error',
      'provider_unavailable',
    ],
    [
      'completes a response that failed',
      [sse(BEGUN), sse([{ type: 'response.completed', response: response({ status: 'failed', error: null }) }], 5)],
      undefined,
      'server_error',
      'provider_unavailable',
    ],
    [
      'completes a response with an error',
      [
        sse(BEGUN),
        sse([{ type: 'response.completed', response: response({ status: 'completed', error: { code: 429 } }) }], 5),
      ],
      undefined,
      'rate_limit_exceeded',
      'rate_limit_exceeded',
    ],
    [
      'turns into an error event',
      [sse(BEGUN), sse([{ type: 'error', code: 'rate_limit_exceeded', message: 'x' }], 5)],
      undefined,
      'rate_limit_exceeded',
      'rate_limit_exceeded',
    ],
    [
      'turns into a nested error',
      [sse(BEGUN), Buffer.from('data: {"error":{"message":"boom","type":"server_error"}}\n\n')],
      undefined,
      'server_error',
      'provider_unavailable',
    ],
    ['breaks inside us', [sse(BEGUN)], new Error('a bug'), 'server_error', 'server'],
  ])('ends in one failed response when the upstream %s', async (_what, pieces, broken, code, errorType) => {
    const { last: event, outcome } = await lastOf(pieces, broken);
    expect(event['type']).toBe('response.failed');
    expect(event.response).toMatchObject({
      id: 'gen-1-abc',
      object: 'response',
      created_at: 5,
      status: 'failed',
      error: { code, message: expect.any(String) },
      error_type: errorType,
      model: 'acme/large',
      output: [],
      tools: [],
      usage: { output_tokens: expect.any(Number), is_byok: false },
    });
    expect(event['error']).toEqual(event.response['error']);
    expect(outcome).toMatchObject({
      state: 'failed',
      finishReason: 'error',
      error: { code: errorType },
      usage: { provenance: 'partial' },
    });
    expect(outcome.usage.completionTokens).toBeGreaterThan(0);
  });

  it('shows the finished items of a broken stream', async () => {
    const { last: event } = await lastOf([sse(ITEM_DONE)]);
    expect(event.response['output']).toEqual([message('completed', content('Grüße "😀"'))]);
  });

  it('passes on that the upstream failed, in our words, with what it used', async () => {
    const error = { code: 'server_error', message: 'key sk-live-0123456789abcdef broke' };
    const { last: event, text, outcome } = await lastOf([sse(ITEM_DONE), sse([last('failed', { error })], 9)]);
    expect(event['type']).toBe('response.failed');
    expect(event.response).toMatchObject({
      error: { code: 'server_error' },
      error_type: 'provider_unavailable',
      id: 'gen-1-abc',
    });
    expect(event['error']).toEqual(event.response['error']);
    expect(text).not.toContain('sk-live');
    expect(outcome).toMatchObject({ state: 'failed', usage: { promptTokens: 10, completionTokens: 4 } });
  });

  it('keeps a known reason of the upstream', async () => {
    const error = { code: 'invalid_base64_image', message: 'no image' };
    const { last: event } = await lastOf([sse(ITEM_DONE), sse([last('failed', { error })], 9)]);
    expect(event.response['error']).toMatchObject({ code: 'invalid_base64_image' });
  });

  it('takes an answer that ran out of room for one cut short', async () => {
    const error = { type: 'error', code: 'context_length_exceeded', message: 'too long' };
    for (const end of [error, last('failed', { error })]) {
      const { last: event, outcome } = await lastOf([sse(ITEM_DONE), sse([end], 9)]);
      expect(event['type']).toBe('response.incomplete');
      expect(event['error']).toBeUndefined();
      expect(event.response).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        error: null,
      });
      expect(outcome).toMatchObject({ state: 'incomplete', finishReason: 'length', error: null });
    }
  });

  it('cannot call an answer cut short while an item is open', async () => {
    const error = { type: 'error', code: 'context_length_exceeded', message: 'too long' };
    const { last: event } = await lastOf([sse(BEGUN), sse([error], 5)]);
    expect(event.response['error']).toMatchObject({ code: 'invalid_prompt' });
  });

  it.each([
    ['nothing', []],
    ['[DONE] alone', [Buffer.from('data: [DONE]\n\n')]],
    ['an error', [sse([{ type: 'error', code: 'server_error', message: 'x' }])]],
    ['a failed response', [sse([last('failed', { error: { code: 'server_error', message: 'x' } })])]],
    ['no JSON', [Buffer.from('data: <html>\n\n')]],
    ['an event and an error at once', [Buffer.concat([sse(OPENING), sse([{ type: 'error', message: 'x' }])])]],
  ])('lets another endpoint be tried when the first thing that comes is %s', async (_what, pieces) => {
    const body = bodyOf(pieces);
    await expect(OpenAiResponsesStream.open(body, context())).rejects.toMatchObject({
      code: 'provider_unavailable',
      retryable: true,
    });
    expect(body.ending).toBe('cancelled');
  });

  it('begins at the first valid event', async () => {
    const body = bodyOf([Buffer.from(': hi\n\ndata: {"ping":1}\n\n'), sse(OPENING)], timeout);
    const stream = await OpenAiResponsesStream.open(body, context());
    expect(joinFrames((await stream.next()).value!).toString()).toContain('response.created');
  });

  it('is charged for what the upstream then reports when the caller leaves', async () => {
    const body = bodyOf([sse(BEGUN), sse(WHOLE)]);
    const stream = await OpenAiResponsesStream.open(body, context());
    await stream.next();
    stream.cancel();
    stream.cancel();
    expect(await stream.outcome).toMatchObject({
      state: 'cancelled',
      usage: { completionTokens: 4, provenance: 'upstream' },
    });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it('shows the body that the upstream got, if asked to, and no more', async () => {
    const requestBody = Buffer.from('{"input":"x","stream":true,"user":"anna","debug":{"echo_upstream_body":true}}');
    const sent = openAiResponses.toUpstream(requestBody, endpoint, true);
    const debug = StreamDebug.askedIn(requestBody)!;
    await debug.watch(sent, () => Promise.resolve());
    const { data, events } = await drain(bodyOf([sse(WHOLE)]), { ...context({ requestBody }), debug });
    expect(findResponsesGrammarProblems(data)).toEqual([]);
    expect(events[0]).toMatchObject({
      type: 'response.debug',
      sequence_number: 0,
      debug: { echo_upstream_body: { model: 'acme-large-2026', input: 'x', store: false, stream: true } },
    });
    expect(JSON.stringify(events[0])).not.toContain('anna');
    expect(events[1]).toMatchObject({ type: 'response.created', sequence_number: 1 });
  });

  it('makes a whole last response for an upstream that never showed one', async () => {
    const delta = { type: 'response.output_text.delta', ...place, delta: 'Hi' };
    const { last: event } = await drain(bodyOf([sse([delta])]));
    expect(event.response).toMatchObject({
      id: 'gen-1-abc',
      status: 'failed',
      output: [],
      tool_choice: 'auto',
      user: 'anna',
    });
  });

  it('leaves out a usage of null before the end', async () => {
    const early = response({ usage: null });
    const begun = [
      { type: 'response.created', response: early },
      { type: 'response.in_progress', response: early },
    ];
    const { events } = await drain(bodyOf([sse([...begun, ...WHOLE.slice(2)])]));
    expect(events[0]!['response']).not.toHaveProperty('usage');
    expect(events[1]!['response']).not.toHaveProperty('usage');
    expect(events.at(-1)).toMatchObject({ response: { usage: { total_tokens: 14 } } });
  });

  it('repeats settings of the request in one line, however they were written', async () => {
    const requestBody = Buffer.from('{"input":"x","tools":[\n{"type":"web_search"}\r\n]}');
    const { events } = await drain(bodyOf([sse(WHOLE)]), { requestBody });
    expect(events[0]).toMatchObject({ response: { tools: [{ type: 'web_search' }] } });
  });
});
