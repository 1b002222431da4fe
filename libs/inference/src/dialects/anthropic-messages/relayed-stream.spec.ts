import { AppError } from '@libs/errors';
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import type { UpstreamStream } from '../../wire/upstream-stream';
import { aModel, anEndpoint, textOf } from '../../testing';
import { MessagesStream } from './relayed-stream';

type Piece = Buffer | AppError;

/** A body that arrives in these pieces; an error among them is thrown instead. */
function bodyOf(pieces: readonly Piece[]): UpstreamStream & { cancelled: boolean } {
  const left = [...pieces];
  return {
    cancelled: false,
    read: async () => {
      const piece = left.shift() ?? null;
      if (piece instanceof AppError) throw piece;
      return piece;
    },
    leave: () => 0,
    cancel() {
      this.cancelled = true;
    },
    discard: () => undefined,
  };
}

function cut(body: Buffer, cuts: readonly number[]): Buffer[] {
  const offsets = [0, ...cuts.map((at) => at % body.length).sort((a, b) => a - b), body.length];
  return offsets.slice(1).map((end, i) => body.subarray(offsets[i], end));
}

const endpoint = anEndpoint({ apis: ['messages'] });
const context = {
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard' as const,
  beganMs: 0,
  requestBody: Buffer.from('{"messages":[{"role":"user","content":"twelve bytes"}]}'),
};

type Event = Record<string, unknown> & { type: string };

const start: Event = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'acme-large-2026',
    container: null,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage: {
      input_tokens: 10,
      cache_creation_input_tokens: 300,
      cache_read_input_tokens: 20,
      output_tokens: 1,
      cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 0 },
      output_tokens_details: { thinking_tokens: 0 },
      server_tool_use: null,
      inference_geo: 'us',
      service_tier: 'priority',
    },
  },
};
const block: Event = {
  type: 'content_block_start',
  index: 0,
  content_block: { type: 'text', text: '', citations: [] },
};
const text = (said: string): Event => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text: said },
});
const blockEnd: Event = { type: 'content_block_stop', index: 0 };
const delta: Event = {
  type: 'message_delta',
  delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null, container: null },
  usage: {
    input_tokens: 10,
    cache_creation_input_tokens: 300,
    cache_read_input_tokens: 20,
    output_tokens: 40,
    output_tokens_details: { thinking_tokens: 7 },
    server_tool_use: null,
  },
};
const stop: Event = { type: 'message_stop' };
const whole = [start, block, text('Hello, world!'), blockEnd, delta, stop];

