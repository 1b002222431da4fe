import fc from 'fast-check';
import type { AnswerPart } from '../../model/canonical-answer';
import type { CanonicalRequest } from '../../model/canonical-request';
import type { Message, Part } from '../../model/conversation';
import { LossLog } from '../../model/loss-report';
import type { Usage } from '../../pricing/usage';
import { anEndpoint, anyId, anyName, anyRequest, anyText, foldAnswer } from '../../testing';
import type { UpstreamEvent } from '../translation';
import { cohereChatTranslation } from '.';

type Json = Record<string, never>;

const plain = anEndpoint();
const thinker = anEndpoint({ capabilities: { chat: { thinking: true } } });

const aRequest = (values: Partial<CanonicalRequest> = {}): CanonicalRequest => ({
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
  tools: [],
  sampling: {},
  stopSequences: [],
  unread: [],
  ...values,
});

const write = (values: Partial<CanonicalRequest>, { endpoint = plain, isStream = false } = {}) => {
  const log = new LossLog();
  const body = cohereChatTranslation.writeRequest(aRequest(values), endpoint, isStream, log);
  return { body: JSON.parse(JSON.stringify(body)) as Json, ...log.report() };
};
const user = (...parts: Part[]): Message => ({ role: 'user', parts });
const assistant = (...parts: Part[]): Message => ({ role: 'assistant', parts });
const text = (words: string): Part => ({ type: 'text', text: words });
const call = (id: string, args = '{}'): Part => ({ type: 'tool-call', id, name: 'look_up', arguments: args });
const file = (mediaType: string | null, words: string, filename?: string): Part => ({
  type: 'file',
  source: { kind: 'base64', mediaType, data: Buffer.from(words).toString('base64') },
  ...(filename !== undefined && { filename }),
});
const result = (callId: string, ...parts: Part[]): Message => ({
  role: 'tool',
  parts: [{ type: 'tool-result', callId, parts: parts as never }],
});
const tool = (name: string, strict?: boolean) => ({ name, parameters: null, ...(strict !== undefined && { strict }) });

