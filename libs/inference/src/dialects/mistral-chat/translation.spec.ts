import fc from 'fast-check';
import type { AnswerPart } from '../../model/canonical-answer';
import type { CanonicalRequest, ReasoningEffort } from '../../model/canonical-request';
import type { Message, Part } from '../../model/conversation';
import { LossLog } from '../../model/loss-report';
import { anEndpoint, anyId, anyRequest, anyText, foldAnswer } from '../../testing';
import { mistralChatTranslation } from '.';
import { toCallId } from './conversation-writer';
import { nearestEffort } from './traits';

type Json = Record<string, never>;

const plain = anEndpoint();
const thinker = anEndpoint({ capabilities: { chat: { reasoning_efforts: ['none', 'high'] } } });

const write = (values: Partial<CanonicalRequest>, { endpoint = plain, isStream = false } = {}) => {
  const log = new LossLog();
  const request: CanonicalRequest = {
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
    tools: [],
    sampling: {},
    stopSequences: [],
    unread: [],
    ...values,
  };
  const body = mistralChatTranslation.writeRequest(request, endpoint, isStream, log);
  return { body: JSON.parse(JSON.stringify(body)) as Json, ...log.report() };
};
const text = (words: string): Part => ({ type: 'text', text: words });
const user = (...parts: Part[]): Message => ({ role: 'user', parts });
const assistant = (...parts: Part[]): Message => ({ role: 'assistant', parts });
const call = (id: string): Part => ({ type: 'tool-call', id, name: 'look_up', arguments: '{}' });
const result = (callId: string, words: string): Message => ({
  role: 'tool',
  parts: [{ type: 'tool-result', callId, parts: [{ type: 'text', text: words }] }],
});

describe('a request for Mistral', () => {
  it('has the settings under their names here', () => {
    const { body, dropped, approximated } = write(
      {
        sampling: { temperature: 0.5, topP: 0.9, seed: 7, frequencyPenalty: 1, presencePenalty: 1 },
        maxOutputTokens: 99,
        stopSequences: ['a'],
        tools: [{ name: 'look_up', parameters: null, strict: true }],
        toolChoice: { type: 'required' },
        areParallelToolCallsAllowed: false,
        metadata: { a: 'b' },
        promptCacheKey: 'k',
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
          function: { name: 'look_up', strict: true, parameters: { type: 'object', properties: {} } },
        },
      ],
      tool_choice: 'any',
      parallel_tool_calls: false,
      temperature: 0.5,
      top_p: 0.9,
      frequency_penalty: 1,
      presence_penalty: 1,
      random_seed: 7,
      max_tokens: 99,
      stop: ['a'],
      prompt_cache_key: 'k',
      metadata: { a: 'b' },
    });
    expect({ dropped, approximated }).toEqual({ dropped: [], approximated: [] });
  });

  it.each<[string, Partial<CanonicalRequest>]>([
    ['logit_bias', { sampling: { logitBias: { 1: 2 } } }],
    ['top_k', { sampling: { topK: 4 } }],
    ['logprobs', { topLogprobs: 0 }],
    ['verbosity', { verbosity: 'low' }],
    ['user', { endUser: 'hash' }],
    ['service_tier', { serviceTier: 'flex' }],
    ['modalities', { outputModalities: ['audio'] }],
    ['reasoning', { reasoning: { effort: 'high' } }],
    ['name', { messages: [{ ...user(text('Hello')), name: 'anna' }] }],
  ])('says that %s is lost, and sends nothing of it', (member, values) => {
    const { body, dropped } = write(values);
    expect(dropped).toEqual([member]);
    expect(body).toEqual(write({}).body);
  });

  it('asks for several answers, but not in a stream, where only one could be read', () => {
    expect(write({ choices: 2 })).toMatchObject({ body: { n: 2 }, dropped: [] });
    expect(write({ choices: 2 }, { isStream: true })).toMatchObject({ dropped: ['n'] });
    expect(write({ choices: 2 }, { isStream: true }).body).not.toHaveProperty('n');
  });

  it('is no hotter than the upstream takes it', () => {
    expect(write({ sampling: { temperature: 2 } })).toMatchObject({
      body: { temperature: 1.5 },
      approximated: ['temperature'],
    });
  });

  it.each<[CanonicalRequest['reasoning'], unknown, string[]]>([
    [{ effort: 'high' }, 'high', []],
    [{ effort: 'low' }, 'high', ['reasoning.effort']],
    [{ effort: 'none' }, 'none', []],
    [{ isEnabled: false }, 'none', []],
    [{ isEnabled: true }, 'high', []],
    [{ maxTokens: 500 }, 'high', ['reasoning.max_tokens']],
    [{ isHidden: true }, undefined, []],
  ])('lets a model think as %j says', (reasoning, effort, losses) => {
    const { body, approximated } = write({ reasoning }, { endpoint: thinker });
    expect(body['reasoning_effort']).toEqual(effort);
    expect(approximated).toEqual(losses);
  });

  it('loses nothing with a wish not to see thoughts that are not there', () => {
    expect(write({ reasoning: { isHidden: true } })).toMatchObject({ dropped: [], approximated: [] });
    expect(write({ reasoning: { effort: 'none' } })).toMatchObject({ dropped: [], approximated: [] });
  });

  it('can be made of any request, with nothing in it that the upstream refuses', () => {
    const taken = new Set(
      (
        'model messages temperature top_p max_tokens stream stop random_seed metadata response_format tools tool_choice ' +
        'presence_penalty frequency_penalty n prompt_cache_key parallel_tool_calls reasoning_effort'
      ).split(' '),
    );
    const takenOfMessages = new Set(['role', 'content', 'tool_calls', 'tool_call_id', 'name', 'prefix']);
    fc.assert(
      fc.property(anyRequest, fc.boolean(), (request, isStream) => {
        const { body } = write(request, { endpoint: thinker, isStream });
        expect(Object.keys(body).filter((name) => !taken.has(name))).toEqual([]);
        const messages = body['messages'] as unknown as Json[];
        expect(messages.flatMap(Object.keys).filter((name) => !takenOfMessages.has(name))).toEqual([]);
        messages.forEach(({ role }, i) => expect([role, messages[i - 1]?.['role']]).not.toEqual(['user', 'tool']));
        const last = messages.at(-1);
        if (last?.['role'] === 'assistant') expect('prefix' in last || 'tool_calls' in last).toBe(true);
      }),
    );
  });
});

