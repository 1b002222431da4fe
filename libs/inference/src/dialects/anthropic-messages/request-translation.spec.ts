import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { CanonicalRequest } from '../../model/canonical-request';
import type { CacheMark, FilePart, ImagePart, Message, ReasoningPart, TextPart } from '../../model/conversation';
import { LossLog, type LossReport } from '../../model/loss-report';
import type { Endpoint } from '../../catalogue/catalogue';
import { anEndpoint } from '../../testing';
import { readRequest } from './request-reader';
import { writeRequest } from './request-writer';

const endpoint = anEndpoint({ apis: ['messages'] });
const adaptive = anEndpoint({ capabilities: { messages: { thinking: 'adaptive' } } });
const thoughtful = anEndpoint({ capabilities: { messages: { thinking: 'always', tool_choice: false } } });

const aRequest = (values: Partial<CanonicalRequest> = {}): CanonicalRequest => ({
  messages: [{ role: 'user', parts: [{ type: 'text', text: 'Say hello' }] }],
  tools: [],
  sampling: {},
  stopSequences: [],
  unread: [],
  ...values,
});

interface Written extends LossReport {
  readonly body: Readonly<Record<string, unknown>>;
}

function write(values: Partial<CanonicalRequest>, to: Endpoint = endpoint, isStream = false): Written {
  const log = new LossLog();
  const body = JSON.parse(JSON.stringify(writeRequest(aRequest(values), to, isStream, log))) as Record<string, unknown>;
  return { body, ...log.report() };
}

const messagesOf = (...messages: Message[]) => write({ messages }).body['messages'] as unknown;
const text = (said: string): TextPart => ({ type: 'text', text: said });
const user = (...parts: Message['parts']): Message => ({ role: 'user', parts });
const assistant = (...parts: Message['parts']): Message => ({ role: 'assistant', parts });
const result = (callId: string, said = 'ok'): Message => ({
  role: 'tool',
  parts: [{ type: 'tool-result', callId, parts: [text(said)] }],
});
const toolCall = (id: string, args = '{}') => ({ type: 'tool-call' as const, id, name: 'get_time', arguments: args });
const tool = { name: 'get_time', parameters: { type: 'object' } };