const bytesOf = (events: readonly (Event | string)[]): Buffer =>
  Buffer.from(
    events
      .map((event) => (typeof event === 'string' ? event : `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))
      .join(''),
  );

async function relay(...pieces: Piece[]) {
  const upstream = bodyOf(pieces);
  const stream = await MessagesStream.open(upstream, context);
  const events: Event[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      const parsed = JSON.parse(data) as Event;
      expect(event).toBe(parsed.type);
      events.push(parsed);
    },
  });
  parser.feed(await textOf(stream));
  return { events, outcome: await stream.outcome, upstream };
}

const isEnd = ({ type }: Event) => type === 'message_stop' || type === 'error';

describe(MessagesStream.name, () => {
  it('changes our names and the usage, and nothing else, wherever the network cuts', async () => {
    const anyText = fc.string({ unit: 'grapheme' });
    // As it reads once it was written: JSON has no -0.
    const written = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
    const anyDelta = fc.oneof(
      fc.record({ type: fc.constant('text_delta'), text: anyText }),
      fc.record({ type: fc.constant('input_json_delta'), partial_json: anyText }),
      fc.record({ type: fc.constant('thinking_delta'), thinking: anyText }),
      fc.record({ type: fc.constant('compaction_delta'), content: anyText, 'odd "key"': written }),
    );
    const anyEvent: fc.Arbitrary<Event> = fc.oneof(
      fc.record({ type: fc.constant('content_block_delta'), index: fc.nat(3), delta: anyDelta }),
      fc.record({ type: fc.constant('ping') }),
      fc.record({ type: fc.constant('block_of_tomorrow'), id: anyText, model: anyText }),
    );
    const cuts = fc.array(fc.nat(), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.array(anyEvent, { maxLength: 12 }), cuts, async (middle, at) => {
        const sent = [start, block, ...middle, blockEnd, delta, stop];
        const { events, outcome } = await relay(...cut(bytesOf(sent), at));
        expect(events).toEqual([
          {
            ...start,
            message: { ...(start['message'] as object), id: 'gen-1-abc', model: 'acme/large', provider: 'Acme' },
          },
          block,
          ...middle,
          blockEnd,
          {
            ...delta,
            usage: { ...(delta['usage'] as object), cost: 0.00041, cost_details: expect.anything(), is_byok: false },
          },
          stop,
        ]);
        expect(outcome).toMatchObject({ state: 'completed', nativeFinishReason: 'end_turn', upstreamId: 'msg_1' });
      }),
      { numRuns: 200 },
    );
  });

  it('adds what has to be there and the upstream left out', async () => {
    const { events } = await relay(
      bytesOf([
        {
          type: 'message_start',
          message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] },
        },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        text('Hi'),
        blockEnd,
        {
          type: 'content_block_start',
          index: 1,
          content_block: { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
        },
        { type: 'content_block_stop', index: 1 },
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 40 } },
        stop,
      ]),
    );
    expect(events[0]).toMatchObject({
      message: {
        container: null,
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        usage: {
          input_tokens: 0,
          output_tokens: 0,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          cache_creation: null,
          server_tool_use: null,
          inference_geo: null,
          service_tier: 'standard',
          output_tokens_details: { thinking_tokens: 0 },
        },
      },
    });
    expect(events[1]).toEqual({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'text', text: '', citations: null },
    });
    expect(events[4]).toMatchObject({ content_block: { type: 'tool_use', caller: { type: 'direct' } } });
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: 'tool_use', stop_sequence: null, stop_details: null, container: null },
      usage: { output_tokens: 40, output_tokens_details: null, server_tool_use: null },
    });
  });

  it('completes the usage that a message starts with', async () => {
    const early = { ...start, message: { ...(start['message'] as object), usage: { input_tokens: 10 } } };
    const { events } = await relay(bytesOf([early, ...whole.slice(1)]));
    expect(events[0]!['message']).toMatchObject({
      usage: {
        input_tokens: 10,
        output_tokens: 0,
        cache_creation_input_tokens: null,
        cache_read_input_tokens: null,
        cache_creation: null,
        output_tokens_details: null,
        server_tool_use: null,
        inference_geo: null,
        service_tier: 'standard',
      },
    });
  });

  it('counts the prompt once though the start and the end both report it', async () => {
    const { outcome } = await relay(bytesOf(whole));
    expect(outcome.usage).toMatchObject({
      promptTokens: 330,
      cacheWriteTokens: 300,
      cachedTokens: 20,
      completionTokens: 40,
      provenance: 'upstream',
    });
    expect(outcome.cost.totalCost).toBe(410_000_000n);
  });

  it('takes the prompt from the start where the end counts the output only', async () => {
    const short = { ...delta, usage: { output_tokens: 40 } };
    const { events, outcome } = await relay(bytesOf([start, block, text('Hi'), blockEnd, short, stop]));
    expect(outcome.usage).toMatchObject({ promptTokens: 330, completionTokens: 40, provenance: 'upstream' });
    expect(events.at(-2)).toMatchObject({
      usage: { input_tokens: 10, cache_creation_input_tokens: 300, cache_read_input_tokens: 20, output_tokens: 40 },
    });
  });

  it('estimates the output where no end counts it', async () => {
    const bare = { type: 'message_delta', delta: { stop_reason: 'end_turn' } };
    const { events, outcome } = await relay(bytesOf([start, block, text('x'.repeat(40)), blockEnd, bare, stop]));
    expect(outcome.usage).toMatchObject({ promptTokens: 330, completionTokens: 10, provenance: 'estimated' });
    expect(events.at(-2)).toMatchObject({ usage: { output_tokens: 10, cost: expect.any(Number) } });
  });

  it.each<[string, Event[]]>([
    ['that is missing', []],
    ['of null', [{ type: 'message_delta', delta: { stop_reason: null }, usage: { output_tokens: 10 } }]],
    ['that is an empty text', [{ type: 'message_delta', delta: { stop_reason: '' }, usage: { output_tokens: 10 } }]],
  ])('takes no message for whole that ends with a stop reason %s', async (_what, end) => {
    const { events, outcome } = await relay(
      bytesOf([start, block, text('x'.repeat(40)), blockEnd]),
      bytesOf([...end, stop]),
    );
    expect(events.filter(isEnd)).toMatchObject([{ type: 'error', error: { error_type: 'provider_unavailable' } }]);
    expect(outcome).toMatchObject({ state: 'failed', usage: { promptTokens: 330, completionTokens: 10 } });
  });

  it('ends a body that just stops after the stop reason', async () => {
    const { events, outcome } = await relay(bytesOf(whole.slice(0, -1)));
    expect(events.at(-1)).toEqual(stop);
    expect(outcome.state).toBe('completed');
  });

  it.each([
    ['max_tokens', 'incomplete'],
    ['model_context_window_exceeded', 'incomplete'],
    ['refusal', 'incomplete'],
    ['tool_use', 'completed'],
    ['pause_turn', 'completed'],
  ])('is, stopped by %s, %s', async (stopReason, state) => {
    const { outcome } = await relay(bytesOf([start, block, { ...delta, delta: { stop_reason: stopReason } }, stop]));
    expect(outcome).toMatchObject({ state, nativeFinishReason: stopReason });
  });

  it.each(['abort', 'network_error'])(
    'ends with an error where an upstream says that the model stopped by %s',
    async (word) => {
      const { events, outcome } = await relay(
        bytesOf([start, block, text('Hi'), blockEnd, { ...delta, delta: { stop_reason: word } }, stop]),
      );
      expect(events.filter(isEnd)).toMatchObject([{ type: 'error', error: { error_type: 'provider_unavailable' } }]);
      expect(outcome).toMatchObject({ state: 'failed', nativeFinishReason: word });
    },
  );

  it('starts a message once, ends it once and hears nothing after that', async () => {
    const late = text('late');
    const { events } = await relay(
      bytesOf([start, start, block, 'data: [DONE]\n\n', ...whole.slice(2), late, stop, start]),
    );
    expect(events.map(({ type }) => type)).toEqual(whole.map(({ type }) => type));
  });

  it('writes an event that came in several lines of data in one', async () => {
    const odd = 'event: content_block_stop\ndata: {"type":"content_block_stop",\ndata: "index":0}\n\n';
    const { events } = await relay(bytesOf([start, block, odd, delta, stop]));
    expect(events[2]).toEqual(blockEnd);
  });

  const overload = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
  const timeout = new AppError('timeout', 'The provider did not answer in time');

  it.each<[string, Piece[], string, string]>([
    ['reports an overload', [bytesOf([overload])], 'overloaded_error', 'provider_overloaded'],
    [
      'reports an overload without a type',
      [Buffer.from(`data: ${JSON.stringify({ error: overload.error })}\n\n`)],
      'overloaded_error',
      'provider_overloaded',
    ],
    ['is cut', [], 'api_error', 'provider_unavailable'],
    ['stalls', [timeout], 'timeout_error', 'timeout'],
    [
      'sends half an event',
      [Buffer.from('event: x\ndata: {"type":"content_bl\n\n')],
      'api_error',
      'provider_unavailable',
    ],
    ['sends no object', [Buffer.from('data: 7\n\n')], 'api_error', 'provider_unavailable'],
    ['sends an event of no type', [Buffer.from('data: {}\n\n')], 'api_error', 'provider_unavailable'],
    ['sends an error of nothing', [Buffer.from('data: {"type":"error"}\n\n')], 'api_error', 'provider_unavailable'],
  ])('tells once that an upstream in the middle of an answer %s', async (_what, rest, type, errorType) => {
    const { events, outcome, upstream } = await relay(bytesOf([start, block, text('x'.repeat(40))]), ...rest);
    expect(events.filter(isEnd)).toEqual([
      { type: 'error', error: { type, message: expect.any(String), error_type: errorType } },
    ]);
    expect(isEnd(events.at(-1)!)).toBe(true);
    expect(outcome).toMatchObject({
      state: 'failed',
      error: { code: errorType },
      usage: { promptTokens: 330, completionTokens: 10, provenance: 'partial' },
    });
    expect(upstream.cancelled).toBe(true);
  });

  it('charges nothing for an answer that broke before anything was said', async () => {
    const { outcome } = await relay(bytesOf([start, block]), bytesOf([overload]));
    expect(outcome.cost.totalCost).toBe(0n);
  });

  it.each<[string, Piece[], string]>([
    ['an overload before the message', [bytesOf([overload])], 'provider_overloaded'],
    ['an overload before any content', [bytesOf([start, { type: 'ping' }, overload])], 'provider_overloaded'],
    ['a body that ends before any content', [bytesOf([start])], 'provider_unavailable'],
    ['an empty body', [], 'provider_unavailable'],
    ['pings only', [bytesOf([{ type: 'ping' }])], 'provider_unavailable'],
    ['content before the message', [bytesOf([block])], 'provider_unavailable'],
    ['a message that is none', [bytesOf([{ type: 'message_start', message: 1 }])], 'provider_unavailable'],
    ['a stall', [bytesOf([start]), timeout], 'timeout'],
  ])('lets another endpoint be tried after %s', async (_what, pieces, code) => {
    const upstream = bodyOf(pieces);
    await expect(MessagesStream.open(upstream, context)).rejects.toMatchObject({ code, retryable: true });
    expect(upstream.cancelled).toBe(true);
  });

  it('charges who leaves for what the upstream then reports', async () => {
    const upstream = bodyOf([bytesOf([start, block, text('x'.repeat(40))]), bytesOf(whole.slice(3))]);
    const stream = await MessagesStream.open(upstream, context);
    for await (const _buffer of stream) break;
    expect(await stream.outcome).toMatchObject({
      state: 'cancelled',
      usage: { promptTokens: 330, completionTokens: 40, provenance: 'upstream' },
    });
  });
});
