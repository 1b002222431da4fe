import { joinFrames } from '../../model/answer-frame';
import fc from 'fast-check';
import type { AnswerPart, CanonicalAnswer, Choice, TokenLogprob } from '../../model/canonical-answer';
import type { CanonicalRequest, ReasoningRequest } from '../../model/canonical-request';
import type { Message, Part, ReasoningPart } from '../../model/conversation';
import { LossLog } from '../../model/loss-report';
import { effortOfBudget } from '../../model/reasoning-budget';
import { emptyUsage, type Usage } from '../../pricing/usage';
import { priceUsage } from '../../pricing/price';
import {
  aModel,
  anEndpoint,
  anyAnswer,
  anyAnswerParts,
  anyPartSequence,
  anyRequest,
  anyUsage,
  aProvider,
  dataOfEventStream,
  eventsOf,
  findResponsesGrammarProblems,
  foldAnswer,
} from '../../testing';
import type { AnswerContext } from '../dialect';
import { itemId } from './answer-items';
import { tierWord } from '../../catalogue/service-tiers';
import { openAiResponsesTranslation } from '.';

const { caller, upstream } = openAiResponsesTranslation;

const endpoint = anEndpoint({ apis: ['responses'], maxCompletionTokens: 16_000 });
const OWN_FORMAT = 'openai-responses-v1';
const context = (body: object = { model: 'acme/large', input: 'Hi' }): AnswerContext => ({
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard',
  beganMs: 0,
  requestBody: Buffer.from(JSON.stringify(body)),
});
const billOf = (usage: Usage) => ({ usage, cost: priceUsage(endpoint.pricing, usage) });
const throughJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const write = (request: CanonicalRequest, log = new LossLog()) =>
  throughJson(upstream.writeRequest(request, endpoint, false, log)) as Record<string, unknown>;

/** The part of a request that this API has fields for. */
function representable(request: CanonicalRequest): CanonicalRequest {
  const { temperature, topP, frequencyPenalty, presencePenalty } = request.sampling;
  const { choices: _n, cache: _cache, outputModalities: _modalities, reasoning, ...kept } = request;
  const thinking = reasoning && representableReasoning(reasoning, request.maxOutputTokens);
  return throughJson({
    ...kept,
    messages: merged(request.messages.map(representableMessage)),
    tools: request.tools.map(({ cache: _mark, strict = false, ...tool }) => ({ ...tool, strict })),
    sampling: { temperature, topP, frequencyPenalty, presencePenalty },
    stopSequences: [],
    ...(thinking && { reasoning: thinking }),
    ...(reasoning && reasoning.isEnabled !== false && reasoning.effort !== 'none' && { wantsSealedThoughts: true }),
  });
}

function representableReasoning(asked: ReasoningRequest, maxOutputTokens = 16_000): ReasoningRequest | undefined {
  const { isEnabled, maxTokens, effort, summary, isHidden } = asked;
  const budgeted = maxTokens === undefined ? effort : (effort ?? effortOfBudget(maxTokens, maxOutputTokens));
  const written = {
    effort: isEnabled === false ? ('none' as const) : budgeted,
    summary: isHidden === true ? undefined : summary,
  };
  return written.effort || written.summary ? written : undefined;
}

function representableMessage({ role, parts }: Message): Message {
  return { role, parts: parts.flatMap((part) => representablePart(part, role) ?? []) };
}

function representablePart(part: Part, role: Message['role']): Part | null {
  if (part.type === 'reasoning') return isOwn(part) ? withoutOurs(part) : null;
  if (part.type === 'image' && role === 'assistant') return null;
  if (part.type === 'tool-result') {
    return { ...part, parts: part.parts.map((inner) => representablePart(inner, 'user') as typeof inner) };
  }
  const { cache: _mark, ...kept } = part as Part & { cache?: object };
  if (kept.type === 'text') return withoutContents(kept);
  if (kept.type !== 'image') return kept;
  const { detail, ...image } = kept;
  return detail === undefined || detail === 'auto' ? image : { ...image, detail };
}