describe('a conversation for Cohere', () => {
  const messagesOf = (messages: Message[], endpoint = plain) => {
    const { body, ...losses } = write({ messages }, { endpoint });
    return { messages: body['messages'], documents: body['documents'], ...losses };
  };

  it('says that a picture goes on without the name of its file, and keeps that of a text', () => {
    const losses = { dropped: [], approximated: ['messages.file.filename'] };
    expect(messagesOf([user(file('image/gif', 'GIF8', 'cat.gif'))])).toMatchObject(losses);
    expect(messagesOf([user(file('text/plain', 'A', 'a.txt'))])).toMatchObject({ dropped: [], approximated: [] });
  });

  it('begins with all instructions', () => {
    const [system, developer]: Message[] = [
      { role: 'system', parts: [text('Be brief.')] },
      { role: 'developer', parts: [text('Be kind.')] },
    ];
    expect(messagesOf([system!, user(text('Hello'))])).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
      approximated: [],
    });
    expect(messagesOf([system!, user(text('Hello')), developer!])).toMatchObject({
      messages: [{ role: 'system', content: [text('Be brief.'), text('Be kind.')] }, { role: 'user' }],
      approximated: ['messages.role'],
    });
  });

  it('shows pictures, also those that came as files', () => {
    const picture: Part = {
      type: 'image',
      source: { kind: 'url', url: 'https://a.example/b.png' },
      detail: 'original',
    };
    const { messages, approximated } = messagesOf([user(text('See'), picture, file('image/gif', 'GIF8'))]);
    const content = [
      text('See'),
      { type: 'image_url', image_url: { url: 'https://a.example/b.png', detail: 'high' } },
      { type: 'image_url', image_url: { url: 'data:image/gif;base64,R0lGOA==' } },
    ];
    expect(messages).toEqual([{ role: 'user', content }]);
    expect(approximated).toEqual(['detail']);
  });

  it('hands text files over as documents, and no others', () => {
    const files = [file('text/csv', 'a;b', 'a.csv'), file(null, '# b', 'b.md'), file('application/pdf', '%PDF')];
    const { messages, documents, dropped } = messagesOf([user(text('Read'), ...files)]);
    expect(messages).toEqual([{ role: 'user', content: 'Read' }]);
    expect(documents).toEqual([
      { id: 'document-0', data: { text: 'a;b', title: 'a.csv' } },
      { id: 'document-1', data: { text: '# b', title: 'b.md' } },
    ]);
    expect(dropped).toEqual(['messages.file']);
  });

  it('has calls side by side, the words before them as their plan, and their results', () => {
    const { messages, dropped } = messagesOf([
      user(text('Hello')),
      assistant(text('I look.'), call('a', '{"x":1}'), call('b', '')),
      result('a', text('one'), text('two')),
      result('b', file('application/json', '{"y":2}', 'y.json')),
      user(text('Go on')),
    ]);
    const called = (id: string, args: string) => ({
      id,
      type: 'function',
      function: { name: 'look_up', arguments: args },
    });
    const document = { data: { text: '{"y":2}', title: 'y.json' } };
    expect(messages).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', tool_plan: 'I look.', tool_calls: [called('a', '{"x":1}'), called('b', '{}')] },
      { role: 'tool', tool_call_id: 'a', content: [text('one'), text('two')] },
      { role: 'tool', tool_call_id: 'b', content: [{ type: 'document', document }] },
      { role: 'user', content: 'Go on' },
    ]);
    expect(dropped).toEqual([]);
  });

  it('shows pictures of results behind the last of them', () => {
    const picture: Part = { type: 'image', source: { kind: 'url', url: 'https://a.example/b.png' } };
    const { messages, approximated } = messagesOf([
      assistant(call('a'), call('b')),
      result('a', picture),
      result('b', text('two')),
    ]);
    expect(messages).toMatchObject([
      { role: 'assistant' },
      { role: 'tool', tool_call_id: 'a', content: '' },
      { role: 'tool', tool_call_id: 'b', content: 'two' },
      { role: 'user', content: [{ type: 'image_url' }] },
    ]);
    expect(approximated).toEqual(['messages.tool_result']);
  });

  it('gives thoughts back to a model that thinks, unless they are proven to be those of another', () => {
    const own: Part = { type: 'reasoning', text: 'Hm.' };
    const foreign: Part = { type: 'reasoning', text: 'Ha.', signature: 's', format: 'anthropic-claude-v1' };
    expect(messagesOf([assistant(own, foreign, text('Yes.'))], thinker)).toMatchObject({
      messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.' }, text('Yes.')] }],
      dropped: ['reasoning_details'],
    });
    expect(messagesOf([assistant(own, text('Yes.'))])).toMatchObject({
      messages: [{ role: 'assistant', content: 'Yes.' }],
      dropped: ['reasoning'],
    });
  });
});