describe('a conversation for Mistral', () => {
  const messagesOf = (messages: Message[], endpoint = plain) => {
    const { body, dropped, approximated } = write({ messages }, { endpoint });
    return { messages: body['messages'], dropped, approximated };
  };

  it('ends with what the answer begins with', () => {
    expect(messagesOf([user(text('Hello')), assistant(text('Dear'))]).messages).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Dear', prefix: true },
    ]);
  });

  it('has instructions at the start that the upstream takes behind no turn of the model or of a tool', () => {
    const system = (words: string): Message => ({ role: 'system', parts: [text(words)] });
    const { body, approximated } = write({
      messages: [
        system('A'),
        user(text('Hi')),
        system('B'),
        assistant(call('abcdefghi')),
        result('abcdefghi', 'found'),
        system('C'),
        system('D'),
        assistant(text('Hello')),
        user(text('Go on')),
      ],
    });
    const turns = body['messages'] as unknown as { role: string; content: string }[];
    const order = turns.map(({ role, content }) => (role === 'system' ? content : role));
    expect(order.join(' ')).toBe('A C D user B assistant tool assistant user');
    expect(approximated).toEqual(['messages.role']);
  });

  it('does not end with instructions, which are a question where there is nothing else', () => {
    const system = (words: string): Message => ({ role: 'system', parts: [text(words)] });
    const inOrder = (...messages: Message[]) =>
      write({ messages }).body['messages'] as unknown as { role: string; content: string }[];
    const [a, b, hi] = [
      { role: 'system', content: 'A' },
      { role: 'system', content: 'B' },
      { role: 'user', content: 'Hi' },
    ];
    expect(inOrder(system('A'), user(text('Hi')), system('B'))).toEqual([a, b, hi]);
    expect(inOrder(system('A'))).toEqual([{ role: 'user', content: 'A' }]);
    expect(inOrder(user(text('Hi')), system('A'), user(text('Hi')))).toEqual([hi, a, hi]);
  });

  it('pauses between the result of a tool and the words of a user', () => {
    const { messages, approximated } = messagesOf([
      assistant(call('abcdefgh1')),
      result('abcdefgh1', 'x'),
      user(text('y')),
    ]);
    expect(messages).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'abcdefgh1' }] },
      { role: 'tool', tool_call_id: 'abcdefgh1', content: 'x' },
      { role: 'assistant', content: '.' },
      { role: 'user', content: 'y' },
    ]);
    expect(approximated).toEqual(['messages']);
  });

  it('has pictures, sounds and documents in their form here', () => {
    const { messages, dropped, approximated } = messagesOf([
      user(
        { type: 'image', source: { kind: 'url', url: 'https://a.example/b.png' }, detail: 'original' },
        { type: 'audio', data: 'AAAA', format: 'wav' },
        { type: 'file', source: { kind: 'base64', mediaType: 'application/pdf', data: 'AAAA' }, filename: 'a.pdf' },
        { type: 'file', source: { kind: 'base64', mediaType: null, data: 'AAAA' } },
        { type: 'file', source: { kind: 'file-id', id: 'f1' } },
        { type: 'video', source: { kind: 'url', url: 'https://a.example/b.mp4' } },
      ),
    ]);
    expect(messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'https://a.example/b.png', detail: 'high' } },
          { type: 'input_audio', input_audio: 'AAAA' },
          { type: 'document_url', document_url: 'data:application/pdf;base64,AAAA', document_name: 'a.pdf' },
          { type: 'document_url', document_url: 'data:application/pdf;base64,AAAA' },
          { type: 'file', file_id: 'f1' },
        ],
      },
    ]);
    expect({ dropped, approximated }).toEqual({ dropped: ['messages.video'], approximated: ['detail'] });
  });

  it('gives thoughts back to a model that thinks', () => {
    const thought: Part = { type: 'reasoning', text: 'Hm.' };
    const turns = [user(text('a')), assistant(thought, text('b')), user(text('c'))];
    expect(messagesOf(turns, thinker)).toMatchObject({
      messages: [
        {},
        {
          role: 'assistant',
          content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }], closed: true }, text('b')],
        },
        {},
      ],
      dropped: [],
    });
    expect(messagesOf(turns)).toMatchObject({ messages: [{}, { content: 'b' }, {}], dropped: ['reasoning'] });
  });

  it('names calls as the upstream takes it, and their results alike', () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyId, { minLength: 1, maxLength: 5 }), (ids) => {
        const { body } = write({ messages: [assistant(...ids.map(call)), ...ids.map((id) => result(id, 'x'))] });
        const [{ tool_calls: calls }, ...results] = body['messages'] as unknown as [Json, ...Json[]];
        const called = (calls as unknown as { id: string }[]).map(({ id }) => id);
        expect(called.every((id) => /^[A-Za-z0-9]{9}$/.test(id))).toBe(true);
        expect(new Set(called).size).toBe(ids.length);
        expect(results.map(({ tool_call_id: id }) => id)).toEqual(called);
      }),
    );
  });
});

