import { joinFrames, type AnswerFrame } from '../../model/answer-frame';
import { AppError } from '@libs/errors';
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import type { AnswerEvent, AnswerPart, CanonicalAnswer } from '../../model/canonical-answer';
import type { ReasoningPart } from '../../model/conversation';
import { emptyUsage, type Usage } from '../../pricing/usage';
import {
  aModel,
  anEndpoint,
  anyAnswerText,
  anyPartSequence,
  anyReasoningPart,
  anyToolCall,
  anyUsage,
  aProvider,
  eventsOf,
  foldAnswer,
  textOf,
} from '../../testing';
import { parseRate } from '../../pricing/money';
import { openAiChatTranslation } from '../openai-chat';
import { translateAnswer } from '../translated-answer';
import { TranslatedStream } from '../translated-stream';
import { anthropicMessagesTranslation } from '.';
import { readAnswer } from './answer-reader';
import { writeAnswer } from './answer-writer';
import { MessagesStreamReader } from './stream-reader';
import { MessagesStreamWriter } from './stream-writer';
import { toToolInput } from '../tool-input';

const endpoint = anEndpoint({ apis: ['messages'], contextLength: 128_000 });
const context = {
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard' as const,
  beganMs: 0,
  requestBody: Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(400) }] })),
};
const cost = { totalCost: 3_000_000n, promptCost: 1_000_000n, completionCost: 2_000_000n };
const billOf = (usage: Usage) => ({ usage, cost });

type Json = Record<string, unknown>;

const anAnswer = (parts: readonly AnswerPart[], values: Partial<CanonicalAnswer> = {}): CanonicalAnswer => ({
  upstreamId: 'up-1',
  createdAt: 1,
  choices: [{ parts, finishReason: 'stop', nativeFinishReason: 'end_turn' }],
  usage: null,
  ...values,
});

const write = (answer: CanonicalAnswer, usage: Usage = emptyUsage('upstream')): Json =>
  JSON.parse(JSON.stringify(writeAnswer(answer, billOf(usage), context))) as Json;

function eventsIn(frames: readonly AnswerFrame[]): { name: string | null; data: string }[] {
  const events: { name: string | null; data: string }[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ name: event ?? null, data }) });
  parser.feed(joinFrames(frames).toString());
  return events;
}

function stream(events: readonly AnswerEvent[], usage: Usage): { name: string | null; data: string }[] {
  const writer = new MessagesStreamWriter(context);
  return eventsIn([...events.flatMap((event) => writer.write(event)), ...writer.complete(billOf(usage))]);
}

type Block = Record<string, string> & { citations: unknown[] | null };

/** What a client does with each delta of a block. */
const GROW: Readonly<Record<string, (block: Block, delta: Json) => object>> = {
  text_delta: ({ text }, delta) => ({ text: text + String(delta['text']) }),
  thinking_delta: ({ thinking }, delta) => ({ thinking: thinking + String(delta['thinking']) }),
  signature_delta: (_block, delta) => ({ signature: delta['signature'] }),
  citations_delta: ({ citations }, delta) => ({ citations: [...(citations ?? []), delta['citation']] }),
  input_json_delta: ({ written = '' }, delta) => ({ written: written + String(delta['partial_json']) }),
};

/** Puts a stream together as clients do. */
function assembled(events: readonly { name: string | null; data: string }[]): Json {
  let message: Json = {};
  const content: Block[] = [];
  const open = new Set<number>();
  const on: Record<string, (event: Json & { index: number; delta: Json }) => void> = {
    message_start: (event) => (message = event['message'] as Json),
    content_block_start: ({ index, content_block: block }) => {
      expect(index).toBe(content.length);
      open.add(index);
      content.push(block as Block);
    },
    content_block_delta: ({ index, delta }) => {
      expect(open).toContain(index);
      Object.assign(content[index]!, GROW[String(delta['type'])]!(content[index]!, delta));
    },
    content_block_stop: ({ index }) => open.delete(index),
    message_delta: ({ delta, usage }) => (message = { ...message, ...delta, usage }),
    message_stop: () => expect(open.size).toBe(0),
  };
  for (const { name, data } of events) {
    const event = JSON.parse(data) as Json & { index: number; delta: Json };
    expect(event['type']).toBe(name);
    on[name!]!(event);
  }
  const blocks = content.map(({ written = '', ...block }) =>
    block['type'] === 'tool_use' ? { ...block, input: toToolInput(written) } : block,
  );
  return { ...message, content: blocks };
}

