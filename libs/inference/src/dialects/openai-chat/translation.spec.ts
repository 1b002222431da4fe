import { DONE_FRAME, joinFrames } from '../../model/answer-frame';
import { parseJson } from '@libs/json';
import type { AppError } from '@libs/errors';
import fc from 'fast-check';
import type { AnswerEvent, AnswerPart, CanonicalAnswer } from '../../model/canonical-answer';
import type { CanonicalRequest } from '../../model/canonical-request';
import { LossLog } from '../../model/loss-report';
import {
  aModel,
  anEndpoint,
  anyAnswer,
  anyLogprobs,
  anyPartSequence,
  anyRequest,
  anyUsage,
  dataOfEventStream,
  eventsOf,
  foldAnswer,
} from '../../testing';
import { emptyUsage } from '../../pricing/usage';
import type { AnswerContext } from '../dialect';
import { EventSplitter } from '../event-splitter';
import { openAiChatTranslation } from '.';

const { caller, upstream } = openAiChatTranslation;

const EXTENSIONS = [
  'reasoning',
  'reasoning_details',
  'top_k',
  'min_p',
  'top_a',
  'repetition_penalty',
  'cache_control',
  'metadata',
  'developer',
  'images',
  'tool_media',
];
const plainEndpoint = anEndpoint();
const richEndpoint = anEndpoint({ capabilities: { chat: Object.fromEntries(EXTENSIONS.map((name) => [name, true])) } });
const cost = { totalCost: 3_000_000n, promptCost: 1_000_000n, completionCost: 2_000_000n };

const contextOf = (request: object = { messages: [] }): AnswerContext => ({
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [plainEndpoint] }),
  endpoint: plainEndpoint,
  priceList: 'standard',
  beganMs: 0,
  requestBody: Buffer.from(JSON.stringify(request)),
});

/** What arrives when the value is sent as JSON. */
const sent = (value: object): Record<string, unknown> =>
  parseJson(Buffer.from(JSON.stringify(value))) as Record<string, unknown>;

const read = (body: object): CanonicalRequest => caller.readRequest(sent({ messages: [], ...body }));

function write(request: CanonicalRequest, endpoint = plainEndpoint) {
  const log = new LossLog();
  const body = sent(upstream.writeRequest(request, endpoint, false, log)) as Record<string, unknown> & {
    messages: Record<string, unknown>[];
  };
  return { body, ...log.report() };
}

function refusalOf(body: object): AppError {
  try {
    read(body);
  } catch (thrown) {
    return thrown as AppError;
  }
  throw new Error('nothing was refused');
}

/** The events that a reader finds in the bytes of a stream, cut into pieces by the network. */
function readStream(stream: Buffer, cuts: readonly number[] = []): AnswerEvent[] {
  const reader = upstream.readStream(plainEndpoint);
  const events: AnswerEvent[] = [];
  const splitter = new EventSplitter(1_000_000, (data, name) =>
    events.push(...reader.read({ name, data: data.toString() })),
  );
  const offsets = [0, ...cuts.map((at) => at % stream.length).sort((a, b) => a - b), stream.length];
  offsets.slice(1).forEach((end, i) => splitter.push(stream.subarray(offsets[i], end)));
  splitter.end();
  return [...events, ...reader.end()];
}