describe('round trips of requests', () => {
  const words = fc.string({ unit: 'grapheme' }).map((said) => `x${said}x`);
  const cache: fc.Arbitrary<{ cache?: CacheMark }> = fc.constantFrom(
    {},
    { cache: {} },
    { cache: { ttl: '5m' } },
    { cache: { ttl: '1h' } },
  );
  const anyText = fc.tuple(words, cache).map(([said, mark]): TextPart => ({ type: 'text', text: said, ...mark }));
  const base64 = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('base64'));
  const remote = fc.oneof(
    words.map((url) => ({ kind: 'url' as const, url })),
    words.map((id) => ({ kind: 'file-id' as const, id })),
  );
  const bytesOf = (mediaType: string, data: fc.Arbitrary<string>) =>
    data.map((each) => ({ kind: 'base64' as const, mediaType, data: each }));
  const anyImage = fc
    .tuple(fc.oneof(remote, bytesOf('image/png', base64)), cache)
    .map(([source, mark]): ImagePart => ({ type: 'image', source, ...mark }));
  const plain = words.map((said) => Buffer.from(said).toString('base64'));
  const anyFile = fc
    .tuple(
      fc.oneof(remote, bytesOf('application/pdf', base64), bytesOf('text/plain', plain)),
      fc.option(words, { nil: undefined }),
      cache,
    )
    .map(([source, filename, mark]): FilePart => ({
      type: 'file',
      source,
      ...(filename !== undefined && { filename }),
      ...mark,
    }));
  const shown = fc.array(fc.oneof(anyText, anyImage, anyFile), { minLength: 1, maxLength: 3 });
  const format = 'anthropic-claude-v1' as const;
  const thought: fc.Arbitrary<ReasoningPart> = fc.oneof(
    fc.record({ type: fc.constant('reasoning' as const), text: words, signature: words, format: fc.constant(format) }),
    fc.record({ type: fc.constant('reasoning' as const), encrypted: words, format: fc.constant(format) }),
  );
  const args = fc.oneof(
    fc.dictionary(fc.string(), fc.string()).map((input) => JSON.stringify(input)),
    fc.constantFrom('{"half', '[1]', '"text"', 'null'),
  );
  const calls = fc.array(
    fc.record({
      id: fc.stringMatching(/^[\w-]{1,8}$/),
      args,
      parts: fc.array(fc.oneof(anyText, anyImage)),
      isError: fc.boolean(),
    }),
    { maxLength: 3 },
  );
  const exchange = fc
    .record({
      asked: shown,
      thoughts: fc.array(thought, { maxLength: 2 }),
      said: fc.array(anyText, { maxLength: 2 }),
      calls,
    })
    .map(({ asked, thoughts, said, calls: called }): Message[] => {
      const parts = [...thoughts, ...said, ...called.map(({ id, args: each }) => toolCall(id, each))];
      const results = called.map(({ id, parts: answered, isError }): Message => ({
        role: 'tool',
        parts: [{ type: 'tool-result', callId: id, parts: answered, isError }],
      }));
      return [user(...asked), ...(parts.length === 0 ? [] : [assistant(...parts)]), ...results];
    });
  const conversation = fc
    .tuple(fc.array(anyText, { maxLength: 2 }), fc.array(exchange, { minLength: 1, maxLength: 3 }))
    .map(([system, exchanges]): Message[] => [
      ...(system.length === 0 ? [] : [{ role: 'system' as const, parts: system }]),
      ...joined(exchanges.flat()),
    ]);

  /** Neighbours of the user are one turn. */
  function joined(messages: readonly Message[]): Message[] {
    return messages.reduce<Message[]>((list, message) => {
      const last = list.at(-1);
      if (last?.role !== 'user' || message.role !== 'user') return [...list, message];
      return [...list.slice(0, -1), user(...last.parts, ...message.parts)];
    }, []);
  }

  const readBack = (request: CanonicalRequest, to = endpoint) => {
    const log = new LossLog();
    const body = writeRequest(request, to, false, log);
    return { request: readRequest(JSON.parse(JSON.stringify(body)) as Record<string, unknown>), ...log.report() };
  };

  it('keep every conversation', () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const back = readBack(aRequest({ messages }));
        expect(back.request.messages).toEqual(messages);
        expect(back.dropped).toEqual([]);
        expect(back.request.unread).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('keep every setting', () => {
    const name = fc.stringMatching(/^[\w-]{1,8}$/);
    const schema = fc
      .dictionary(name, fc.record({ type: fc.constant('string'), description: words }))
      .map((properties) => ({ type: 'object', properties, additionalProperties: false }));
    const anyTool = fc
      .tuple(fc.record({ name, description: words, parameters: schema, strict: fc.boolean() }), cache)
      .map(([definition, mark]) => ({ ...definition, ...mark }));
    const choice = fc.oneof(
      fc.constantFrom({ type: 'auto' as const }, { type: 'required' as const }),
      name.map((each) => ({ type: 'tool' as const, name: each })),
    );
    const settings = fc.record(
      {
        toolChoice: choice,
        areParallelToolCallsAllowed: fc.boolean(),
        responseFormat: schema.map((each) => ({
          type: 'json-schema' as const,
          name: 'response',
          schema: each,
          strict: true,
        })),
        sampling: fc.oneof(
          fc.record({ temperature: fc.constantFrom(0, 0.5, 1), topK: fc.nat(9) }, { requiredKeys: [] }),
          fc.record({ topP: fc.constant(0.5), topK: fc.nat(9) }, { requiredKeys: [] }),
        ),
        maxOutputTokens: fc.integer({ min: 1, max: 99 }),
        stopSequences: fc.array(words),
        verbosity: fc.constantFrom('low' as const, 'xhigh' as const, 'max' as const),
        serviceTier: fc.constantFrom('auto', 'default'),
        cache: fc.constantFrom({}, { ttl: '1h' }),
      },
      { requiredKeys: ['toolChoice', 'sampling', 'maxOutputTokens', 'stopSequences'] },
    );
    fc.assert(
      fc.property(settings, fc.array(anyTool, { minLength: 1, maxLength: 3 }), (values, tools) => {
        const request = aRequest({ ...values, tools });
        expect(readBack(request)).toEqual({ request, dropped: [], approximated: [] });
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    [{ isEnabled: false }, endpoint],
    [{ isEnabled: true, maxTokens: 2_000 }, endpoint],
    [{ isEnabled: true, maxTokens: 2_000, isHidden: true }, endpoint],
    [{ isEnabled: true, maxTokens: 2_000, summary: 'auto' as const }, endpoint],
    [{ isEnabled: true, summary: 'auto' as const }, adaptive],
    [{ isEnabled: true, effort: 'max' as const, isHidden: true }, adaptive],
  ])('keep the reasoning %j', (reasoning, to) => {
    const request = aRequest({ reasoning, maxOutputTokens: 4_000 });
    expect(readBack(request, to)).toEqual({ request, dropped: [], approximated: [] });
  });
});

describe('a messages request that is read', () => {
  const read = (members: object) =>
    readRequest({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...members });

  it('loses the members that have no place, by name', () => {
    const { unread } = read({
      provider: { only: ['x'] },
      fallbacks: [{ model: 'b' }],
      context_management: { edits: [] },
      safeguards: null,
      tools: [
        { type: 'web_search_20250305', name: 'web_search' },
        { name: 'a', input_schema: {}, defer_loading: true },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
            { type: 'Odd Block', text: 'x' },
            { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'found' }] },
            { type: 'text', text: 'x', citations: [{ type: 'char_location', cited_text: 'x' }] },
            { type: 'document', source: { type: 'url', url: 'u' }, citations: { enabled: true } },
          ],
        },
      ],
    });
    expect([...unread].sort()).toEqual([
      'context_management',
      'messages.content',
      'messages.content.citations',
      'messages.content.search_result',
      'messages.content.server_tool_use',
      'tools.defer_loading',
      'tools.web_search_20250305',
    ]);
  });

  it('names members of messages, blocks and the output that it does not know', () => {
    const { unread } = read({
      output_config: { effort: 'low', tone: 'dry' },
      messages: [{ role: 'user', weight: 1, content: [{ type: 'text', text: 'x', lang: 'en', citations: null }] }],
    });
    expect([...unread].sort()).toEqual(['messages.content.lang', 'messages.weight', 'output_config.tone']);
  });

  it('keeps what found pages and compacted turns say', () => {
    const { messages } = read({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'found' }] },
            { type: 'compaction', content: 'so far' },
            { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'page' }] } },
          ],
        },
      ],
    });
    expect(messages).toEqual([user(text('found'), text('so far'), text('page'))]);
  });

  it('makes messages of the results in a turn, in order', () => {
    const { messages } = read({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: 'one', is_error: true },
            { type: 'tool_result', tool_use_id: 'b' },
            { type: 'text', text: 'Go on' },
          ],
        },
      ],
    });
    expect(messages).toEqual([
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', parts: [text('one')], isError: true }] },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'b', parts: [] }] },
      user(text('Go on')),
    ]);
  });

  it('hashes who the end user is', () => {
    const hash = createHash('sha256').update('anna').digest('hex');
    expect(read({ metadata: { user_id: 'anna' }, user: 'bert' }).endUser).toBe(hash);
    expect(read({ user: 'anna' }).endUser).toBe(hash);
    expect(read({}).endUser).toBeUndefined();
  });

  it('takes speed for the tier it is', () => {
    expect(read({ speed: 'fast' }).serviceTier).toBe('priority');
    expect(read({ speed: 'fast', service_tier: 'standard_only' }).serviceTier).toBe('default');
  });

  it('tells an effort beside a budget from an effort to think', () => {
    const output_config = { effort: 'low' };
    expect(read({ output_config })).toMatchObject({ verbosity: 'low' });
    const enabled = read({ output_config, thinking: { type: 'enabled', budget_tokens: 2_000 } });
    expect(enabled).toMatchObject({ verbosity: 'low', reasoning: { isEnabled: true, maxTokens: 2_000 } });
    const own = read({ output_config, thinking: { type: 'adaptive' } });
    expect(own.reasoning).toEqual({ isEnabled: true, effort: 'low' });
  });

  it.each([
    [{ messages: 'x' }, 'messages must be an array (it is "x")'],
    [
      { messages: [{ role: 'tool', content: 'x' }] },
      'messages[0].role must be one of user, assistant, system (it is "tool")',
    ],
    [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages[0].content[0].text is required'],
    [
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'odd' } }] }] },
      'messages[0].content[0].source.type is not known',
    ],
    [{ tool_choice: { type: 'tool' } }, 'tool_choice.name is required'],
    [{ output_config: { format: { type: 'json_schema' } } }, 'output_config.format.schema is required'],
    [{ max_tokens: 1.5 }, 'max_tokens must be an integer (it is 1.5)'],
  ])('is refused by the path of what cannot be understood: %j', (members, message) => {
    expect(() => read(members)).toThrow(expect.objectContaining({ code: 'invalid_request', message }) as Error);
  });
});