describe('a request for Cohere', () => {
  it('has the settings under their names here', () => {
    const { body, dropped, approximated } = write(
      {
        sampling: { temperature: 0.5, topP: 0.9, topK: 40, frequencyPenalty: 0.3, presencePenalty: 0, seed: 7 },
        maxOutputTokens: 99,
        stopSequences: ['a', 'b'],
        topLogprobs: 0,
        responseFormat: { type: 'json-schema', name: 'x', schema: { type: 'object' } },
        tools: [{ name: 'look_up', description: 'Looks up.', parameters: { type: 'object' }, strict: true }],
        toolChoice: { type: 'required' },
      },
      { isStream: true },
    );
    expect(body).toEqual({
      model: 'acme-large-2026',
      stream: true,
      messages: [{ role: 'user', content: 'Hello' }],
      tools: [
        {
          type: 'function',
          function: { name: 'look_up', description: 'Looks up.', parameters: { type: 'object' } },
        },
      ],
      tool_choice: 'REQUIRED',
      strict_tools: true,
      response_format: { type: 'json_object', json_schema: { type: 'object' } },
      max_tokens: 99,
      stop_sequences: ['a', 'b'],
      temperature: 0.5,
      p: 0.9,
      k: 40,
      frequency_penalty: 0.3,
      seed: 7,
      logprobs: true,
    });
    expect({ dropped, approximated }).toEqual({ dropped: [], approximated: [] });
  });

  it.each<[string, Partial<CanonicalRequest>, object, string]>([
    ['a temperature above 1', { sampling: { temperature: 1.5 } }, { temperature: 1 }, 'temperature'],
    ['the whole probability mass', { sampling: { topP: 1 } }, { p: 0.99 }, 'top_p'],
    ['a negative penalty', { sampling: { presencePenalty: -1 } }, {}, 'presence_penalty'],
    ['a sixth stop', { stopSequences: [...'abcdef'] }, { stop_sequences: [...'abcde'] }, 'stop'],
    [
      'one of two tools',
      { tools: [tool('a'), tool('b')], toolChoice: { type: 'tool', name: 'b' } },
      { tools: [{ type: 'function', function: { name: 'b' } }], tool_choice: 'REQUIRED' },
      'tool_choice',
    ],
    ['strictness of some tools', { tools: [tool('a', true), tool('b')] }, { strict_tools: true }, 'strict'],
  ])('comes near to %s', (_what, values, expected, member) => {
    const { body, approximated } = write(values);
    expect(body).toMatchObject(expected);
    expect(approximated).toEqual([member]);
  });

  it.each<[string, Partial<CanonicalRequest>]>([
    ['n', { choices: 2 }],
    ['modalities', { outputModalities: ['text', 'audio'] }],
    ['verbosity', { verbosity: 'low' }],
    ['prompt_cache_key', { promptCacheKey: 'k' }],
    ['user', { endUser: 'hash' }],
    ['metadata', { metadata: { a: 'b' } }],
    ['service_tier', { serviceTier: 'flex' }],
    ['cache_control', { cache: {} }],
    ['logit_bias', { sampling: { logitBias: { 1: 2 } } }],
    ['min_p', { sampling: { minP: 0.1 } }],
    ['presence_penalty', { sampling: { frequencyPenalty: 0.5, presencePenalty: 0.5 } }],
    ['top_logprobs', { topLogprobs: 2 }],
    ['parallel_tool_calls', { tools: [tool('a')], areParallelToolCallsAllowed: false }],
    ['tool_choice', { toolChoice: { type: 'required' } }],
    ['reasoning', { reasoning: { effort: 'high' } }],
  ])('says that %s is lost', (member, values) => {
    expect(write(values)).toMatchObject({ dropped: [member], approximated: [] });
  });

  it.each<[CanonicalRequest['reasoning'], unknown, string[]]>([
    [{ isEnabled: true }, { type: 'enabled' }, []],
    [{ maxTokens: 500 }, { type: 'enabled', token_budget: 500 }, []],
    [{ effort: 'medium' }, { type: 'enabled', token_budget: 500 }, ['reasoning.effort']],
    [{ effort: 'none' }, { type: 'disabled' }, []],
    [{ isEnabled: false }, { type: 'disabled' }, []],
    [{ isHidden: true }, undefined, []],
  ])('lets a model think as %j says', (reasoning, thinking, losses) => {
    const { body, approximated } = write({ reasoning, maxOutputTokens: 1_000 }, { endpoint: thinker });
    expect(body['thinking']).toEqual(thinking);
    expect(approximated).toEqual(losses);
  });

  it('loses nothing with a wish not to see thoughts that are not there', () => {
    expect(write({ reasoning: { isHidden: true } })).toMatchObject({ dropped: [], approximated: [] });
    expect(write({ reasoning: { effort: 'none' } })).toMatchObject({ dropped: [], approximated: [] });
  });

  it('makes no model call a tool that cannot be made to', () => {
    const endpoint = anEndpoint({ capabilities: { chat: { tool_choice: false } } });
    const { body, dropped } = write({ tools: [tool('a')], toolChoice: { type: 'required' } }, { endpoint });
    expect(body).not.toHaveProperty('tool_choice');
    expect(dropped).toEqual(['tool_choice']);
    expect(write({ tools: [tool('a')], toolChoice: { type: 'auto' } }, { endpoint }).dropped).toEqual([]);
  });

  it('is as safe as the catalogue says, where the upstream lets it', () => {
    const endpoint = anEndpoint({ capabilities: { chat: { safety_mode: 'STRICT' } } });
    expect(write({}, { endpoint }).body['safety_mode']).toBe('STRICT');
    expect(write({ tools: [tool('a')] }, { endpoint }).body).not.toHaveProperty('safety_mode');
  });

  it('can be made of any request, and stays within the bounds of the upstream', () => {
    fc.assert(
      fc.property(anyRequest, fc.boolean(), (request, isStream) => {
        const { body } = write(request, { endpoint: thinker, isStream });
        const {
          messages,
          temperature = 0,
          p = 0.5,
          k = 0,
          stop_sequences: stops = [],
        } = body as unknown as {
          messages: { role: string }[];
          temperature?: number;
          p?: number;
          k?: number;
          stop_sequences?: string[];
        };
        expect(messages.slice(1).every(({ role }) => role !== 'system')).toBe(true);
        expect([temperature >= 0 && temperature <= 1, p >= 0.01 && p <= 0.99, k <= 500]).toEqual([true, true, true]);
        expect(stops.length).toBeLessThanOrEqual(5);
      }),
    );
  });

  it('says everything that was said and done', () => {
    const anyTurn = fc.oneof(
      anyText.map((words) => ({ message: user(text(words)), said: [words] })),
      fc.tuple(anyText, fc.uniqueArray(anyId, { minLength: 1, maxLength: 3 })).map(([words, ids]) => ({
        message: assistant(text(words), ...ids.map((id) => call(id))),
        said: [words, ...ids],
      })),
      fc.tuple(anyId, anyText).map(([id, words]) => ({ message: result(id, text(words)), said: [id, words] })),
    );
    fc.assert(
      fc.property(fc.array(anyTurn, { minLength: 1, maxLength: 6 }), (turns) => {
        const { body, dropped, approximated } = write({ messages: turns.map(({ message }) => message) });
        const said = (body['messages'] as unknown as Record<string, never>[]).flatMap((message) => [
          ...(message['tool_plan'] === undefined ? [] : [message['tool_plan']]),
          ...((message['tool_calls'] ?? []) as { id: string }[]).map(({ id }) => id),
          ...(message['tool_call_id'] === undefined ? [] : [message['tool_call_id']]),
          ...(message['content'] === undefined ? [] : [message['content']]),
        ]);
        expect(said).toEqual(turns.flatMap((turn) => turn.said));
        expect({ dropped, approximated }).toEqual({ dropped: [], approximated: [] });
      }),
    );
  });
});