describe(toCallId.name, () => {
  it('leaves ids of the upstream as they are', () => {
    expect(toCallId('gSIMJiOkT')).toBe('gSIMJiOkT');
  });
});

describe(nearestEffort.name, () => {
  it.each<[ReasoningEffort, ReasoningEffort[], ReasoningEffort | undefined]>([
    ['medium', ['low', 'medium', 'high'], 'medium'],
    ['minimal', ['none', 'high'], 'high'],
    ['none', ['low', 'high'], 'low'],
    ['max', ['none', 'low', 'high'], 'high'],
    ['medium', ['low', 'high'], 'high'],
    ['low', ['none'], undefined],
  ])('takes %s of %j for %s', (asked, known, nearest) => {
    expect(nearestEffort(asked, known)).toBe(nearest);
  });
});

const usage = { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 };
const chunk = (delta: object, more: object = {}, members: object = {}) => ({
  name: null,
  data: JSON.stringify({
    id: 'up-1',
    object: 'chat.completion.chunk',
    created: 1,
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
    ...members,
  }),
});
const thinking = (words: string) => ({ type: 'thinking', thinking: [{ type: 'text', text: words }] });
const stream = (...events: { name: null; data: string }[]) => {
  const reader = mistralChatTranslation.readStream(plain);
  return foldAnswer([...events.flatMap((event) => reader.read(event)), ...reader.end()]);
};
const read = (message: object, finish = 'stop', members: object = {}) =>
  mistralChatTranslation.readAnswer(
    { id: 'up-1', choices: [{ index: 0, message, finish_reason: finish }], usage, ...members },
    plain,
  );
const unavailable = expect.objectContaining({ code: 'provider_unavailable' }) as Error;