function withoutContents({ annotations, ...text }: Extract<Part, { type: 'text' }>): Part {
  return annotations ? { ...text, annotations: annotations.map(({ content: _content, ...source }) => source) } : text;
}

/** A thought without the fields that callers get and providers do not. */
function withoutOurs({ format: _format, signature: _signature, ...part }: ReasoningPart): ReasoningPart {
  return part;
}

function isOwn({ format, encrypted, text }: ReasoningPart): boolean {
  if (format === OWN_FORMAT) return encrypted !== undefined || text !== undefined;
  return encrypted !== undefined && (format === undefined || format === 'unknown');
}

/** Turns of a model that follow each other are one; those that say nothing are none. */
function merged(messages: readonly Message[]): Message[] {
  const list: Message[] = [];
  for (const message of messages) {
    const last = list.at(-1);
    if (message.parts.length === 0) continue;
    if (last?.role !== 'assistant' || message.role !== 'assistant') list.push(message);
    else list[list.length - 1] = { ...last, parts: [...last.parts, ...message.parts] };
  }
  return list;
}

describe('a request that goes through this API', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(anyRequest, (request) => {
        expect(throughJson(caller.readRequest(write(request)))).toEqual(representable(request));
      }),
      { numRuns: 500 },
    );
  });

  it('says what it could not carry', () => {
    const log = new LossLog();
    write(
      {
        messages: [
          { role: 'user', name: 'anna', parts: [{ type: 'text', text: 'x', cache: {} }] },
          {
            role: 'assistant',
            parts: [{ type: 'reasoning', text: 'x', signature: 's', format: 'anthropic-claude-v1' }],
          },
          { role: 'tool', parts: [{ type: 'tool-result', callId: 'c', parts: [], isError: true }] },
        ],
        tools: [],
        sampling: { topK: 1, minP: 1, topA: 1, repetitionPenalty: 1, seed: 1, logitBias: { x: 1 } },
        stopSequences: ['x'],
        choices: 2,
        reasoning: { maxTokens: 1_000 },
        outputModalities: ['image'],
        unread: [],
      },
      log,
    );
    expect(log.report()).toEqual({
      dropped: [
        'top_k',
        'min_p',
        'top_a',
        'repetition_penalty',
        'seed',
        'logit_bias',
        'stop',
        'n',
        'modalities',
        'name',
        'cache_control',
        'reasoning',
      ],
      approximated: ['is_error', 'reasoning.max_tokens'],
    });
  });

  it('leaves nothing at the upstream and has sealed thoughts come along', () => {
    const request: CanonicalRequest = { messages: [], tools: [], sampling: {}, stopSequences: [], unread: [] };
    expect(write(request)).toEqual({ model: 'acme-large-2026', input: [], store: false, stream: false });
    expect(write({ ...request, reasoning: { effort: 'high' }, topLogprobs: 2 })['include']).toEqual([
      'reasoning.encrypted_content',
      'message.output_text.logprobs',
    ]);
    expect(write({ ...request, reasoning: { effort: 'none' } })).not.toHaveProperty('include');
    const { wantsSealedThoughts } = caller.readRequest({ input: 'Hi', include: ['reasoning.encrypted_content'] });
    expect(write({ ...request, wantsSealedThoughts: wantsSealedThoughts! })['include']).toEqual([
      'reasoning.encrypted_content',
    ]);
    const thoughtless = { ...endpoint, supportedParameters: ['tools'] };
    const asked = upstream.writeRequest({ ...request, wantsSealedThoughts: true }, thoughtless, false, new LossLog());
    expect(asked).not.toHaveProperty('include');
    const writeContinued = (more: Partial<CanonicalRequest>, supportedParameters: readonly string[]): object => {
      const continued = { ...request, isContinued: true, ...more };
      return upstream.writeRequest(continued, { ...endpoint, supportedParameters }, false, new LossLog());
    };
    expect(writeContinued({}, ['reasoning'])).toMatchObject({ include: ['reasoning.encrypted_content'], store: false });
    expect(writeContinued({ reasoning: { effort: 'none' } }, ['reasoning'])).not.toHaveProperty('include');
    for (const listed of [['tools'], []]) expect(writeContinued({}, listed)).not.toHaveProperty('include');
  });

  it('gives thoughts back only to the kind of provider that sealed them', () => {
    const thought: ReasoningPart = { type: 'reasoning', encrypted: 'x', id: 'rs_1', format: 'xai-responses-v1' };
    const request: CanonicalRequest = {
      messages: [{ role: 'assistant', parts: [thought] }],
      tools: [],
      sampling: {},
      stopSequences: [],
      unread: [],
    };
    const inputAt = (slug: string, upstreamModel = 'm') => {
      const there = { ...endpoint, provider: aProvider({ slug }), upstreamModel };
      const written = upstream.writeRequest(request, there, false, new LossLog());
      return (written as { input: unknown[] }).input;
    };
    expect(inputAt('xai')).toEqual([{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }]);
    for (const slug of ['openai', 'azure', 'amazon-bedrock', 'meta']) expect(inputAt(slug)).toEqual([]);
  });

  it('leaves out thoughts of which there is only a summary, for nobody kept the rest', () => {
    const thought: ReasoningPart = { type: 'reasoning', id: 'rs_1', summary: 'Hm', format: OWN_FORMAT };
    const messages = [{ role: 'assistant' as const, parts: [thought, { type: 'text' as const, text: 'Hi' }] }];
    const log = new LossLog();
    const written = write({ messages, tools: [], sampling: {}, stopSequences: [], unread: [] }, log);
    expect(written['input']).toMatchObject([{ type: 'message' }]);
    expect(log.report().dropped).toEqual(['reasoning']);
  });
});

