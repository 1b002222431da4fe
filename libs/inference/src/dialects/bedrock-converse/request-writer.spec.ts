import fc from 'fast-check';
import type { CanonicalRequest } from '../../model/canonical-request';
import type { Part } from '../../model/conversation';
import { LossLog, type LossReport } from '../../model/loss-report';
import { anEndpoint, anyRequest } from '../../testing';
import { writeRequest } from './request-writer';

const CLAUDE = 'global.anthropic.claude-x-v1:0';
const NOVA_1 = 'us.amazon.nova-pro-v1:0';
const NOVA_2 = 'global.amazon.nova-2-lite-v1:0';
const GPT = 'global.openai.gpt-9-sol';
const GPT_OSS = 'openai.gpt-oss-120b-1:0';
const LLAMA = 'us.meta.llama9-v1:0';
const QWEN = 'qwen.qwen9-v1:0';

interface Body {
  readonly system?: Record<string, unknown>[];
  readonly messages: { role: string; content: Record<string, unknown>[] }[];
  readonly toolConfig?: { tools: unknown[]; toolChoice?: object };
  readonly [member: string]: unknown;
}

const user = (...parts: Part[]) => ({ role: 'user' as const, parts });
const text = (words: string) => ({ type: 'text' as const, text: words });
const PNG = { kind: 'base64' as const, mediaType: 'image/png', data: 'iVBORw0KGgo=' };
const PDF = { kind: 'base64' as const, mediaType: 'application/pdf', data: 'JVBERi0=' };
const CALL = { type: 'tool-call' as const, id: 'call-1', name: 'look_up', arguments: '{"a":1}' };
const RESULT = { type: 'tool-result' as const, callId: 'call-1', parts: [text('found')] };

function write(
  upstreamModel: string,
  values: Partial<CanonicalRequest>,
  capabilities = {},
): { body: Body; losses: LossReport } {
  const log = new LossLog();
  const request = { messages: [user(text('Hi'))], tools: [], sampling: {}, stopSequences: [], unread: [], ...values };
  const body = writeRequest(request, anEndpoint({ upstreamModel, capabilities }), false, log);
  return { body: JSON.parse(JSON.stringify(body)) as Body, losses: log.report() };
}

const contentOf = (model: string, ...parts: Part[]) => {
  const { body, losses } = write(model, { messages: [user(...parts)] });
  return { content: body.messages[0]?.content, ...losses };
};