describe('a request that is written for an upstream of messages', () => {
  it('alternates roles and stands results of tools first', () => {
    expect(
      messagesOf(
        user(text('What time?')),
        user(text('In Rome')),
        assistant(toolCall('a'), toolCall('b')),
        result('a'),
        user(text('Hurry')),
        result('b'),
      ),
    ).toMatchObject([
      { role: 'user', content: [{ text: 'What time?' }, { text: 'In Rome' }] },
      { role: 'assistant', content: [{ id: 'a' }, { id: 'b' }] },
      { role: 'user', content: [{ tool_use_id: 'a' }, { tool_use_id: 'b' }, { text: 'Hurry' }] },
    ]);
  });

  it('leaves out text that says nothing, and turns of nothing else', () => {
    expect(messagesOf(user(text('Hi')), assistant(text(' \n')), user(text(''), text('There')))).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'text', text: 'There' },
        ],
      },
    ]);
  });

  it('begins with the user and ends without white space', () => {
    const { body, approximated } = write({
      messages: [assistant(text('Welcome. ')), user(text('Hi')), assistant(text('So  '))],
    });
    expect(body['messages']).toEqual([
      { role: 'user', content: [{ type: 'text', text: '.' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Welcome. ' }] },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'So' }] },
    ]);
    expect(approximated).toEqual(['messages']);
  });

  it('gathers instructions, wherever they stand', () => {
    const { body, approximated } = write({
      messages: [
        { role: 'system', parts: [text('Be brief')] },
        user(text('Hi')),
        { role: 'developer', parts: [text('Be kind')] },
      ],
    });
    expect(body['system']).toEqual([
      { type: 'text', text: 'Be brief' },
      { type: 'text', text: 'Be kind' },
    ]);
    expect(approximated).toEqual(['messages.role']);
  });

  it('asks instructions alone as a question', () => {
    const { body } = write({ messages: [{ role: 'system', parts: [text('Say hello')] }] });
    expect(body['system']).toBeUndefined();
    expect(body['messages']).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Say hello' }] }]);
  });

  it('bounds the answer where the caller does not', () => {
    expect(write({}).body['max_tokens']).toBe(16_000);
    expect(write({}, anEndpoint({ maxCompletionTokens: null })).body['max_tokens']).toBe(4_096);
    expect(write({ maxOutputTokens: 7 }).body['max_tokens']).toBe(7);
  });

  it('asks for a stream when one is wanted', () => {
    expect(write({}, endpoint, true).body['stream']).toBe(true);
    expect(write({}).body).not.toHaveProperty('stream');
  });

  it('names calls in letters the upstream takes, the call and its result alike', () => {
    const id = 'functions.get_time:0';
    const [, called, answered] = messagesOf(user(text('Hi')), assistant(toolCall(id)), result(id)) as {
      content: { id?: string; tool_use_id?: string }[];
    }[];
    expect(called!.content[0]!.id).toMatch(/^[\w-]+$/);
    expect(answered!.content[0]!.tool_use_id).toBe(called!.content[0]!.id);
  });

  it.each([
    ['{"a":1}', { a: 1 }],
    ['', {}],
    ['{"a', { INVALID_JSON: '{"a' }],
    ['[1]', { INVALID_JSON: '[1]' }],
  ])('gives the arguments %j as an object', (args, input) => {
    expect(messagesOf(user(text('Hi')), assistant(toolCall('a', args)))).toMatchObject([
      {},
      { content: [{ type: 'tool_use', input }] },
    ]);
  });

  it('names what an upstream of messages has no word for', () => {
    const { dropped, approximated } = write({
      messages: [
        user(
          text('Hi'),
          { type: 'audio', data: 'AA==', format: 'wav' },
          { type: 'video', source: { kind: 'url', url: 'u' } },
          { type: 'image', source: { kind: 'url', url: 'u' }, detail: 'high' },
          { type: 'image', source: { kind: 'base64', mediaType: null, data: 'AAAA' } },
          { type: 'file', source: { kind: 'base64', mediaType: 'application/zip', data: 'AAAA' } },
        ),
        assistant({ type: 'refusal', text: 'No' }, { type: 'image', source: { kind: 'url', url: 'u' } }),
      ],
      sampling: {
        seed: 1,
        minP: 0.1,
        topA: 0.1,
        frequencyPenalty: 1,
        presencePenalty: 1,
        repetitionPenalty: 1,
        logitBias: {},
        temperature: 1.5,
      },
      stopSequences: [' ', 'END'],
      choices: 2,
      topLogprobs: 3,
      outputModalities: ['text', 'image'],
      promptCacheKey: 'k',
      metadata: { a: 'b' },
      responseFormat: { type: 'json' },
      toolChoice: { type: 'required' },
      serviceTier: 'flex',
    });
    const foreign =
      'audio video detail image file messages.image seed min_p top_a logit_bias frequency_penalty presence_penalty ' +
      'repetition_penalty stop n logprobs modalities prompt_cache_key metadata response_format tool_choice service_tier';
    expect([...dropped].sort()).toEqual(foreign.split(' ').sort());
    expect([...approximated].sort()).toEqual(['refusal', 'temperature']);
  });

  it('knows pictures by their first bytes and shows pictures sent as files', () => {
    const png = 'iVBORw0KGgoAAAA';
    expect(
      messagesOf(
        user(
          { type: 'image', source: { kind: 'base64', mediaType: null, data: png } },
          { type: 'file', source: { kind: 'base64', mediaType: 'image/gif', data: 'R0lGODlh' } },
        ),
      ),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
          { type: 'image', source: { type: 'base64', media_type: 'image/gif', data: 'R0lGODlh' } },
        ],
      },
    ]);
  });

  it('calls what is shown by the names that the upstream knows', () => {
    const pdf = 'application/pdf;name=a.pdf';
    expect(
      messagesOf(
        user(
          { type: 'image', source: { kind: 'base64', mediaType: 'image/jpg', data: '/9j/' } },
          { type: 'image', source: { kind: 'base64', mediaType: 'IMAGE/PNG;charset=utf-8', data: 'YQ==' } },
          { type: 'file', source: { kind: 'base64', mediaType: pdf, data: 'YQ==' } },
        ),
      ),
    ).toMatchObject([
      {
        content: [
          { type: 'image', source: { media_type: 'image/jpeg' } },
          { type: 'image', source: { media_type: 'image/png' } },
          { type: 'document', source: { media_type: 'application/pdf' } },
        ],
      },
    ]);
  });

  it('keeps its own thoughts and drops those of others, by name', () => {
    const own: ReasoningPart = {
      type: 'reasoning',
      text: 'hm',
      signature: 's',
      id: 'r',
      format: 'anthropic-claude-v1',
    };
    const { body, dropped } = write({
      messages: [
        user(text('Hi')),
        assistant(
          own,
          { type: 'reasoning', encrypted: 'e', format: 'openai-responses-v1' },
          { type: 'reasoning', text: 'unproven' },
          text('Hello'),
        ),
      ],
    });
    expect((body['messages'] as unknown[])[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        { type: 'text', text: 'Hello' },
      ],
    });
    expect(dropped).toEqual(['reasoning_details', 'reasoning']);
  });

  it.each([
    [{ effort: 'low' as const }, 10_000, { type: 'enabled', budget_tokens: 2_000 }],
    [{ effort: 'max' as const }, 10_000, { type: 'enabled', budget_tokens: 9_500 }],
    [{ effort: 'minimal' as const }, 2_000, { type: 'enabled', budget_tokens: 1_024 }],
    [{ isEnabled: true }, 10_000, { type: 'enabled', budget_tokens: 5_000 }],
    [{ maxTokens: 50_000 }, 10_000, { type: 'enabled', budget_tokens: 9_999 }],
    [{ effort: 'none' as const }, 10_000, { type: 'disabled' }],
    [{ effort: 'high' as const }, 1_000, undefined],
    [{ summary: 'auto' as const }, 10_000, undefined],
  ])('thinks, asked for %j in %d tokens, %j', (reasoning, maxOutputTokens, thinking) => {
    expect(write({ reasoning, maxOutputTokens }).body['thinking']).toEqual(thinking);
  });

  it('tells an endpoint that decides itself an effort', () => {
    const asked = (reasoning: CanonicalRequest['reasoning']) => write({ reasoning, maxOutputTokens: 10_000 }, adaptive);
    expect(asked({ effort: 'minimal' })).toMatchObject({
      body: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
      approximated: ['reasoning.effort'],
    });
    expect(asked({ maxTokens: 5_000 }).body['output_config']).toEqual({ effort: 'medium' });
  });

  it('tells no effort that an endpoint does not take', () => {
    const messages = { thinking: 'adaptive', efforts: ['low', 'medium', 'high', 'max'] };
    const told = (reasoning: CanonicalRequest['reasoning']) => {
      const to = anEndpoint({ capabilities: { messages } });
      const { body, approximated } = write({ reasoning, maxOutputTokens: 10_000 }, to);
      return [(body['output_config'] as { effort: string }).effort, ...approximated];
    };
    expect(told({ effort: 'xhigh' })).toEqual(['high', 'reasoning.effort']);
    expect(told({ maxTokens: 9_900 })).toEqual(['high', 'reasoning.max_tokens']);
    expect(told({ effort: 'max' })).toEqual(['max']);
    expect(told({ effort: 'minimal' })).toEqual(['low', 'reasoning.effort']);
  });

  it('shows the thoughts of an endpoint that decides itself, unless they are not wanted', () => {
    const shown = (reasoning: CanonicalRequest['reasoning']) => write({ reasoning }, adaptive).body['thinking'];
    expect(shown({ effort: 'high' })).toEqual({ type: 'adaptive', display: 'summarized' });
    expect(shown({ effort: 'high', isHidden: true })).toEqual({ type: 'adaptive', display: 'omitted' });
  });

  it('lets an endpoint that always thinks do so as little as it can where it should not at all', () => {
    const { body, approximated } = write({ reasoning: { effort: 'none' } }, thoughtful);
    expect(body).not.toHaveProperty('thinking');
    expect(body['output_config']).toEqual({ effort: 'low' });
    expect(approximated).toEqual(['reasoning.effort']);
  });

  it('offers its tools to an endpoint that cannot be made to call one', () => {
    for (const toolChoice of [{ type: 'required' as const }, { type: 'tool' as const, name: 'get_time' }]) {
      const { body, dropped } = write({ tools: [tool], toolChoice, reasoning: { effort: 'high' } }, thoughtful);
      expect(body).toMatchObject({ tool_choice: { type: 'auto' }, thinking: { type: 'adaptive' } });
      expect(dropped).toEqual(['tool_choice']);
    }
    expect(write({ tools: [tool], toolChoice: { type: 'none' } }, thoughtful).body['tool_choice']).toEqual({
      type: 'none',
    });
  });

  it.each<[CanonicalRequest['sampling'], object, string[]]>([
    [{ temperature: 0.2, topP: 0.9 }, { temperature: 0.2 }, ['top_p']],
    [{ temperature: 0.2, topP: 1 }, { temperature: 0.2 }, []],
    [{ temperature: 1, topP: 0.9 }, { top_p: 0.9 }, []],
    [{ temperature: 1, topP: 1 }, { temperature: 1 }, []],
    [{ topP: 0.9, topK: 5 }, { top_p: 0.9, top_k: 5 }, []],
  ])('tells one of temperature and top_p, which the upstream refuses together: %j', (sampling, expected, lost) => {
    const { body, dropped } = write({ sampling });
    const { temperature, top_p, top_k } = body;
    expect(JSON.parse(JSON.stringify({ temperature, top_p, top_k }))).toEqual(expected);
    expect(dropped).toEqual(lost);
  });

  it('leaves out top_k for a model that is listed without it', () => {
    const { body, dropped } = write({ sampling: { topK: 5 } }, anEndpoint({ supportedParameters: ['max_tokens'] }));
    expect(body).not.toHaveProperty('top_k');
    expect(dropped).toEqual(['top_k']);
  });

  it('samples as it may while it thinks', () => {
    const { body, dropped } = write({
      reasoning: { maxTokens: 2_000 },
      sampling: { temperature: 0.3, topK: 5, topP: 0.5 },
    });
    expect(body).not.toHaveProperty('temperature');
    expect(dropped).toEqual(['temperature', 'top_k', 'top_p']);
  });

  it.each<[string, Partial<CanonicalRequest>]>([
    ['a tool is forced on it', { toolChoice: { type: 'required' } }],
    ['its thoughts between calls are gone', { messages: [user(text('Hi')), assistant(toolCall('a')), result('a')] }],
  ])('does not think where %s', (_what, values) => {
    const { body, dropped } = write({ tools: [tool], reasoning: { effort: 'high' }, ...values });
    expect(body).not.toHaveProperty('thinking');
    expect(dropped).toEqual(['reasoning']);
  });

  it('says that calls may not be parallel even where nothing else is said of tools', () => {
    expect(write({ tools: [tool], areParallelToolCallsAllowed: false }).body['tool_choice']).toEqual({
      type: 'auto',
      disable_parallel_tool_use: true,
    });
  });

  it('closes the schemas that an answer and a strict call must keep to', () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } } };
    const { body, approximated } = write({
      tools: [{ name: 'a', parameters: schema, strict: true }],
      responseFormat: { type: 'json-schema', name: 'r', schema },
    });
    const closed = { ...schema, additionalProperties: false };
    expect(body['output_config']).toEqual({ format: { type: 'json_schema', schema: closed } });
    expect(body['tools']).toEqual([{ name: 'a', input_schema: closed, strict: true }]);
    expect(approximated).toEqual([]);
  });

  it('describes tools without parameters', () => {
    expect(write({ tools: [{ name: 'now', parameters: null }] }).body['tools']).toEqual([
      { name: 'now', input_schema: { type: 'object' } },
    ]);
  });
});