describe('a request of this API', () => {
  const read = (body: object) => caller.readRequest(body as Record<string, unknown>);

  it('sends no choice without tools, which the API refuses, and names one that is lost', () => {
    const log = new LossLog();
    const messages = [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] as const;
    const asked = { messages, tools: [], sampling: {}, stopSequences: [], unread: [] };
    expect(write({ ...asked, toolChoice: { type: 'required' } }, log)).not.toHaveProperty('tool_choice');
    expect(log.report().dropped).toEqual(['tool_choice']);
  });

  it('is text, or items that are one turn each', () => {
    expect(read({ input: 'Hi', instructions: 'Be kind' }).messages).toEqual([
      { role: 'system', parts: [{ type: 'text', text: 'Be kind' }] },
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
    ]);
    const input = [
      { role: 'user', content: 'Weather?' },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [
          { type: 'summary_text', text: 'A' },
          { type: 'summary_text', text: 'B' },
        ],
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me see' }] },
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x":' },
      { type: 'function_call', call_id: 'b', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output: 'rain' },
      { type: 'function_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'sun' }] },
    ];
    expect(read({ input }).messages).toEqual([
      { role: 'user', parts: [{ type: 'text', text: 'Weather?' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', summary: 'A\n\nB', id: 'rs_1' },
          { type: 'text', text: 'Let me see' },
          { type: 'tool-call', id: 'a', name: 'f', arguments: '{"x":' },
          { type: 'tool-call', id: 'b', name: 'f', arguments: '{}' },
        ],
      },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', parts: [{ type: 'text', text: 'rain' }] }] },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'b', parts: [{ type: 'text', text: 'sun' }] }] },
    ]);
  });

  it('may hold marks for the prompt cache', () => {
    const text = { type: 'input_text', text: 'x' };
    const content = [
      { ...text, prompt_cache_breakpoint: { mode: 'explicit' } },
      { ...text, cache_control: { type: 'ephemeral', ttl: '1h' } },
    ];
    const { messages, cache } = read({ input: [{ role: 'user', content }], cache_control: { type: 'ephemeral' } });
    expect(messages[0]?.parts).toEqual([
      { type: 'text', text: 'x', cache: {} },
      { type: 'text', text: 'x', cache: { ttl: '1h' } },
    ]);
    expect(cache).toEqual({});
  });

  it('has functions, and tools with free text', () => {
    const tools = [
      { type: 'function', name: 'f', parameters: { type: 'object' }, strict: null },
      {
        type: 'custom',
        name: 'shell',
        description: 'runs',
        format: { type: 'grammar', syntax: 'lark', definition: '' },
      },
      { type: 'sluice:web_search' },
    ];
    const { tools: read1, toolChoice, unread } = read({ tools, tool_choice: { type: 'custom', name: 'shell' } });
    expect(read1).toEqual([
      { name: 'f', parameters: { type: 'object' } },
      expect.objectContaining({
        name: 'shell',
        description: 'runs',
        freeText: { grammar: { syntax: 'lark', definition: '' } },
      }),
    ]);
    expect(toolChoice).toEqual({ type: 'tool', name: 'shell' });
    expect(unread).toEqual(['tools.sluice:web_search']);
    const allowed = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] };
    expect(read({ tools, tool_choice: allowed })).toMatchObject({
      tools: [{ name: 'f' }],
      toolChoice: { type: 'required' },
    });
  });

  it('names a wish about parallel calls that is lost with all tools', () => {
    const body = { input: 'Hi', parallel_tool_calls: false };
    expect(read({ ...body, tools: [{ type: 'local_shell' }] })).toMatchObject({
      areParallelToolCallsAllowed: false,
      unread: ['tools.local_shell', 'parallel_tool_calls'],
    });
    expect(read({ ...body, tools: [] }).unread).toEqual([]);
    expect(read({ ...body, tools: [{ type: 'local_shell' }, { type: 'function', name: 'f' }] })).toMatchObject({
      areParallelToolCallsAllowed: false,
      unread: ['tools.local_shell'],
    });
  });

  it('asks for log probabilities by their number, or by wanting them in the answer', () => {
    expect(read({ input: 'x', top_logprobs: 3 }).topLogprobs).toBe(3);
    const asked = read({ input: 'x', include: ['message.output_text.logprobs'] });
    expect(asked).toMatchObject({ topLogprobs: 0, unread: [] });
    const unheard = read({ input: 'Hi', tool_choice: 'any', text: { format: { type: 'grammar', grammar: 'x' } } });
    expect(unheard.unread.toSorted()).toEqual(['text.format', 'tool_choice']);
    expect(read({ input: 'x' })).not.toHaveProperty('topLogprobs');
  });

  it('keeps no thought that led to nothing but an item which is left out', () => {
    const thought = (id: string) => ({ type: 'reasoning', id, summary: [], encrypted_content: `sealed ${id}` });
    const tool = { type: 'sluice:web_search', id: 'st_1', status: 'completed' };
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    const idsOf = (...items: object[]) => {
      const input = [{ role: 'user', content: 'Hi' }, ...items, { role: 'user', content: 'And?' }];
      const parts = caller.readRequest({ model: 'm', input }).messages.flatMap((message) => message.parts);
      return parts.flatMap((part) => (part.type === 'reasoning' ? [part.id] : []));
    };
    const answer = { type: 'message', role: 'assistant', content: 'So.' };
    expect(idsOf(thought('a'), tool, tool, thought('b'), answer)).toEqual(['b']);
    expect(idsOf(thought('a'), { type: 'web_search_call', id: 'ws_1' }, thought('b'))).toEqual(['b']);
    expect(idsOf(thought('a'), tool, call, { type: 'function_call_output', call_id: 'c', output: '1' })).toEqual(['a']);
    expect(idsOf(thought('a'), tool, answer)).toEqual(['a']);
    expect(idsOf(thought('a'), tool)).toEqual([]);
    expect(idsOf(thought('a'), thought('b'), call)).toEqual(['a', 'b']);
  });

  it('has the tools of namespaces and of its input under flat names, wherever it names them', () => {
    const spawn = { type: 'function', name: 'spawn', parameters: { type: 'object' } };
    const agents = { type: 'namespace', name: 'agents', tools: [spawn] };
    const request = read({
      input: [
        { type: 'additional_tools', tools: [agents, { type: 'web_search' }] },
        { role: 'user', content: 'Go' },
        { type: 'function_call', call_id: 'c', namespace: 'agents', name: 'spawn', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'ok' },
      ],
      tools: [{ type: 'function', name: 'own' }],
      tool_choice: { type: 'function', name: 'spawn' },
    });
    expect(request.tools.map(({ name }) => name)).toEqual(['own', 'agents__spawn']);
    expect(request.messages[1]).toMatchObject({ parts: [{ type: 'tool-call', name: 'agents__spawn' }] });
    expect(request.toolChoice).toEqual({ type: 'tool', name: 'agents__spawn' });
    expect(request.unread).toEqual(['tools.web_search']);
    const found = read({
      input: [
        { role: 'user', content: 'Go' },
        { type: 'tool_search_call', call_id: 's', execution: 'client', arguments: { query: 'agents' } },
        { type: 'tool_search_output', call_id: 's', execution: 'client', tools: [agents] },
      ],
    });
    expect([found.tools.map(({ name }) => name), found.unread]).toEqual([
      ['agents__spawn'],
      ['input.tool_search_call'],
    ]);
    const allowedBy = (entry: object) =>
      read({
        input: 'Hi',
        tools: [spawn, agents],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [entry] },
      }).tools.map(({ name }) => name);
    expect(allowedBy({ type: 'namespace', name: 'agents' })).toEqual(['agents__spawn']);
    expect(allowedBy({ type: 'function', name: 'spawn', namespace: 'agents' })).toEqual(['agents__spawn']);
    expect(allowedBy({ type: 'function', name: 'spawn' })).toEqual(['spawn', 'agents__spawn']);
  });

  it('names what has no place in a conversation', () => {
    const { unread } = read({
      input: [
        { type: 'web_search_call', id: 'x' },
        { role: 'user', content: [{ type: 'hologram' }] },
        {
          role: 'assistant',
          phase: 'commentary',
          content: [{ type: 'output_text', text: 'x', annotations: [{ type: 'file_citation', file_id: 'f' }] }],
        },
        {
          type: 'function_call_output',
          call_id: 'c',
          output: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }],
        },
      ],
      reasoning: { context: 'auto', effort: 'low' },
      include: ['file_search_call.results'],
      truncation: 'auto',
      tool_choice: { type: 'shell' },
      image_config: {},
      some_future_member: 1,
      absent: null,
      model: 'm',
      plugins: [],
    });
    expect(unread.toSorted()).toEqual([
      'image_config',
      'include',
      'input.annotations',
      'input.content.hologram',
      'input.output',
      'input.phase',
      'input.web_search_call',
      'reasoning.context',
      'some_future_member',
      'tool_choice',
      'truncation',
    ]);
  });

  it('never names its end user', () => {
    expect(read({ user: 'anna', safety_identifier: 'bob' }).endUser).toMatch(/^[0-9a-f]{64}$/);
    expect(read({ user: 'anna' }).endUser).not.toBe(read({ user: 'bob' }).endUser);
  });

  it('cannot refer to what nobody stored', () => {
    expect(() => read({ input: [{ type: 'item_reference', id: 'msg_1' }] })).toThrow(
      expect.objectContaining({ code: 'invalid_request' }) as Error,
    );
    expect(() => read({ input: [{ role: 'user', content: [{ type: 'input_image' }] }] })).toThrow('image_url');
  });
});