describe(writeRequest.name, () => {
  it('writes a whole conversation', () => {
    const { body, losses } = write(CLAUDE, {
      messages: [
        { role: 'system', parts: [text('Be brief.')] },
        user(text('What is it?'), { type: 'image', source: PNG }),
        { role: 'assistant', parts: [text('Let me see.'), CALL] },
        { role: 'tool', parts: [{ ...RESULT, isError: true }] },
        user(text('Well?')),
      ],
      tools: [{ name: 'look_up', description: 'Looks up.', parameters: { properties: {} }, strict: true }],
      toolChoice: { type: 'auto' },
      sampling: { temperature: 0.5, topP: 1, topK: 40 },
      stopSequences: ['END'],
      maxOutputTokens: 100,
      serviceTier: 'flex',
      endUser: '0a1b2c',
      responseFormat: { type: 'json-schema', name: 'thing', schema: { type: 'object', properties: {} } },
    });
    expect(body).toEqual({
      system: [{ text: 'Be brief.' }],
      messages: [
        {
          role: 'user',
          content: [{ text: 'What is it?' }, { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } }],
        },
        {
          role: 'assistant',
          content: [{ text: 'Let me see.' }, { toolUse: { toolUseId: 'call-1', name: 'look_up', input: { a: 1 } } }],
        },
        {
          role: 'user',
          content: [
            { toolResult: { toolUseId: 'call-1', content: [{ text: 'found' }], status: 'error' } },
            { text: 'Well?' },
          ],
        },
      ],
      inferenceConfig: { maxTokens: 100, temperature: 0.5, stopSequences: ['END'] },
      toolConfig: {
        tools: [
          {
            toolSpec: {
              name: 'look_up',
              description: 'Looks up.',
              inputSchema: { json: { type: 'object', properties: {}, additionalProperties: false } },
              strict: true,
            },
          },
        ],
        toolChoice: { auto: {} },
      },
      additionalModelRequestFields: { top_k: 40 },
      additionalModelResponseFieldPaths: ['/stop_sequence'],
      outputConfig: {
        textFormat: {
          type: 'json_schema',
          structure: {
            jsonSchema: { schema: '{"type":"object","properties":{},"additionalProperties":false}', name: 'thing' },
          },
        },
      },
      serviceTier: { type: 'flex' },
      requestMetadata: { user: '0a1b2c' },
    });
    expect(losses).toEqual({ dropped: [], approximated: [] });
  });

  it('writes nothing that was not asked for', () => {
    expect(write(CLAUDE, {}).body).toEqual({ messages: [{ role: 'user', content: [{ text: 'Hi' }] }] });
  });

  describe('media', () => {
    const base64 = (mediaType: string | null, data = 'AAAA') => ({ kind: 'base64' as const, mediaType, data });

    it.each<[string, Part, object]>([
      [
        'a picture of unnamed type',
        { type: 'image', source: base64(null, '/9j/AA==') },
        { image: { format: 'jpeg', source: { bytes: '/9j/AA==' } } },
      ],
      [
        'a picture sent as a file',
        { type: 'file', source: PNG },
        { image: { format: 'png', source: { bytes: PNG.data } } },
      ],
      [
        'a film',
        { type: 'video', source: base64('video/quicktime') },
        { video: { format: 'mov', source: { bytes: 'AAAA' } } },
      ],
      [
        'a film sent as a file',
        { type: 'file', source: base64('video/mp4') },
        { video: { format: 'mp4', source: { bytes: 'AAAA' } } },
      ],
      [
        'a sound',
        { type: 'audio', data: 'AAAA', format: 'wav' },
        { audio: { format: 'wav', source: { bytes: 'AAAA' } } },
      ],
    ])('carries %s', (_what, part, block) => {
      expect(contentOf(NOVA_1, part)).toEqual({ content: [block], dropped: [], approximated: [] });
    });

    it.each<[string | null, string | undefined, string, string | null]>([
      ['application/pdf', undefined, 'AAAA', 'pdf'],
      ['text/markdown; charset=utf-8', undefined, 'AAAA', 'md'],
      ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', undefined, 'AAAA', 'xlsx'],
      ['application/octet-stream', 'notes.DOCX', 'AAAA', 'docx'],
      ['text/x-python', undefined, 'AAAA', 'txt'],
      [null, undefined, 'JVBERi0xLjc=', 'pdf'],
      [null, undefined, 'AAAA', null],
      ['application/zip', 'a.zip', 'AAAA', null],
    ])('takes %s named %s for a document', (mediaType, filename, data, format) => {
      const part = { type: 'file' as const, source: base64(mediaType, data), ...(filename && { filename }) };
      const { content, dropped } = contentOf(CLAUDE, text('Read'), part);
      if (format === null) expect(dropped).toEqual(['file']);
      else expect(content![1]).toMatchObject({ document: { format, source: { bytes: data } } });
    });

    it.each<[string, Part]>([
      ['image', { type: 'image', source: { kind: 'url', url: 'https://files.example/a.png' } }],
      ['image', { type: 'image', source: base64('image/tiff') }],
      ['file', { type: 'file', source: { kind: 'url', url: 'https://files.example/a.pdf' } }],
      ['file', { type: 'file', source: { kind: 'file-id', id: 'file-1' } }],
      ['video', { type: 'video', source: { kind: 'url', url: 'https://files.example/a.mp4' } }],
    ])('tells that it cannot carry %s', (member, part) => {
      expect(contentOf(CLAUDE, text('Look'), part)).toEqual({
        content: [{ text: 'Look' }],
        dropped: [member],
        approximated: [],
      });
    });

    it('gives every document a plain name of its own, and words beside them', () => {
      const file = (filename?: string): Part => ({ type: 'file', source: PDF, ...(filename && { filename }) });
      const { content } = contentOf(
        CLAUDE,
        file('Q3  report_(v2).pdf'),
        file('q3 Report-(v2)'),
        file(),
        file('报告.pdf'),
        file(),
      );
      const names = content!.flatMap(({ document }) => (document ? [(document as { name: string }).name] : []));
      expect(names).toEqual(['Q3 report-(v2)', 'q3 Report-(v2)-2', 'document', '-', 'document-2']);
      expect(content!.at(-1)).toEqual({ text: '.' });
    });
  });

  describe('tools', () => {
    it('replaces an id that Bedrock does not take, the same way for the call and its result', () => {
      const id = 'call:with/other characters';
      const { body } = write(CLAUDE, {
        messages: [
          user(text('Hi')),
          {
            role: 'assistant',
            parts: [
              { ...CALL, id },
              { ...CALL, id: 'x'.repeat(65) },
            ],
          },
          { role: 'tool', parts: [{ ...RESULT, callId: id }] },
        ],
      });
      const [, { content: calls }, { content: results }] = body.messages as [
        object,
        Body['messages'][0],
        Body['messages'][0],
      ];
      const ids = calls.map(({ toolUse }) => (toolUse as { toolUseId: string }).toolUseId);
      expect(ids).toEqual([expect.stringMatching(/^call_[0-9a-f]{32}$/), expect.stringMatching(/^call_[0-9a-f]{32}$/)]);
      expect(results[0]!['toolResult']).toMatchObject({ toolUseId: ids[0] });
    });

    it('names the tools that were used where the caller names none any more', () => {
      const { body, losses } = write(CLAUDE, {
        messages: [user(text('Hi')), { role: 'assistant', parts: [CALL] }, { role: 'tool', parts: [RESULT] }],
      });
      expect(body.toolConfig).toEqual({
        tools: [{ toolSpec: { name: 'look_up', inputSchema: { json: { type: 'object' } } } }],
      });
      expect(losses.approximated).toEqual(['tools']);
    });

    const tools = [{ name: 'look_up', parameters: null }];

    it('shows no tools that must not be used', () => {
      const { body, losses } = write(CLAUDE, { tools, toolChoice: { type: 'none' } });
      expect(body).not.toHaveProperty('toolConfig');
      expect(losses).toEqual({ dropped: [], approximated: [] });
    });

    it('cannot forbid tools in a conversation that shows their use', () => {
      const messages = [user(text('Hi')), { role: 'assistant' as const, parts: [CALL] }];
      const { body, losses } = write(CLAUDE, { messages, tools, toolChoice: { type: 'none' } });
      expect(body.toolConfig!.tools).toHaveLength(1);
      expect(losses.approximated).toEqual(['tool_choice']);
    });

    it.each([
      [{ type: 'required' as const }, { any: {} }],
      [{ type: 'tool' as const, name: 'look_up' }, { tool: { name: 'look_up' } }],
      [undefined, undefined],
    ])('writes the choice %j', (toolChoice, expected) => {
      expect(write(NOVA_1, { tools, toolChoice }).body.toolConfig!.toolChoice).toEqual(expected);
    });

    it('says that a tool failed only where the model takes it, and something where it said nothing', () => {
      const messages = [
        user(text('Hi')),
        { role: 'assistant' as const, parts: [CALL] },
        { role: 'tool' as const, parts: [{ ...RESULT, parts: [text(' ')], isError: true }] },
      ];
      const { body, losses } = write(QWEN, { messages, tools });
      expect(body.messages[2]!.content).toEqual([{ toolResult: { toolUseId: 'call-1', content: [{ text: '.' }] } }]);
      expect(losses.dropped).toEqual(['is_error']);
    });
  });

  describe('cache marks', () => {
    const mark = { cache: { ttl: '1h' } };
    const values = {
      messages: [
        { role: 'system' as const, parts: [{ ...text('Be brief.'), ...mark }] },
        user({ ...text('Hi'), ...mark }),
        { role: 'assistant' as const, parts: [CALL] },
        { role: 'tool' as const, parts: [{ ...RESULT, parts: [{ ...text('found'), cache: {} }] }] },
      ],
      tools: [{ name: 'look_up', parameters: null, ...mark }],
      cache: {},
    };

    it('stand behind what they mark, as points of their own', () => {
      const { body, losses } = write(CLAUDE, values);
      const hour = { cachePoint: { type: 'default', ttl: '1h' } };
      expect(body.toolConfig!.tools[1]).toEqual(hour);
      expect(body.system).toEqual([{ text: 'Be brief.' }, hour]);
      expect(body.messages[0]!.content).toEqual([{ text: 'Hi' }, hour]);
      expect(body.messages[2]!.content.map((block) => Object.keys(block)[0])).toEqual(['toolResult', 'cachePoint']);
      expect(losses).toEqual({ dropped: [], approximated: [] });
    });

    it('stand in messages only and live for five minutes with Nova', () => {
      const { body, losses } = write(NOVA_1, values);
      expect(body.toolConfig!.tools).toHaveLength(1);
      expect(body.system![1]).toEqual({ cachePoint: { type: 'default' } });
      expect(losses).toEqual({ dropped: ['cache_control'], approximated: ['cache_control.ttl'] });
    });

    it('are left out where the model would refuse the request for them', () => {
      const { body, losses } = write(QWEN, values);
      expect(JSON.stringify(body)).not.toContain('cachePoint');
      expect(losses.dropped).toEqual(['cache_control']);
    });
  });

  describe('reasoning', () => {
    const fields = (model: string, values: Partial<CanonicalRequest>, capabilities = {}) => {
      const { body, losses } = write(model, values, capabilities);
      return [body['additionalModelRequestFields'], losses.dropped, losses.approximated];
    };
    const asked = { maxOutputTokens: 10_000 };

    it.each<[string, string, CanonicalRequest['reasoning'], object | undefined, string[], string[]]>([
      [
        'a budget for Claude',
        CLAUDE,
        { maxTokens: 4_000 },
        { thinking: { type: 'enabled', budget_tokens: 4_000 } },
        [],
        [],
      ],
      ['none for Claude', CLAUDE, { effort: 'none' }, { thinking: { type: 'disabled' } }, [], []],
      [
        'an effort for Nova',
        NOVA_2,
        { effort: 'medium' },
        { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' } },
        [],
        [],
      ],
      [
        'a small effort for Nova',
        NOVA_2,
        { effort: 'minimal' },
        { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'low' } },
        [],
        ['reasoning.effort'],
      ],
      ['none for Nova', NOVA_2, { isEnabled: false }, { reasoningConfig: { type: 'disabled' } }, [], []],
      ['an effort for a Nova that does not think', NOVA_1, { effort: 'low' }, undefined, ['reasoning'], []],
      ['an effort for GPT', GPT, { effort: 'xhigh' }, { reasoning: { effort: 'xhigh' } }, [], []],
      ['none for GPT', GPT, { effort: 'none' }, { reasoning: { effort: 'none' } }, [], []],
      ['a budget for GPT', GPT, { maxTokens: 8_000 }, { reasoning: { effort: 'high' } }, [], ['reasoning.max_tokens']],
      [
        'an effort for the open GPT',
        GPT_OSS,
        { effort: 'max' },
        { reasoning_effort: 'high' },
        [],
        ['reasoning.effort'],
      ],
      ['none for the open GPT', GPT_OSS, { effort: 'none' }, undefined, ['reasoning'], []],
      [
        'no more than "on" for GPT',
        GPT,
        { isEnabled: true },
        { reasoning: { effort: 'medium' } },
        [],
        ['reasoning.enabled'],
      ],
      ['an effort for a model without one', QWEN, { effort: 'low' }, undefined, ['reasoning'], []],
      ['hidden thoughts', QWEN, { isHidden: true }, undefined, [], []],
    ])('asks %s', (_what, model, reasoning, expected, dropped, approximated) => {
      expect(fields(model, { reasoning, ...asked })).toEqual([expected, dropped, approximated]);
    });

    it('lets Claude write as much as it may think, and asks an adaptive one for an effort', () => {
      const { body } = write(CLAUDE, { reasoning: { maxTokens: 2_000 } });
      expect(body['inferenceConfig']).toEqual({ maxTokens: 16_000 });
      expect(fields(CLAUDE, { reasoning: { effort: 'high' } }, { messages: { thinking: 'adaptive' } })[0]).toEqual({
        thinking: { type: 'adaptive', display: 'summarized' },
        output_config: { effort: 'high' },
      });
    });

    it('neither keeps Claude from thinking nor makes it call a tool where it refuses to be', () => {
      const tools = [{ name: 'look_up', parameters: null }];
      const traits = { messages: { thinking: 'always', tool_choice: false } };
      expect(
        fields(CLAUDE, { reasoning: { effort: 'none' }, tools, toolChoice: { type: 'required' } }, traits),
      ).toEqual([{ output_config: { effort: 'low' } }, ['tool_choice'], ['reasoning.effort']]);
    });

    it('does not let Claude think while a tool is forced or after calls without their thoughts', () => {
      const reasoning = { effort: 'high' as const };
      const tools = [{ name: 'look_up', parameters: null }];
      expect(fields(CLAUDE, { reasoning, tools, toolChoice: { type: 'required' } })).toEqual([
        undefined,
        ['reasoning'],
        [],
      ]);
      const messages = [
        user(text('Hi')),
        { role: 'assistant' as const, parts: [CALL] },
        { role: 'tool' as const, parts: [RESULT] },
      ];
      expect(fields(CLAUDE, { reasoning, tools, messages })[1]).toEqual(['reasoning']);
    });

    it('leaves out what Nova refuses beside its highest effort', () => {
      const { body, losses } = write(NOVA_2, {
        reasoning: { effort: 'high' },
        sampling: { temperature: 1, topP: 1 },
        ...asked,
      });
      expect(body).not.toHaveProperty('inferenceConfig');
      expect(losses.dropped).toEqual(['max_tokens', 'temperature', 'top_p']);
    });

    const thought = (format: 'anthropic-claude-v1' | 'bedrock-openai-responses-v1' | 'openai-responses-v1') => ({
      role: 'assistant' as const,
      parts: [
        { type: 'reasoning' as const, text: 'Hm.', signature: 'c2ln', format },
        { type: 'reasoning' as const, encrypted: 'ZW5j', format },
      ],
    });

    it.each([
      [CLAUDE, 'anthropic-claude-v1' as const],
      [GPT, 'bedrock-openai-responses-v1' as const],
    ])('gives %s its own thoughts back unchanged', (model, format) => {
      const { body, losses } = write(model, { messages: [user(text('Hi')), thought(format)] });
      expect(body.messages[1]!.content).toEqual([
        { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'c2ln' } } },
        { reasoningContent: { redactedContent: 'ZW5j' } },
      ]);
      expect(losses.dropped).toEqual([]);
    });

    it.each([
      [CLAUDE, 'openai-responses-v1' as const],
      [GPT, 'anthropic-claude-v1' as const],
      [QWEN, 'anthropic-claude-v1' as const],
    ])("keeps another model's thoughts from %s", (model, format) => {
      const { body, losses } = write(model, { messages: [user(text('Hi')), thought(format)] });
      expect(body.messages).toHaveLength(1);
      expect(losses.dropped).toEqual(['reasoning_details']);
    });
  });

  it.each([
    [CLAUDE, { top_k: 5 }, []],
    [NOVA_1, { inferenceConfig: { topK: 5 } }, []],
    [LLAMA, undefined, ['top_k']],
  ])('asks %s for the likeliest tokens in its own words', (model, expected, dropped) => {
    const { body, losses } = write(model, { sampling: { topK: 5 } });
    expect([body['additionalModelRequestFields'], losses.dropped]).toEqual([expected, dropped]);
  });

  it('tells what there is no word for', () => {
    const { losses } = write(LLAMA, {
      choices: 2,
      topLogprobs: 1,
      outputModalities: ['text', 'image'],
      promptCacheKey: 'key',
      metadata: { a: 'b' },
      verbosity: 'low',
      serviceTier: 'scale',
      responseFormat: { type: 'json-schema', name: 'thing', schema: {} },
      tools: [{ name: 'a', parameters: null, strict: true }],
      areParallelToolCallsAllowed: false,
      sampling: { seed: 1, temperature: 1.5 },
      stopSequences: [' '],
    });
    expect([...losses.dropped].sort()).toEqual([
      'logprobs',
      'metadata',
      'modalities',
      'n',
      'parallel_tool_calls',
      'prompt_cache_key',
      'response_format',
      'seed',
      'service_tier',
      'stop',
      'strict',
      'verbosity',
    ]);
    expect(losses.approximated).toEqual(['temperature']);
  });

  it('leaves the tier to Bedrock where the caller leaves it to us', () => {
    expect(write(CLAUDE, { serviceTier: 'auto' }).body).not.toHaveProperty('serviceTier');
    expect(write(CLAUDE, { serviceTier: 'flex' }).body).toMatchObject({ serviceTier: { type: 'flex' } });
  });

  it('keeps to the rules of the wire, whatever the conversation', () => {
    const model = fc.constantFrom(CLAUDE, NOVA_1, NOVA_2, GPT, GPT_OSS, LLAMA, QWEN);
    fc.assert(
      fc.property(model, anyRequest, (upstreamModel, request) => {
        const { body } = write(upstreamModel, request);
        const blocks = body.messages.flatMap(({ content }) => content);
        expect(body.messages.map(({ role }) => role)).toEqual(
          body.messages.map((_, i) => (i % 2 === 0 ? 'user' : 'assistant')),
        );
        for (const { content } of body.messages) {
          const kinds = content.map((block) => Object.keys(block)[0]!);
          expect(kinds.length).toBeGreaterThan(0);
          if (kinds.includes('document')) expect(kinds).toContain('text');
        }
        const names = blocks.flatMap(({ document }) => (document ? [(document as { name: string }).name] : []));
        expect(new Set(names).size).toBe(names.length);
        for (const name of names) expect(name).toMatch(/^(?!.*\s\s)[A-Za-z0-9\s\-()[\]]{1,200}$/);
        for (const { text: words } of [...blocks, ...(body.system ?? [])]) {
          if (words !== undefined) expect(String(words).trim()).not.toBe('');
        }
        if (blocks.some((block) => 'toolUse' in block || 'toolResult' in block)) {
          expect(body.toolConfig!.tools.length).toBeGreaterThan(0);
        }
        expect(JSON.stringify(body)).not.toContain('https://files.example');
      }),
    );
  });
});