describe('an answer of Mistral', () => {
  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['model_length', 'length'],
    ['tool_calls', 'tool_calls'],
    ['error', 'error'],
  ])('ends with %s as %s', (native, finishReason) => {
    expect(read({ content: 'Hi' }, native).choices[0]).toMatchObject({ finishReason, nativeFinishReason: native });
  });

  it('counts what was read from the cache, wherever that is said', () => {
    expect(read({ content: 'Hi' }, 'stop', { usage: { ...usage, num_cached_tokens: 16 } }).usage).toMatchObject({
      promptTokens: 19,
      cachedTokens: 16,
    });
    const details = { ...usage, num_cached_tokens: 16, prompt_tokens_details: { cached_tokens: 8 } };
    expect(read({ content: 'Hi' }, 'stop', { usage: details }).usage).toMatchObject({ cachedTokens: 8 });
  });

  it('may think in references, which say nothing', () => {
    const thought = {
      type: 'thinking',
      thinking: [
        { type: 'reference', reference_ids: [1] },
        { type: 'text', text: 'Hm' },
      ],
    };
    expect(read({ content: [thought, { type: 'reference', reference_ids: [1] }] }).choices[0]!.parts).toEqual([
      { type: 'reasoning', text: 'Hm' },
    ]);
  });

  it.each([
    ['an error', { object: 'error', message: 'boom', type: 'internal_server_error', code: '3700' }],
    ['no choices', { choices: [] }],
    ['no object', 'boom'],
  ])('is none when there is %s', (_what, body) => {
    expect(() => mistralChatTranslation.readAnswer(body, plain)).toThrow(unavailable);
  });

  it('is a rate limit when it says so', () => {
    const body = { object: 'error', message: 'slow', type: 'rate_limit_error', code: null };
    expect(() => mistralChatTranslation.readAnswer(body, plain)).toThrow(
      expect.objectContaining({ code: 'rate_limit_exceeded' }) as Error,
    );
    expect(() => stream({ name: null, data: JSON.stringify(body) })).toThrow(
      expect.objectContaining({ code: 'rate_limit_exceeded' }) as Error,
    );
  });
});

describe('a stream of Mistral', () => {
  it('keeps the order of thoughts and words in one chunk', () => {
    const calls = [{ id: 'gSIMJiOkT', index: 0, function: { name: 'look_up', arguments: '{}' } }];
    const folded = stream(
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: [thinking('Hm. '), thinking('Yes.'), text('So'), text(' be')] }),
      chunk({ content: ' it.' }),
      chunk({ content: [text('!')], tool_calls: calls }, { finish_reason: 'tool_calls' }, { usage }),
      { name: null, data: '[DONE]' },
    );
    expect(folded).toMatchObject({
      upstreamId: 'up-1',
      parts: [{ type: 'reasoning', text: 'Hm. Yes.' }, text('So be it.!'), call('gSIMJiOkT')],
      usage: { promptTokens: 19, completionTokens: 10 },
      finishReason: 'tool_calls',
    });
  });

  it('is none when it is cut or no JSON', () => {
    expect(() => stream(chunk({ content: 'Hi' }))).toThrow(unavailable);
    expect(() => stream({ name: null, data: '{"choices":' })).toThrow(unavailable);
  });

  const anyParts: fc.Arbitrary<readonly AnswerPart[]> = fc
    .tuple(fc.option(anyText), anyText, fc.uniqueArray(anyId, { maxLength: 3 }))
    .map(([thought, words, ids]) => [
      ...(thought === null ? [] : [{ type: 'reasoning' as const, text: thought }]),
      { type: 'text' as const, text: words },
      ...ids.map((id) => ({ type: 'tool-call' as const, id, name: 'look_up', arguments: '{"a":1}' })),
    ]);

  it('adds up to the same as the answer in one piece', () => {
    fc.assert(
      fc.property(anyParts, (parts) => {
        const content = parts.flatMap((part): object[] => {
          if (part.type === 'reasoning') return [thinking(part.text ?? '')];
          return part.type === 'text' ? [text(part.text)] : [];
        });
        const calls = parts.flatMap((part) =>
          part.type === 'tool-call' ? [{ id: part.id, function: { name: part.name, arguments: part.arguments } }] : [],
        );
        expect(read({ content, tool_calls: calls.length === 0 ? null : calls }).choices[0]!.parts).toEqual(parts);
        const streamed = stream(
          ...content.map((one) => chunk({ content: [one] })),
          ...calls.map((one, index) => chunk({ tool_calls: [{ index, ...one }] })),
          chunk({ content: '' }, { finish_reason: 'stop' }, { usage }),
          { name: null, data: '[DONE]' },
        );
        expect(streamed.parts).toEqual(parts);
      }),
    );
  });
});