const chunk = (delta: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'up-1', created: 7, choices: [{ index: 0, delta, ...more }] })}\n\n`;
const END = `${chunk({}, { finish_reason: 'stop' })}data: [DONE]\n\n`;

describe('a chat request', () => {
  it('is the same after being written and read', () => {
    fc.assert(
      fc.property(anyRequest, fc.boolean(), (request, isStream) => {
        const log = new LossLog();
        const body = sent(upstream.writeRequest(request, richEndpoint, isStream, log));
        expect(caller.readRequest(body)).toEqual(request);
        expect(body['model']).toBe('acme-large-2026');
        expect(body['stream']).toBe(isStream ? true : undefined);
        expect(log.report()).toEqual({ dropped: [], approximated: [] });
      }),
      { numRuns: 300 },
    );
  });

  it('never sends a plain upstream a member it does not know', () => {
    const known = new Set(
      'model messages tools tool_choice parallel_tool_calls response_format temperature top_p frequency_penalty presence_penalty seed logit_bias max_completion_tokens stop n reasoning_effort logprobs top_logprobs verbosity modalities prompt_cache_key service_tier'.split(
        ' ',
      ),
    );
    fc.assert(
      fc.property(anyRequest, (request) => {
        const { body } = write(request);
        expect(Object.keys(body).filter((name) => !known.has(name))).toEqual([]);
        expect(JSON.stringify(body)).not.toMatch(/"(cache_control|reasoning_details|signature)":/);
        expect(body.messages.map(({ role }) => role)).not.toContain('developer');
      }),
    );
  });

  it('names what a plain upstream is not asked for', () => {
    const request = read({
      messages: [
        { role: 'developer', content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }] },
        {
          role: 'assistant',
          content: 'b',
          reasoning_details: [{ type: 'reasoning.text', text: 'c', signature: 'd', format: 'anthropic-claude-v1' }],
        },
      ],
      top_k: 5,
      metadata: { a: 'b' },
      reasoning: { max_tokens: 800 },
      max_tokens: 1_000,
    });
    const { body, dropped, approximated } = write(request);
    expect(body).toEqual({
      model: 'acme-large-2026',
      messages: [
        { role: 'system', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
      max_completion_tokens: 1_000,
      reasoning_effort: 'high',
    });
    expect(dropped).toEqual(['cache_control', 'reasoning_details', 'reasoning', 'top_k', 'metadata']);
    expect(approximated).toEqual(['developer', 'reasoning.max_tokens']);
  });

  it('writes a sampler that is listed among the parameters of the model, and no other', () => {
    const request = read({ top_k: 5, min_p: 0.1 });
    const { body, dropped } = write(request, anEndpoint({ supportedParameters: ['top_k'] }));
    expect(body).toMatchObject({ top_k: 5 });
    expect(dropped).toEqual(['min_p']);
  });

  it('names the members that it has no place for, and none that are for the gateway', () => {
    const request = read({
      model: 'acme/large',
      provider: { only: ['acme'] },
      plugins: [{ id: 'web' }],
      stream: true,
      prediction: { type: 'content', content: 'x' },
      web_search_options: {},
      audio: null,
      tools: [{ type: 'web_search' }],
      tool_choice: { type: 'web_search' },
      response_format: { type: 'grammar', grammar: 'x' },
      messages: [{ role: 'assistant', audio: { id: 'x' } }],
    });
    expect(request.unread.toSorted()).toEqual([
      'messages.audio',
      'prediction',
      'response_format',
      'tool_choice',
      'tools.web_search',
      'web_search_options',
    ]);
  });

  it('names members of messages and calls that it does not know', () => {
    const call = { id: 'c', type: 'function', index: 0, function: { name: 'f', arguments: '{}' }, extra_content: {} };
    const messages = [
      { role: 'user', content: 'Hi', weight: 1, parsed: null },
      { role: 'assistant', content: 'Yes', thinking_blocks: [{ type: 'thinking', thinking: 'x' }], tool_calls: [call] },
    ];
    expect(read({ messages }).unread.toSorted()).toEqual([
      'messages.thinking_blocks',
      'messages.tool_calls.extra_content',
      'messages.weight',
    ]);
  });

  it('shows pictures of tool results as the user does, behind all results', () => {
    const result = (id: string) => ({
      role: 'tool',
      tool_call_id: id,
      content: [
        { type: 'text', text: id },
        { type: 'image_url', image_url: { url: `https://files.example/${id}` } },
      ],
    });
    const { body, approximated } = write(
      read({ messages: [result('a'), result('b'), { role: 'user', content: 'c' }] }),
    );
    expect(body.messages).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'a' },
      { role: 'tool', tool_call_id: 'b', content: 'b' },
      {
        role: 'user',
        content: ['a', 'b'].map((id) => ({ type: 'image_url', image_url: { url: `https://files.example/${id}` } })),
      },
      { role: 'user', content: 'c' },
    ]);
    expect(approximated).toEqual(['messages.tool_result']);
  });

  it('names sources that a plain upstream is not shown', () => {
    const annotation = {
      type: 'url-citation' as const,
      url: 'https://a.example',
      title: '',
      startIndex: 0,
      endIndex: 1,
    };
    const part = { type: 'text' as const, text: 'x', annotations: [annotation] };
    const { dropped } = write({ ...read({ messages: [] }), messages: [{ role: 'assistant', parts: [part] }] });
    expect(dropped).toEqual(['annotations']);
  });

  it('names each tool that only chat has as lost, by its type', () => {
    const tools = [{ type: 'hologram' }, { type: 'a b' }];
    expect(read({ messages: [], tools }).unread).toEqual(['tools.hologram', 'tools']);
  });

  it('narrows the tools to those that may be used', () => {
    const named = (name: string) => ({ type: 'function', function: { name } });
    const among = (allowed_tools: object) =>
      read({ messages: [], tools: [named('f'), named('g')], tool_choice: { type: 'allowed_tools', allowed_tools } });
    expect(among({ mode: 'required', tools: [named('g')] })).toMatchObject({
      tools: [{ name: 'g' }],
      toolChoice: { type: 'required' },
      unread: [],
    });
    expect(among({ mode: 'perhaps', tools: [named('g')] })).toMatchObject({
      tools: [{ name: 'f' }, { name: 'g' }],
      unread: ['tool_choice'],
    });
  });

  it('names a wish about parallel calls that is lost with all tools', () => {
    const body = { messages: [], parallel_tool_calls: false };
    const tools = [{ type: 'hologram' }];
    expect(read({ ...body, tools }).unread).toEqual(['tools.hologram', 'parallel_tool_calls']);
    expect(read({ ...body, tools: [] }).unread).toEqual([]);
  });

  it('takes the older spellings', () => {
    const request = read({
      max_tokens: 5,
      stop: 'x',
      reasoning_effort: 'low',
      include_reasoning: false,
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: 'data:image/png;base64,AAAA' }] },
        { role: 'user', content: [{ type: 'input_video', video_url: { url: 'https://a.example/b.mp4' } }] },
        { role: 'assistant', content: null, reasoning_content: 'why' },
        { role: 'assistant', content: '', tool_calls: [{ id: 'a', function: { name: 'f' } }] },
      ],
    });
    expect(request).toMatchObject({
      maxOutputTokens: 5,
      stopSequences: ['x'],
      reasoning: { effort: 'low', isHidden: true },
      messages: [
        { parts: [{ type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } }] },
        { parts: [{ type: 'video', source: { kind: 'url', url: 'https://a.example/b.mp4' } }] },
        { parts: [{ type: 'reasoning', text: 'why' }] },
        { parts: [{ type: 'tool-call', id: 'a', name: 'f', arguments: '' }] },
      ],
    });
  });

  it('passes on the end user as a hash only', () => {
    const { body } = write(read({ user: 'mail@example.com' }));
    expect(body['user']).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each<[object, string]>([
    [{ messages: null }, 'messages is required'],
    [{ messages: 'x' }, 'messages must be an array'],
    [{ messages: [1] }, 'messages[0] must be an object'],
    [{ messages: [{ content: 'x' }] }, 'messages[0].role is required'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content is required'],
    [{ messages: [{ role: 'user', content: 1 }] }, 'messages[0].content must be a string or an array'],
    [{ messages: [{ role: 'user', content: [{ type: 'smell' }] }] }, 'messages[0].content[0].type is not known'],
    [{ messages: [{ role: 'user', content: [{ type: '__proto__' }] }] }, 'messages[0].content[0].type is not known'],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
      'messages[0].content[0].image_url.url is required',
    ],
    [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id is required'],
    [
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'hologram' }] }] },
      'messages[0].tool_calls[0].type must be function or custom',
    ],
    [{ temperature: 'hot' }, 'temperature must be a number'],
    [{ max_tokens: 1.5 }, 'max_tokens must be an integer'],
    [{ stop: [1] }, 'stop must be an array of strings'],
    [{ metadata: { a: 1 } }, 'metadata must be an object of strings'],
    [{ tool_choice: 'all' }, 'tool_choice must be one of none, auto, required or an object'],
    [{ tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name is required'],
    [{ modalities: ['smell'] }, 'modalities may hold text, image, audio only'],
    [{ reasoning: { effort: 5 } }, 'reasoning.effort must be a string'],
  ])('refuses %j by the path of the member', (body, message) => {
    const error = refusalOf(body);
    expect(error.code).toBe('invalid_request');
    expect(error.message).toMatch(message.startsWith('^') ? new RegExp(message) : message);
    expect(error.metadata).toEqual({ param: error.message.split(' ', 1)[0] });
  });
});