/** What a message can hold of a part. */
function kept(part: AnswerPart): AnswerPart[] {
  switch (part.type) {
    case 'generated-image':
    case 'server-tool':
      return [];
    case 'refusal':
      return [{ type: 'text', text: part.text }];
    case 'text':
      return [
        {
          ...part,
          ...(part.annotations && {
            annotations: part.annotations.map((each) => ({
              ...each,
              startIndex: 0,
              endIndex: part.text.length,
              content: each.content ?? '',
            })),
          }),
        },
      ];
    case 'tool-call':
      return [{ ...part, arguments: part.arguments === '' ? '{}' : part.arguments }];
    case 'reasoning':
      return [part];
  }
}

const anyOwnThought: fc.Arbitrary<ReasoningPart> = anyReasoningPart.map(({ text = 't', signature = 's', encrypted }) =>
  encrypted === undefined
    ? { type: 'reasoning', text, signature, format: 'anthropic-claude-v1' }
    : { type: 'reasoning', encrypted, format: 'anthropic-claude-v1' },
);
const textual = (usage: Usage): Usage => ({ ...usage, audioPromptTokens: 0, audioCompletionTokens: 0 });

describe('round trips of answers', () => {
  it('keep every part that a message can hold', () => {
    fc.assert(
      fc.property(anyPartSequence, (parts) => {
        const read = readAnswer(write(anAnswer(parts)), endpoint);
        expect(read.choices[0]!.parts).toEqual(parts.flatMap(kept));
      }),
      { numRuns: 300 },
    );
  });

  it('say the same streamed as whole, however the text is cut', () => {
    fc.assert(
      fc.property(anyPartSequence, anyUsage, fc.integer({ min: 1, max: 5 }), (parts, usage, size) => {
        const events = eventsOf(parts, usage, size);
        const whole = write(anAnswer(parts), usage);
        expect(assembled(stream(events, usage))).toEqual(whole);
      }),
      { numRuns: 300 },
    );
  });

  it('keep what an upstream of messages streams', () => {
    const anyParts = fc.array(fc.oneof(anyOwnThought, anyAnswerText, anyToolCall), { maxLength: 5 });
    fc.assert(
      fc.property(anyParts, anyUsage, fc.integer({ min: 1, max: 5 }), (parts, usage, size) => {
        const reader = new MessagesStreamReader(endpoint);
        const sent = stream(eventsOf(parts, usage, size), usage);
        const folded = foldAnswer([...sent.flatMap((event) => reader.read(event)), ...reader.end()]);
        expect(folded).toEqual({
          upstreamId: 'gen-1-abc',
          createdAt: null,
          parts: parts.flatMap(kept),
          logprobs: [],
          usage: textual(usage),
          ...(parts.some(({ type }) => type === 'tool-call')
            ? { finishReason: 'tool_calls', nativeFinishReason: 'tool_use' }
            : { finishReason: 'stop', nativeFinishReason: 'end_turn' }),
        });
      }),
      { numRuns: 300 },
    );
  });

  it('keep the usage', () => {
    fc.assert(
      fc.property(anyUsage, (usage) => {
        expect(readAnswer(write(anAnswer([]), usage), endpoint).usage).toEqual(textual(usage));
      }),
    );
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['compaction', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
  ] as const)('keep the reason %s', (nativeFinishReason, finishReason) => {
    const choice = { parts: [], finishReason, nativeFinishReason, stopSequence: 'END' };
    expect(readAnswer(write(anAnswer([], { choices: [choice] })), endpoint).choices).toEqual([choice]);
  });

  it.each(['default', 'priority', 'batch'])('keep the tier %s', (serviceTier) => {
    expect(readAnswer(write(anAnswer([], { serviceTier })), endpoint).serviceTier).toBe(serviceTier);
  });
});

describe('an answer that is written as a message', () => {
  it('has our names, all members of a message, and the bill', () => {
    const usage = {
      ...emptyUsage('upstream'),
      promptTokens: 100,
      cachedTokens: 60,
      cacheWriteTokens: 30,
      completionTokens: 7,
      reasoningTokens: 5,
    };
    expect(write(anAnswer([{ type: 'tool-call', id: 'a.b', name: 'now', arguments: '{"a":1}' }]), usage)).toEqual({
      id: 'gen-1-abc',
      type: 'message',
      role: 'assistant',
      model: 'acme/large',
      provider: 'Acme',
      container: null,
      content: [
        {
          type: 'tool_use',
          id: expect.stringMatching(/^call_[0-9a-f]{32}$/),
          name: 'now',
          input: { a: 1 },
          caller: { type: 'direct' },
        },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      stop_details: null,
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 30,
        cache_read_input_tokens: 60,
        cache_creation: null,
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 5 },
        server_tool_use: null,
        inference_geo: null,
        service_tier: 'standard',
        cost: 0.000003,
        cost_details: {
          upstream_inference_cost: null,
          upstream_inference_prompt_cost: 0.000001,
          upstream_inference_completions_cost: 0.000002,
        },
        is_byok: false,
      },
    });
  });

  it.each([
    ['stop', 'stop', undefined, 'end_turn'],
    ['stop', 'eos', 'END', 'stop_sequence'],
    ['length', 'length', undefined, 'max_tokens'],
    ['tool_calls', 'tool_calls', undefined, 'tool_use'],
    ['content_filter', 'SAFETY', undefined, 'refusal'],
    ['error', null, undefined, null],
    ['length', 'end_turn', undefined, 'max_tokens'],
  ] as const)('tells %s (%s) in the words of messages', (finishReason, nativeFinishReason, stopSequence, told) => {
    const choice = { parts: [], finishReason, nativeFinishReason, ...(stopSequence && { stopSequence }) };
    const message = write(anAnswer([], { choices: [choice] }));
    expect(message['stop_reason']).toBe(told);
    expect(message['stop_details']).toEqual(
      told === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null,
    );
  });
});