/** The parts of an answer as an upstream of this API would send them. */
function told(parts: readonly AnswerPart[]): AnswerPart[] {
  let index = -1;
  let isSpeaking = false;
  return parts.map((part) => {
    const speaks = part.type === 'text' || part.type === 'refusal';
    if (!speaks || !isSpeaking) index += 1;
    isSpeaking = speaks;
    if (part.type !== 'reasoning') return part;
    return { ...part, id: part.id ?? itemId('rs', 'gen-1-abc', index), format: part.format ?? OWN_FORMAT };
  });
}

function toldChoice({ parts, finishReason, logprobs }: Choice): object {
  const hasCalls = parts.some(({ type }) => type === 'tool-call');
  const isCut = finishReason === 'length' || finishReason === 'content_filter';
  const native = finishReason === 'length' ? 'max_output_tokens' : finishReason;
  const withBytes = (entry: Omit<TokenLogprob, 'top'>) => ({
    ...entry,
    bytes: entry.bytes ?? [...Buffer.from(entry.token)],
  });
  return {
    parts: told(parts),
    finishReason: isCut ? finishReason : hasCalls ? 'tool_calls' : 'stop',
    nativeFinishReason: isCut ? native : 'completed',
    ...(logprobs &&
      parts.some(({ type }) => type === 'text') && {
        logprobs: logprobs.map(({ top, ...entry }) => ({ ...withBytes(entry), top: top.map(withBytes) })),
      }),
  };
}