const billed = (input: number, output: number) => ({
  billed_units: { input_tokens: input, output_tokens: output },
  tokens: { input_tokens: input + 500, output_tokens: output + 5 },
  cached_tokens: 448,
});
const answer = (message: object, finish = 'COMPLETE'): object => ({
  id: 'up-1',
  message: { role: 'assistant', ...message },
  finish_reason: finish,
  usage: billed(5, 2),
});
const read = (body: object) => cohereChatTranslation.readAnswer(JSON.parse(JSON.stringify(body)), plain);

const event = (type: string, members: object = {}): UpstreamEvent => ({
  name: type,
  data: JSON.stringify({ type, ...members }),
});
const delta = (type: string, index: number, message: object, more: object = {}): UpstreamEvent =>
  event(type, { index, delta: { message }, ...more });
const start = event('message-start', { id: 'up-1', delta: { message: { role: 'assistant' } } });
const end = (finish = 'COMPLETE', usage: object = billed(5, 2)): UpstreamEvent =>
  event('message-end', { delta: { finish_reason: finish, usage } });
const stream = (...events: UpstreamEvent[]) => {
  const reader = cohereChatTranslation.readStream(plain);
  return foldAnswer([...events.flatMap((one) => reader.read(one)), ...reader.end()]);
};
const unavailable = expect.objectContaining({ code: 'provider_unavailable' }) as Error;