describe('calls after which an upstream just stops', () => {
  const call = { type: 'tool-call' as const, id: 'toolu_1', name: 'look', arguments: '{}' };

  it('are what the message stopped for', () => {
    const choice = { parts: [call], finishReason: 'stop' as const, nativeFinishReason: 'stop' };
    expect(write(anAnswer([], { choices: [choice] }))).toMatchObject({ stop_reason: 'tool_use' });
    const events = stream(
      [
        { type: 'part-start', part: 0, kind: 'tool-call', id: call.id, name: call.name },
        { type: 'part-end', part: 0 },
        { type: 'finish', finishReason: 'stop', nativeFinishReason: 'stop' },
      ],
      emptyUsage('upstream'),
    );
    expect(JSON.parse(events.at(-2)!.data)).toMatchObject({ delta: { stop_reason: 'tool_use' } });
  });
});

describe(MessagesStreamWriter.name, () => {
  it('counts the prompt at the start as well as it can', () => {
    const writer = new MessagesStreamWriter(context);
    const [event] = eventsIn(writer.write({ type: 'start', upstreamId: 'up-1', createdAt: null }));
    expect(JSON.parse(event!.data)).toMatchObject({
      type: 'message_start',
      message: { id: 'gen-1-abc', content: [], stop_reason: null, usage: { input_tokens: 93, output_tokens: 0 } },
    });
    const knowing = new MessagesStreamWriter(context);
    const usage = { ...emptyUsage('upstream'), promptTokens: 50, cachedTokens: 20 };
    expect(knowing.write({ type: 'usage', usage })).toEqual([]);
    const [later] = eventsIn(knowing.write({ type: 'start', upstreamId: null, createdAt: null }));
    expect(JSON.parse(later!.data)).toMatchObject({
      message: { usage: { input_tokens: 30, cache_read_input_tokens: 20 } },
    });
  });

  it('closes what is still open', () => {
    const events: AnswerEvent[] = [
      { type: 'start', upstreamId: null, createdAt: null },
      { type: 'part-start', part: 0, kind: 'text' },
      { type: 'text-delta', part: 0, text: 'Hel' },
    ];
    expect(stream(events, emptyUsage('partial')).map(({ name }) => name)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('tells parts apart that are written at the same time', () => {
    const call = (part: number): AnswerEvent => ({
      type: 'part-start',
      part,
      kind: 'tool-call',
      id: `c${part}`,
      name: 'now',
    });
    const args = (part: number, text: string): AnswerEvent => ({ type: 'tool-arguments-delta', part, arguments: text });
    const events = [call(0), call(1), args(0, '{"a'), args(1, '{}'), args(0, '":1}')];
    expect(assembled(stream(events, emptyUsage('upstream')))['content']).toMatchObject([
      { input: { a: 1 } },
      { input: {} },
    ]);
  });

  it('is an error event and nothing else where the answer breaks', () => {
    const writer = new MessagesStreamWriter(context);
    const error = new AppError('server', 'Out of cheese', { internal: 'secret' });
    const [event, ...rest] = eventsIn(writer.fail(error, billOf(emptyUsage('partial'))));
    expect(rest).toEqual([]);
    expect(event).toMatchObject({ name: 'error' });
    expect(JSON.parse(event!.data)).toEqual({
      type: 'error',
      error: { type: 'api_error', message: 'Internal error', error_type: 'server' },
    });
  });
});

describe('a message that is read', () => {
  const message = (values: Json): Json => ({ id: 'msg_1', content: [], stop_reason: 'end_turn', ...values });

  it('leaves out what tools of the upstream did, whole and streamed', () => {
    const blocks = [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
      { type: 'text', text: 'Found' },
    ];
    const { choices, units } = readAnswer(
      message({
        content: blocks,
        usage: { input_tokens: 1, output_tokens: 1, server_tool_use: { web_search_requests: 1 } },
      }),
      endpoint,
    );
    expect(choices[0]!.parts).toEqual([{ type: 'text', text: 'Found' }]);
    expect(units).toEqual({ webSearches: 1 });
    const reader = new MessagesStreamReader(endpoint);
    const read = (event: Json) => reader.read({ name: null, data: JSON.stringify(event) });
    const events = [
      ...read({ type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 1, output_tokens: 1 } } }),
      ...blocks.flatMap((content_block, index) => [
        ...read({ type: 'content_block_start', index, content_block }),
        ...read({
          type: 'content_block_delta',
          index,
          delta: { type: 'input_json_delta', partial_json: index === 2 ? '' : '{}' },
        }),
        ...read({ type: 'content_block_stop', index }),
      ]),
      ...read({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } }),
      ...read({ type: 'message_stop' }),
      ...read({ type: 'message_stop' }),
    ];
    expect(foldAnswer(events)).toMatchObject({
      parts: [{ type: 'text', text: 'Found' }],
      usage: { promptTokens: 1, completionTokens: 3 },
    });
  });

  it('brings its arguments once, wherever they stand', () => {
    const reader = new MessagesStreamReader(endpoint);
    const read = (event: Json) => reader.read({ name: null, data: JSON.stringify(event) });
    const content_block = { type: 'tool_use', id: 'c', name: 'now', input: { a: 1 } };
    const events = [
      ...read({ type: 'message_start', message: {} }),
      ...read({ type: 'content_block_start', index: 0, content_block }),
      ...read({ type: 'message_delta', delta: { stop_reason: 'tool_use' } }),
      ...reader.end(),
    ];
    expect(foldAnswer(events)).toMatchObject({
      parts: [{ type: 'tool-call', arguments: '{"a":1}' }],
      usage: null,
      finishReason: 'tool_calls',
    });
  });

  it('explains a refusal in which nothing is said', () => {
    const stop_details = { type: 'refusal', category: 'cyber', explanation: 'Not this' };
    const { choices } = readAnswer(message({ stop_reason: 'refusal', stop_details }), endpoint);
    expect(choices).toMatchObject([{ parts: [{ type: 'refusal', text: 'Not this' }], finishReason: 'content_filter' }]);
    const reader = new MessagesStreamReader(endpoint);
    const read = (event: Json) => reader.read({ name: null, data: JSON.stringify(event) });
    const events = [
      ...read({ type: 'message_start', message: {} }),
      ...read({ type: 'message_delta', delta: { stop_reason: 'refusal', stop_details } }),
      ...read({ type: 'message_stop' }),
    ];
    expect(foldAnswer(events).parts).toEqual([{ type: 'refusal', text: 'Not this' }]);
  });

  it('is billed by the hour where the cache keeps it so long', () => {
    const usage = {
      input_tokens: 1,
      output_tokens: 1,
      cache_creation_input_tokens: 9,
      cache_creation: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 7 },
    };
    expect(readAnswer(message({ usage }), endpoint)).toMatchObject({
      usage: { promptTokens: 10, cacheWriteTokens: 9 },
      units: { cacheWrite1hTokens: 7 },
    });
  });

  it('charges a caller of another dialect for it too, whole and streamed', async () => {
    const priced = anEndpoint({
      apis: ['messages'],
      pricing: {
        prompt: parseRate('0'),
        completion: parseRate('0'),
        inputCacheWrite: parseRate('0.000001'),
        inputCacheWrite1h: parseRate('0.000002'),
      },
    });
    const usage = {
      input_tokens: 1,
      output_tokens: 1,
      cache_creation_input_tokens: 9,
      cache_creation: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 7 },
    };
    const pair = { caller: openAiChatTranslation.caller, upstream: anthropicMessagesTranslation.upstream };
    const asked = { ...context, endpoint: priced };
    const whole = message({ content: [{ type: 'text', text: 'Hi' }], usage });
    expect(translateAnswer(Buffer.from(JSON.stringify(whole)), asked, pair).cost.totalCost).toBe(16_000_000n);

    const events = [
      { type: 'message_start', message: { usage } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ];
    const body = [Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))];
    const upstream = {
      read: async () => body.shift() ?? null,
      leave: () => 0,
      cancel: () => undefined,
      discard: () => undefined,
    };
    const ends = { reader: pair.upstream.readStream(priced), writer: pair.caller.writeStream(asked) };
    const relayed = await TranslatedStream.open(upstream, asked, ends);
    expect(await textOf(relayed)).not.toBe('');
    expect((await relayed.outcome).cost.totalCost).toBe(16_000_000n);
  });

  it('keeps a count whose other one is missing, and has no usage where both are', () => {
    const { usage } = readAnswer(message({ usage: { output_tokens: 1 } }), endpoint);
    expect(usage).toMatchObject({ completionTokens: 1, unreported: 'prompt' });
    expect(readAnswer(message({ usage: { cache_read_input_tokens: 1 } }), endpoint).usage).toBeNull();
  });

  it.each([
    [{ type: 'error', error: { type: 'rate_limit_error', message: 'x' } }, 'rate_limit_exceeded'],
    [{ type: 'error', error: { type: 'permission_error', message: 'x' } }, 'provider_unavailable'],
    [{ id: 'msg_1' }, 'provider_unavailable'],
    [{ content: [{ type: 'text', text: 'Hel' }], error: { type: 'overloaded_error' } }, 'provider_overloaded'],
    [[], 'provider_unavailable'],
    [null, 'provider_unavailable'],
  ])('is an error when it is %j', (body, code) => {
    expect(() => readAnswer(body, endpoint)).toThrow(expect.objectContaining({ code }) as Error);
  });

  it.each<[string, string[], string]>([
    ['no JSON', ['{"type":'], 'provider_unavailable'],
    ['no object', ['7'], 'provider_unavailable'],
    ['content before the message', ['{"type":"content_block_stop","index":0}'], 'provider_unavailable'],
    ['a message that is none', ['{"type":"message_start"}'], 'provider_unavailable'],
    [
      'a delta of no block',
      ['{"type":"message_start","message":{}}', '{"type":"content_block_delta","index":3,"delta":{}}'],
      'provider_unavailable',
    ],
    [
      'a block of no number',
      ['{"type":"message_start","message":{}}', '{"type":"content_block_start","content_block":{"type":"text"}}'],
      'provider_unavailable',
    ],
    ['an overload', ['{"type":"error","error":{"type":"overloaded_error","message":"x"}}'], 'provider_overloaded'],
    ['an error without a type', ['{"error":{"type":"overloaded_error","message":"x"}}'], 'provider_overloaded'],
    [
      'an error without a type after its start',
      ['{"type":"message_start","message":{}}', '{"error":{"type":"overloaded_error","message":"x"}}'],
      'provider_overloaded',
    ],
  ])('throws for a stream with %s', (_what, events, code) => {
    const reader = new MessagesStreamReader(anEndpoint({ provider: aProvider() }));
    const read = () => events.map((data) => reader.read({ name: null, data }));
    expect(read).toThrow(expect.objectContaining({ code }) as Error);
  });

  it('throws for a stream that is cut', () => {
    const reader = new MessagesStreamReader(endpoint);
    reader.read({ name: 'message_start', data: '{"type":"message_start","message":{}}' });
    expect(() => reader.end()).toThrow(expect.objectContaining({ code: 'provider_unavailable' }) as Error);
  });
});