const withoutAudio = (usage: Usage): Usage => ({ ...usage, audioPromptTokens: 0, audioCompletionTokens: 0 });

/** Requests without and with a wish for encrypted thoughts. */
const anyWish = fc.constantFrom({}, { include: ['reasoning.encrypted_content'] });

describe('an answer that goes through this API', () => {
  it('has all of a foreign thought in what clients send back of it, if they ask for that', () => {
    const thought: ReasoningPart = { type: 'reasoning', text: 'Hm', signature: 'sig', format: 'anthropic-claude-v1' };
    const call: AnswerPart = { type: 'tool-call', id: 'c1', name: 'look', arguments: '{}' };
    const choices = [{ parts: [thought, call], finishReason: 'tool_calls' as const, nativeFinishReason: null }];
    const answer = { upstreamId: null, createdAt: null, choices, usage: emptyUsage('upstream') };
    const outputFor = (body?: object) => {
      const written = throughJson(caller.writeAnswer(answer, billOf(answer.usage), context(body)));
      return (written as { output: Record<string, unknown>[] }).output;
    };
    expect(outputFor()[0]).not.toHaveProperty('encrypted_content');
    const asking = { model: 'acme/large', input: 'Hi', include: ['reasoning.encrypted_content'] };
    const [{ id, encrypted_content: sealed } = {}, called] = outputFor(asking);
    // What Codex sends: neither the text, nor fields that OpenAI does not have.
    const input = [{ type: 'reasoning', id, summary: [], encrypted_content: sealed }, called];
    const { messages } = caller.readRequest({ model: 'acme/large', input });
    expect(throughJson(messages[0]!.parts)).toEqual([{ ...thought, id }, call]);
  });

  it('keeps the call that a signature of Gemini belongs to, also for clients that send no ids back', () => {
    const thought = { type: 'reasoning', id: 'c1', signature: 'sig', format: 'google-gemini-v1' } as const;
    const call: AnswerPart = { type: 'tool-call', id: 'c1', name: 'look', arguments: '{}' };
    const choices = [{ parts: [thought, call], finishReason: 'tool_calls' as const, nativeFinishReason: null }];
    const answer = { upstreamId: null, createdAt: null, choices, usage: emptyUsage('upstream') };
    const asking = { model: 'acme/large', input: 'Hi', include: ['reasoning.encrypted_content'] };
    const written = throughJson(caller.writeAnswer(answer, billOf(answer.usage), context(asking)));
    const [{ id: _, ...item } = {}, called] = (written as { output: Record<string, unknown>[] }).output;
    const { messages } = caller.readRequest({ model: 'acme/large', input: [item, called] });
    expect(throughJson(messages[0]!.parts)).toEqual([thought, call]);
  });

  it.each(['queued', 'in_progress'])('is none while it is %s', (status) => {
    expect(() => upstream.readAnswer({ id: 'resp_1', status, output: [] }, endpoint)).toThrow(
      expect.objectContaining({ code: 'provider_unavailable' }) as Error,
    );
  });

  it('is read as it was written', () => {
    const whole = anyAnswer.filter(({ choices: [choice] }) => choice?.finishReason !== 'error');
    fc.assert(
      fc.property(whole, anyWish, (answer: CanonicalAnswer, wish) => {
        const body = throughJson(caller.writeAnswer(answer, billOf(answer.usage!), context({ input: 'Hi', ...wish })));
        const { units, ...read } = upstream.readAnswer(body, endpoint);
        const pictures = answer.choices[0]!.parts.filter(({ type }) => type === 'generated-image');
        expect(units?.tools?.get('image_generation') ?? 0).toBe(pictures.length);
        expect(throughJson(read)).toEqual(
          throughJson({
            upstreamId: 'gen-1-abc',
            createdAt: answer.createdAt,
            choices: [toldChoice(answer.choices[0]!)],
            usage: withoutAudio(answer.usage!),
            ...(answer.serviceTier !== undefined && { serviceTier: tierWord(answer.serviceTier) }),
          }),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('is read as it was written when it is streamed, however it is cut', () => {
    fc.assert(
      fc.property(anyPartSequence, anyUsage, fc.integer({ min: 1, max: 12 }), anyWish, (parts, usage, size, wish) => {
        const writer = caller.writeStream(context({ input: 'Hi', ...wish }));
        const frames = eventsOf(parts, usage, size).flatMap((event) => writer.write(event));
        const data = dataOfEventStream(joinFrames([...frames, ...writer.complete(billOf(usage))]).toString());
        expect(findResponsesGrammarProblems(data)).toEqual([]);
        const reader = upstream.readStream(endpoint);
        const events = data.flatMap((event) => reader.read({ name: null, data: event }));
        expect([...events, ...reader.end()]).toEqual(events);
        expect(foldAnswer(events)).toMatchObject({
          upstreamId: 'gen-1-abc',
          parts: told(parts),
          usage: withoutAudio(usage),
          finishReason: parts.some(({ type }) => type === 'tool-call') ? 'tool_calls' : 'stop',
        });
      }),
      { numRuns: 500 },
    );
  });

  it('is the same streamed and whole', () => {
    fc.assert(
      fc.property(anyAnswerParts, anyUsage, fc.integer({ min: 1, max: 12 }), anyWish, (parts, usage, size, wish) => {
        const asked = context({ input: 'Hi', ...wish });
        const writer = caller.writeStream(asked);
        eventsOf(parts, usage, size).forEach((event) => writer.write(event));
        const [terminal] = dataOfEventStream(joinFrames(writer.complete(billOf(usage))).toString()).slice(-2);
        const { response } = JSON.parse(terminal!) as { response: object };
        const choices = [{ parts, finishReason: 'stop' as const, nativeFinishReason: 'stop' }];
        const answer = { upstreamId: 'up-1', createdAt: 1_763_715_601, choices, usage };
        const written = throughJson(caller.writeAnswer(answer, billOf(usage), asked));
        expect({ ...response, completed_at: 0 }).toEqual({ ...written, completed_at: 0 });
      }),
      { numRuns: 200 },
    );
  });
});