/** An answer that cites pages has searched. */
const citesPages = ({ choices }: CanonicalAnswer): boolean =>
  choices.some(({ parts }) => parts.some((part) => part.type === 'text' && (part.annotations ?? []).length > 0));

describe('a chat answer', () => {
  it('is the same after being written and read', () => {
    fc.assert(
      fc.property(anyAnswer, (answer) => {
        const body = sent(caller.writeAnswer(answer, { usage: answer.usage!, cost }, contextOf()));
        const units = citesPages(answer) ? { units: { webSearches: 1 } } : {};
        expect(upstream.readAnswer(body, plainEndpoint)).toEqual({ ...answer, ...units, upstreamId: 'gen-1-abc' });
        expect(body).toMatchObject({
          object: 'chat.completion',
          model: 'acme/large',
          provider: 'Acme',
          usage: { cost: 0.000003 },
        });
      }),
      { numRuns: 300 },
    );
  });

  it('joins texts and moves what they cite', () => {
    const citation = {
      type: 'url-citation' as const,
      url: 'https://a.example',
      title: 'A',
      startIndex: 0,
      endIndex: 2,
    };
    const parts = [
      { type: 'text' as const, text: 'One ' },
      { type: 'text' as const, text: 'two', annotations: [citation] },
    ];
    const body = caller.writeAnswer(
      {
        upstreamId: null,
        createdAt: 1,
        usage: null,
        choices: [{ parts, finishReason: 'stop', nativeFinishReason: null }],
      },
      { usage: fc.sample(anyUsage, 1)[0]!, cost },
      contextOf(),
    );
    expect(body).toMatchObject({
      choices: [
        {
          message: {
            content: 'One two',
            refusal: null,
            annotations: [{ type: 'url_citation', url_citation: { start_index: 4, end_index: 6 } }],
          },
        },
      ],
    });
  });

  it('shows the uses of tools of the server among the thoughts, whole and streamed, unless these are hidden', () => {
    const use = { type: 'server-tool', tool: 'look', itemType: 'x:look', hasSucceeded: true, item: {} } as const;
    const parts: readonly AnswerPart[] = [
      { type: 'reasoning', text: 'a' },
      { ...use, record: { callId: 'c1', arguments: '{}', result: 'found' } },
      use,
      { type: 'text', text: 'b' },
    ];
    const usage = emptyUsage('upstream');
    const details = [
      { type: 'reasoning.text', text: 'a', index: 0 },
      {
        type: 'reasoning.server_tool_call',
        tool_name: 'look',
        tool_call_id: 'c1',
        arguments: '{}',
        result: 'found',
        index: 1,
      },
    ];
    const choices = [{ parts, finishReason: 'stop' as const, nativeFinishReason: null }];
    const answer = { upstreamId: null, createdAt: null, choices, usage };
    const written = (asked?: object) =>
      JSON.parse(JSON.stringify(caller.writeAnswer(answer, { usage, cost }, contextOf(asked)))) as {
        choices: [{ message: object }];
      };
    expect(written().choices[0].message).toMatchObject({ reasoning: 'a', content: 'b', reasoning_details: details });
    const streamed = (asked?: object) => {
      const writer = caller.writeStream(contextOf(asked));
      const frames = eventsOf(parts, usage, 8).flatMap((event) => writer.write(event));
      return dataOfEventStream(joinFrames(frames).toString()).flatMap((data) => {
        const { choices: said } = JSON.parse(data) as { choices: { delta: { reasoning_details?: object[] } }[] };
        return said.flatMap(({ delta }) => delta.reasoning_details ?? []);
      });
    };
    expect(streamed()).toEqual(details);
    const hidden = { messages: [], reasoning: { exclude: true } };
    expect(JSON.stringify(written(hidden))).not.toContain('server_tool_call');
    expect(streamed(hidden)).toEqual([]);
  });

  it('holds no thoughts where the caller wants none', () => {
    fc.assert(
      fc.property(
        anyAnswer,
        fc.constantFrom({ reasoning: { exclude: true } }, { include_reasoning: false }),
        (answer, asked) => {
          const body = caller.writeAnswer(
            answer,
            { usage: answer.usage!, cost },
            contextOf({ messages: [], ...asked }),
          );
          expect(JSON.stringify(body)).not.toMatch(/"reasoning(_details)?":/);
        },
      ),
    );
  });

  it.each<[string, unknown, string]>([
    ['no choices', { id: 'x' }, 'provider_unavailable'],
    ['no object', [], 'provider_unavailable'],
    ['an error', { error: { message: 'slow down', code: 429 } }, 'rate_limit_exceeded'],
    [
      'an error beside choices',
      { choices: [{ message: { content: 'a' }, finish_reason: 'stop' }], error: { code: 429 } },
      'rate_limit_exceeded',
    ],
  ])('with %s is refused', (_what, body, code) => {
    expect(() => upstream.readAnswer(body, plainEndpoint)).toThrow(expect.objectContaining({ code }));
  });

  it('has the pages that upstreams cite, in each of the forms of this API', () => {
    const page = { url: 'https://a.example/', title: 'A' };
    const annotations = [
      { type: 'url_citation', url_citation: { ...page, start_index: 1, end_index: 3, content: 'x' } },
      {
        type: 'web_search_citation',
        web_search_citation: { ...page, title: null, cited_text: 'y', encrypted_index: 'e' },
      },
      { type: 'file', file: { hash: 'h', content: [] } },
      { type: 'web_search_citation', web_search_citation: {} },
    ];
    const choices = [{ message: { content: 'Hello', annotations }, finish_reason: 'stop' }];
    const [choice] = upstream.readAnswer({ choices }, plainEndpoint).choices;
    expect(choice!.parts).toEqual([
      {
        type: 'text',
        text: 'Hello',
        annotations: [
          { type: 'url-citation', ...page, startIndex: 1, endIndex: 3, content: 'x' },
          { type: 'url-citation', url: page.url, title: '', startIndex: 0, endIndex: 0, content: 'y' },
        ],
      },
    ]);
  });

  it('is read from upstreams that are loose with the protocol', () => {
    const body = {
      choices: [
        {
          message: {
            content: [
              { type: 'text', text: 'a' },
              { type: 'text', text: 'b' },
            ],
            reasoning_content: 'why',
            tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }],
          },
          finish_reason: 'max_tokens',
        },
      ],
      usage: { prompt_tokens: '3', completion_tokens: '4' },
    };
    expect(upstream.readAnswer(body, plainEndpoint)).toEqual({
      upstreamId: null,
      createdAt: null,
      usage: null,
      choices: [
        {
          parts: [
            { type: 'reasoning', text: 'why' },
            { type: 'text', text: 'ab' },
            { type: 'tool-call', id: expect.stringMatching(/^call_[\da-f-]{36}$/), name: 'f', arguments: '{"a":1}' },
          ],
          finishReason: 'length',
          nativeFinishReason: 'max_tokens',
        },
      ],
    });
  });

  it('tells of the searches of the web that the upstream made, whole and streamed', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, num_search_queries: 2 };
    const body = { choices: [{ message: { content: 'a' }, finish_reason: 'stop' }], usage };
    expect(upstream.readAnswer(body, plainEndpoint).units).toEqual({ webSearches: 2 });
    const chunk = JSON.stringify({ choices: [], usage });
    const events = upstream.readStream(plainEndpoint).read({ data: chunk } as never);
    expect(events).toContainEqual(expect.objectContaining({ type: 'usage', units: { webSearches: 2 } }));
  });
});