const SOURCE = { url: 'https://a.example/b', title: 'B', text: 'All of it.' };
const cited = (start_: number, end_: number, words: string, more: object = {}) => ({
  start: start_,
  end: end_,
  text: words,
  sources: [
    { type: 'document', id: 'd', document: SOURCE },
    { type: 'tool', id: 't', tool_output: { rows: 7 } },
  ],
  type: 'TEXT_CONTENT',
  ...more,
});
const citation = (startIndex: number, endIndex: number) => {
  const { url, title, text: content } = SOURCE;
  return { type: 'url-citation', url, title, startIndex, endIndex, content };
};

describe('an answer of Cohere', () => {
  it('is charged what the provider bills', () => {
    expect(read(answer({ content: [text('Hi')] }))).toMatchObject({
      upstreamId: 'up-1',
      usage: { promptTokens: 5, completionTokens: 2, totalTokens: 7, cachedTokens: 0, provenance: 'upstream' },
    });
    const { billed_units: _none, ...usage } = billed(5, 2);
    expect(read({ ...answer({ content: [] }), usage }).usage).toMatchObject({
      promptTokens: 505,
      completionTokens: 7,
    });
    expect(read({ ...answer({ content: [] }), usage: {} }).usage).toBeNull();
  });

  it.each([
    ['COMPLETE', 'stop'],
    ['STOP_SEQUENCE', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['TOOL_CALL', 'tool_calls'],
    ['ERROR', 'error'],
    ['TIMEOUT', 'error'],
    ['SOMETHING_NEW', 'stop'],
  ])('ends with %s as %s', (native, finishReason) => {
    expect(read(answer({ content: [] }, native)).choices[0]).toMatchObject({
      finishReason,
      nativeFinishReason: native,
    });
  });

  it('has thoughts, words, the plan and the calls, in this order', () => {
    const called = { id: 'a', type: 'function', function: { name: 'look_up', arguments: 'null' } };
    const message = {
      content: [{ type: 'thinking', thinking: 'Hm.' }],
      tool_plan: 'I look.',
      tool_calls: [called, { ...called, id: 'b', function: { name: 'look_up', arguments: '{"x":1}' } }],
    };
    expect(read(answer(message, 'TOOL_CALL')).choices[0]!.parts).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      text('I look.'),
      call('a', '{}'),
      call('b', '{"x":1}'),
    ]);
  });

  it('tells where it has its words from, as far as that has an address', () => {
    const citations = [
      cited(2, 5, 'are', { content_index: 1 }),
      cited(0, 1, 'I', { type: 'PLAN' }),
      cited(0, 2, 'Hm', { type: 'THINKING_CONTENT' }),
    ];
    const content = [{ type: 'thinking', thinking: 'Hm.' }, text('😀 are you')];
    expect(read(answer({ content, tool_plan: 'I look.', citations })).choices[0]!.parts).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { ...text('😀 are you'), annotations: [citation(3, 6)] },
      { ...text('I look.'), annotations: [citation(0, 1)] },
    ]);
  });

  it('tells how likely its words were', () => {
    const logprobs = [{ text: 'Hi', token_ids: [1, 2], logprobs: [-0.5, -0.25] }];
    expect(read({ ...answer({ content: [text('Hi')] }), logprobs }).choices[0]!.logprobs).toEqual([
      { token: 'Hi', bytes: [72, 105], logprob: -0.75, top: [] },
    ]);
  });

  it.each([[[]], ['x'], [null], [{ message: null }], [{ message: 'out of order' }], [{ error: { message: 'boom' } }]])(
    'is none in %j',
    (body) => {
      expect(() => cohereChatTranslation.readAnswer(body, plain)).toThrow(unavailable);
    },
  );
});

describe('a stream of Cohere', () => {
  it('plans, calls and says what it was called with, even if that is nothing', () => {
    const calls = (members: object) => ({ tool_calls: members });
    const folded = stream(
      start,
      delta('tool-plan-delta', 0, { tool_plan: 'I ' }),
      delta('tool-plan-delta', 0, { tool_plan: 'look.' }),
      ...['null', '', '{"x":1}'].flatMap((args, index) => [
        delta('tool-call-start', index, calls({ id: `c${index}`, function: { name: 'look_up', arguments: '' } })),
        ...[...args].map((letter) => delta('tool-call-delta', index, calls({ function: { arguments: letter } }))),
        event('tool-call-end', { index }),
      ]),
      end('TOOL_CALL'),
    );
    expect(folded).toMatchObject({
      upstreamId: 'up-1',
      parts: [text('I look.'), call('c0'), call('c1'), call('c2', '{"x":1}')],
      usage: { promptTokens: 5, completionTokens: 2 },
      finishReason: 'tool_calls',
      nativeFinishReason: 'TOOL_CALL',
    });
  });

  it('cites within what was just written', () => {
    const citations = cited(2, 5, 'are');
    const folded = stream(
      start,
      delta('content-start', 0, { content: { type: 'thinking', thinking: '' } }),
      delta('content-delta', 0, { content: { thinking: 'Hm.' } }),
      event('content-end', { index: 0 }),
      delta('content-start', 1, { content: { type: 'text', text: '' } }),
      delta('content-delta', 1, { content: { text: '😀 are' } }, { logprobs: { text: '😀 are', logprobs: [-1] } }),
      delta('citation-start', 0, { citations }),
      event('citation-end', { index: 0 }),
      delta('content-delta', 1, { content: { text: ' you' } }),
      event('content-end', { index: 1 }),
      delta('citation-start', 1, { citations: { ...citations, content_index: 1 } }),
      delta('citation-start', 2, { citations: cited(0, 2, 'Hm', { type: 'THINKING_CONTENT' }) }),
      end(),
    );
    expect(folded.parts).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { ...text('😀 are you'), annotations: [citation(3, 6), citation(3, 6)] },
    ]);
    expect(folded.logprobs).toMatchObject([{ token: '😀 are', logprob: -1 }]);
  });

  it.each([
    ['that is cut', [start, delta('content-delta', 0, { content: { text: 'Hi' } })]],
    ['that is empty', []],
    ['of no JSON', [start, { name: null, data: '{"type":' }]],
    ['of no objects', [start, { name: null, data: '[]' }]],
    ['that breaks off with an error', [start, event('error', { message: 'boom' })]],
    ['that ends without a reason', [start, event('message-end', { delta: { usage: billed(5, 2) } })]],
    ['that ends with an error', [start, event('message-end', { delta: { error: 'boom' } })]],
    ['of no type', [start, { name: null, data: '{"message":"boom"}' }]],
  ])('%s is no answer', (_what, events) => {
    expect(() => stream(...events)).toThrow(unavailable);
  });

  it.each([{}, { finish_reason: 'ERROR' }, { finish_reason: 'COMPLETE' }])(
    'charges a stream whose end reports an error with its usage: %j',
    (ending) => {
      const reader = cohereChatTranslation.readStream(plain);
      const last = event('message-end', { delta: { ...ending, error: 'boom', usage: billed(5, 2) } });
      const events = [...reader.read(start), ...reader.read(last), ...reader.end()];
      expect(events.slice(-2)).toEqual([
        expect.objectContaining({ type: 'usage' }),
        expect.objectContaining({ type: 'finish', finishReason: 'error', failure: unavailable }),
      ]);
    },
  );

  it('passes over what it does not know and what comes after the end', () => {
    const done = { name: null, data: '[DONE]' };
    expect(stream(start, event('debug', { prompt: 'x' }), end(), done, event('message-end')).parts).toEqual([]);
  });

  const anyParts: fc.Arbitrary<readonly AnswerPart[]> = fc
    .tuple(
      fc.option(anyText),
      anyText,
      fc.uniqueArray(anyId, { maxLength: 3 }),
      fc.array(fc.constantFrom('{}', '{"a":"null"}', 'nul', 'n'), { minLength: 3, maxLength: 3 }),
    )
    .map(([thought, words, ids, args]) => [
      ...(thought === null ? [] : [{ type: 'reasoning' as const, text: thought }]),
      { type: 'text' as const, text: words },
      ...ids.map((id, i) => ({ type: 'tool-call' as const, id, name: 'look_up', arguments: args[i]! })),
    ]);

  it('adds up to the same as the answer in one piece, however it is cut', () => {
    fc.assert(
      fc.property(anyParts, anyName, fc.integer({ min: 1, max: 4 }), (parts, id, size) => {
        const usage = billed(5, 2);
        const whole = read({ id, message: messageOf(parts), finish_reason: 'COMPLETE', usage }).choices[0]!;
        const streamed = stream(event('message-start', { id }), ...eventsOf(parts, size), end('COMPLETE', usage));
        expect(whole.parts).toEqual(parts);
        expect(streamed.parts).toEqual(parts);
        expect(streamed).toMatchObject({ upstreamId: id, usage: { promptTokens: 5 } as Usage, finishReason: 'stop' });
      }),
    );
  });
});