describe('a chat stream', () => {
  it('is the same answer after being written and read, wherever it is cut', () => {
    const cuts = fc.array(fc.nat(), { maxLength: 10 });
    fc.assert(
      fc.property(anyPartSequence, anyUsage, fc.integer({ min: 1, max: 4 }), cuts, (parts, usage, size, at) => {
        const writer = caller.writeStream(contextOf());
        const frames = eventsOf(parts, usage, size).flatMap((event) => writer.write(event));
        const stream = joinFrames([...frames, ...writer.complete({ usage, cost })]);
        expect(foldAnswer(readStream(stream, at))).toEqual({
          upstreamId: 'gen-1-abc',
          createdAt: 1_763_715_601,
          parts,
          logprobs: [],
          usage,
          finishReason: 'stop',
          nativeFinishReason: 'stop',
        });
      }),
      { numRuns: 300 },
    );
  });

  it('adds up to the whole answer of the same upstream', () => {
    fc.assert(
      fc.property(anyAnswer, fc.integer({ min: 1, max: 3 }), (answer, size) => {
        const [{ parts }] = answer.choices as [(typeof answer.choices)[number]];
        fc.pre(parts.length > 0);
        const writer = caller.writeStream(contextOf());
        const frames = eventsOf(parts, answer.usage!, size).flatMap((event) => writer.write(event));
        expect(foldAnswer(readStream(joinFrames([...frames, DONE_FRAME]))).parts).toEqual(parts);
        const whole = sent(caller.writeAnswer(answer, { usage: answer.usage!, cost }, contextOf()));
        expect(upstream.readAnswer(whole, plainEndpoint).choices[0]?.parts).toEqual(parts);
      }),
    );
  });

  it('carries log probabilities', () => {
    fc.assert(
      fc.property(anyLogprobs, fc.constantFrom('text' as const, 'refusal' as const), (logprobs, kind) => {
        const writer = caller.writeStream(contextOf());
        const usage = fc.sample(anyUsage, 1)[0]!;
        const events = eventsOf([{ type: kind, text: 'hi' }], usage, 9).map((event) =>
          event.type === 'text-delta' ? { ...event, logprobs } : event,
        );
        const stream = joinFrames([
          ...events.flatMap((event) => writer.write(event)),
          ...writer.complete({ usage, cost }),
        ]);
        expect(foldAnswer(readStream(stream)).logprobs).toEqual(logprobs);
      }),
    );
  });

  it('puts parallel tool calls one after the other, however their pieces are mixed', () => {
    const anyCalls = fc
      .array(fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.string(), { maxKeys: 3, noNullPrototype: true }), {
        minLength: 1,
        maxLength: 4,
      })
      .map((list) => list.map((value) => JSON.stringify(value)));
    fc.assert(
      fc.property(anyCalls, fc.infiniteStream(fc.nat()), fc.integer({ min: 1, max: 5 }), (calls, dice, size) => {
        const queues = calls.map((text, index) => [
          { index, id: `call_${index}`, function: { name: `f${index}`, arguments: '' } },
          ...(text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []).map((piece) => ({
            index,
            function: { arguments: piece },
          })),
        ]);
        const mixed: object[] = queues.map((queue) => queue.shift()!);
        while (queues.some((queue) => queue.length > 0)) {
          const full = queues.filter((queue) => queue.length > 0);
          mixed.push(full[dice.next().value! % full.length]!.shift()!);
        }
        const stream = mixed.map((call) => chunk({ tool_calls: [call] })).join('') + END;
        expect(foldAnswer(readStream(Buffer.from(stream))).parts).toEqual(
          calls.map((text, index) => ({ type: 'tool-call', id: `call_${index}`, name: `f${index}`, arguments: text })),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('lets the next tool call begin as soon as the one before it is complete', () => {
    const reader = upstream.readStream(plainEndpoint);
    const push = (call: object) => reader.read({ name: null, data: chunk({ tool_calls: [call] }).slice(6) });
    push({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":"}"' } });
    expect(push({ index: 1, id: 'b', function: { name: 'g', arguments: '{' } })).toEqual([]);
    expect(push({ index: 0, function: { arguments: '}' } }).map(({ type }) => type)).toEqual([
      'tool-arguments-delta',
      'part-end',
      'part-start',
      'tool-arguments-delta',
    ]);
  });

  it('reads calls of upstreams that give no index', () => {
    const stream =
      chunk({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] }) +
      chunk({ tool_calls: [{ id: 'b', function: { name: 'g', arguments: '{"a"' } }] }) +
      chunk({ tool_calls: [{ function: { arguments: ':1}' } }] }) +
      END;
    expect(foldAnswer(readStream(Buffer.from(stream))).parts).toEqual([
      { type: 'tool-call', id: 'a', name: 'f', arguments: '{}' },
      { type: 'tool-call', id: 'b', name: 'g', arguments: '{"a":1}' },
    ]);
  });

  it('tells thoughts that are sent twice only once', () => {
    const stream =
      chunk({ reasoning: 'a', reasoning_details: [{ type: 'reasoning.text', text: 'a', index: 0 }] }) +
      chunk({ reasoning: 'b', reasoning_details: [{ type: 'reasoning.text', text: 'b', index: 0 }] }) +
      chunk({
        reasoning_details: [{ type: 'reasoning.text', signature: 's', index: 0, format: 'anthropic-claude-v1' }],
      }) +
      END;
    expect(foldAnswer(readStream(Buffer.from(stream))).parts).toEqual([
      { type: 'reasoning', text: 'ab', signature: 's', format: 'anthropic-claude-v1' },
    ]);
  });

  it.each([
    ['is cut', chunk({ content: 'a' })],
    ['is empty', 'data: [DONE]\n\n'],
    ['is not JSON', 'data: {"choices":[\n\n'],
  ])('that %s is refused', (_what, text) => {
    expect(() => readStream(Buffer.from(text))).toThrow(expect.objectContaining({ code: 'provider_unavailable' }));
  });

  it.each(['{}', '""', 'false'])('goes on past an error that says nothing: %s', (error) => {
    const text = chunk({ content: 'a' }).replace('"choices"', `"error":${error},"choices"`) + END;
    expect(foldAnswer(readStream(Buffer.from(text))).parts).toEqual([{ type: 'text', text: 'a' }]);
  });

  it('says how much it keeps of calls that wait for their turn', () => {
    const reader = upstream.readStream(plainEndpoint);
    const send = (...calls: object[]) =>
      reader.read({
        name: null,
        data: JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { tool_calls: calls } }] }),
      });
    send({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } });
    expect(reader.keptBytes).toBe(0);
    send({ index: 1, id: 'b', function: { name: 'g', arguments: 'y'.repeat(500) } });
    expect(reader.keptBytes).toBe(500);
    send({ index: 0, function: { arguments: ':1}' } });
    expect(reader.keptBytes).toBe(0);
  });

  it('that reports an error throws it', () => {
    const text = `${chunk({ content: 'a' })}data: {"error":{"code":429,"message":"slow down"},"choices":[]}\n\n`;
    expect(() => readStream(Buffer.from(text))).toThrow(expect.objectContaining({ code: 'rate_limit_exceeded' }));
  });

  it.each([
    ['in the field x_groq', null, { choices: [], x_groq: { id: 'r', error: 'over capacity' } }, 'provider_unavailable'],
    ['as an object of its own', null, { object: 'error', message: 'boom', code: 429 }, 'rate_limit_exceeded'],
    ['in the name of its event', 'error', { message: 'boom', code: 429 }, 'rate_limit_exceeded'],
  ])('that reports an error %s throws it', (_where, name, event, code) => {
    const reader = upstream.readStream(plainEndpoint);
    reader.read({ name: null, data: chunk({ content: 'a' }).slice(6) });
    expect(() => reader.read({ name, data: JSON.stringify(event) })).toThrow(expect.objectContaining({ code }));
  });

  it('tells calls apart that upstreams give the same index', () => {
    const whole = (id: string, name: string, text: string) =>
      chunk({ tool_calls: [{ index: 0, id, function: { name, arguments: text } }] });
    const stream =
      whole('a', 'f', '{"x":1}') +
      whole('b', 'f', '{"x"') +
      chunk({ tool_calls: [{ index: 0, function: { arguments: ':2}' } }] }) +
      whole('c', 'g', '') +
      whole('d', 'h', '{}') +
      END;
    expect(foldAnswer(readStream(Buffer.from(stream))).parts).toMatchObject([
      { id: 'a', name: 'f', arguments: '{"x":1}' },
      { id: 'b', name: 'f', arguments: '{"x":2}' },
      { id: 'c', name: 'g' },
      { id: 'd', name: 'h', arguments: '{}' },
    ]);
  });

  it('takes pieces for one call whose id changes on the way', () => {
    const stream =
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }] }) +
      chunk({ tool_calls: [{ index: 0, id: 'b', function: { name: 'f', arguments: ':1}' } }] }) +
      END;
    expect(foldAnswer(readStream(Buffer.from(stream))).parts).toMatchObject([
      { id: 'a', name: 'f', arguments: '{"x":1}' },
    ]);
  });

  it('refuses a tool call that goes on after its end', () => {
    const text =
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] }) +
      chunk({ content: 'b' }) +
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] });
    expect(() => readStream(Buffer.from(text))).toThrow(expect.objectContaining({ code: 'provider_unavailable' }));
  });
});