function pieces(words: string, size: number): string[] {
  return words.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
}

/** The parts of an answer as the upstream writes them whole; words before calls are their plan. */
function messageOf(parts: readonly AnswerPart[]): object {
  const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [wireCall(part)] : []));
  const content = parts.flatMap((part): object[] => {
    if (part.type === 'reasoning') return [{ type: 'thinking', thinking: part.text }];
    return part.type === 'text' && calls.length === 0 ? [text(part.text)] : [];
  });
  const plan = parts.flatMap((part) => (part.type === 'text' && calls.length > 0 ? [part.text] : [])).join('');
  return { role: 'assistant', content, tool_plan: plan, tool_calls: calls };
}

function wireCall({ id, name, arguments: args }: Extract<AnswerPart, { type: 'tool-call' }>): object {
  return { id, type: 'function', function: { name, arguments: args } };
}

/** The same as the upstream streams them. */
function eventsOf(parts: readonly AnswerPart[], size: number): UpstreamEvent[] {
  const isCalling = parts.some(({ type }) => type === 'tool-call');
  return parts.flatMap((part, index) => {
    if (part.type === 'tool-call') {
      const head = { ...wireCall(part), function: { name: part.name, arguments: '' } };
      return [
        delta('tool-call-start', index, { tool_calls: head }),
        ...pieces(part.arguments, size).map((piece) =>
          delta('tool-call-delta', index, { tool_calls: { function: { arguments: piece } } }),
        ),
        event('tool-call-end', { index }),
      ];
    }
    if (part.type === 'text' && isCalling) {
      return pieces(part.text, size).map((piece) => delta('tool-plan-delta', 0, { tool_plan: piece }));
    }
    const [kind, words] = part.type === 'reasoning' ? ['thinking', part.text ?? ''] : ['text', (part as never)['text']];
    return [
      delta('content-start', index, { content: { type: kind, [kind]: '' } }),
      ...pieces(words, size).map((piece) => delta('content-delta', index, { content: { [kind]: piece } })),
      event('content-end', { index }),
    ];
  });
}
