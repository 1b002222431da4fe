import type { CanonicalRequest } from '../../model/canonical-request';
import type { Message, Part } from '../../model/conversation';
import { LossLog } from '../../model/loss-report';
import { anEndpoint, aProvider } from '../../testing';
import { writeRequest } from './request-writer';

const FLASH_3 = 'gemini-3.5-flash';
const FLASH_2 = 'gemini-2.5-flash';

const google = aProvider({ protocol: 'google', baseUrl: 'https://generativelanguage.googleapis.com/v1beta' });

function write(values: Partial<CanonicalRequest>, upstreamModel = FLASH_3, isStream = false, provider = google) {
  const log = new LossLog();
  const request = { messages: [], tools: [], sampling: {}, stopSequences: [], unread: [], ...values };
  const endpoint = anEndpoint({ provider, upstreamModel, maxCompletionTokens: 10_000 });
  const body = writeRequest(request, endpoint, isStream, log) as {
    contents: { role: string; parts: object[] }[];
    systemInstruction?: object;
    generationConfig?: Record<string, unknown>;
    tools?: object[];
    toolConfig?: object;
    serviceTier?: string;
  };
  return { ...body, losses: log.report() };
}

const user = (...parts: Part[]): Message => ({ role: 'user', parts });
const text = (words: string): Part => ({ type: 'text', text: words });
const shown = (part: Part, model?: string, provider?: typeof google) =>
  write({ messages: [user(part)] }, model, false, provider).contents[0]?.parts[0];

describe(writeRequest.name, () => {
  describe('of a conversation', () => {
    it('puts instructions apart, also those in the middle', () => {
      const { systemInstruction, contents, losses } = write({
        messages: [
          { role: 'system', parts: [text('Be brief.')] },
          user(text('Hello')),
          { role: 'developer', parts: [text('Rhyme.')] },
        ],
      });
      expect(systemInstruction).toEqual({ parts: [{ text: 'Be brief.' }, { text: 'Rhyme.' }] });
      expect(contents).toEqual([{ role: 'user', parts: [{ text: 'Hello' }] }]);
      expect(losses.approximated).toEqual(['messages.role']);
    });

    it('lets the user say instructions that nothing follows', () => {
      const { systemInstruction, contents } = write({ messages: [{ role: 'system', parts: [text('Say hello.')] }] });
      expect(systemInstruction).toBeUndefined();
      expect(contents).toEqual([{ role: 'user', parts: [{ text: 'Say hello.' }] }]);
    });

    it('begins with the user', () => {
      const { contents, losses } = write({ messages: [{ role: 'assistant', parts: [text('Hello')] }] });
      expect(contents.map(({ role }) => role)).toEqual(['user', 'model']);
      expect(losses.approximated).toEqual(['messages']);
    });

    it('says that a file goes on without its name, which bars no endpoint that may lose nothing', () => {
      const file = { type: 'file', source: { kind: 'base64', mediaType: 'application/pdf', data: 'YQ==' } } as const;
      const namedFile: Part = { ...file, filename: 'bill.pdf' };
      const named = write({ messages: [user(namedFile)] });
      expect(JSON.stringify(named.contents)).not.toContain('bill.pdf');
      expect(named.losses).toEqual({ dropped: [], approximated: ['messages.file.filename'] });
      expect(write({ messages: [user(file)] }).losses.approximated).toEqual([]);
    });

    it('leaves empty texts out', () => {
      expect(write({ messages: [user(text(''), text('Hello'))] }).contents[0]!.parts).toEqual([{ text: 'Hello' }]);
    });

    const calls: Message = {
      role: 'assistant',
      parts: ['a', 'b'].map((id) => ({ type: 'tool-call', id, name: `do_${id}`, arguments: '{"n":1}' })),
    };
    const result = (callId: string, words: string, isError?: boolean): Message => ({
      role: 'tool',
      parts: [{ type: 'tool-result', callId, parts: [{ type: 'text', text: words }], isError }],
    });

    it('answers calls right behind them and in their order, whatever the user said meanwhile', () => {
      const messages = [user(text('Go')), calls, user(text('Wait')), result('b', 'no', true), result('a', 'yes')];
      expect(write({ messages }).contents.slice(2)).toEqual([
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'a', name: 'do_a', response: { output: 'yes' } } },
            { functionResponse: { id: 'b', name: 'do_b', response: { error: 'no' } } },
          ],
        },
        { role: 'user', parts: [{ text: 'Wait' }] },
      ]);
    });

    it('gives the first call of a turn that another model made a pass in place of proof', () => {
      const { contents } = write({ messages: [user(text('Go')), calls] });
      expect(contents[1]!.parts).toEqual([
        {
          functionCall: { id: 'a', name: 'do_a', args: { n: 1 } },
          thoughtSignature: 'skip_thought_signature_validator',
        },
        { functionCall: { id: 'b', name: 'do_b', args: { n: 1 } } },
      ]);
    });

    it('spares the second generation the pass and the ids, which it does not know', () => {
      const { contents } = write({ messages: [user(text('Go')), calls, result('a', 'yes')] }, FLASH_2);
      expect(contents[1]!.parts[0]).toEqual({ functionCall: { name: 'do_a', args: { n: 1 } } });
      expect(contents[2]!.parts).toEqual([{ functionResponse: { name: 'do_a', response: { output: 'yes' } } }]);
    });

    it('names the function of a result whose call is gone as well as it can', () => {
      const { contents, losses } = write({ messages: [user(text('Go')), result('z', 'yes')] });
      expect(contents.map(({ role }) => role)).toEqual(['user', 'user']);
      expect(contents[0]!.parts[0]).toMatchObject({ functionResponse: { name: 'unknown_function' } });
      expect(losses.approximated).toEqual(['tool_call_id']);
      const named: Message = { ...result('z', 'yes'), name: 'look_up' };
      expect(write({ messages: [named] }).contents[0]!.parts[0]).toMatchObject({
        functionResponse: { name: 'look_up' },
      });
    });

    it('shows pictures of a result inside it, where the model takes them there', () => {
      const picture: Message = {
        role: 'tool',
        parts: [
          {
            type: 'tool-result',
            callId: 'a',
            parts: [{ type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'iVBO' } }],
          },
        ],
      };
      const inlineData = { mimeType: 'image/png', data: 'iVBO' };
      const third = write({ messages: [calls, picture] });
      expect(third.contents[2]!.parts[0]).toMatchObject({ functionResponse: { parts: [{ inlineData }] } });
      const second = write({ messages: [calls, picture] }, FLASH_2);
      expect(second.contents[2]!.parts).toEqual([
        { functionResponse: { name: 'do_a', response: { output: '' } } },
        { inlineData },
      ]);
      expect(second.losses.approximated).toContain('messages.tool_result');
    });

    it('keeps arguments that are no JSON as what they are', () => {
      const broken: Message = {
        role: 'assistant',
        parts: [{ type: 'tool-call', id: 'a', name: 'f', arguments: '{"n":' }],
      };
      const { contents, losses } = write({ messages: [user(text('Go')), broken] });
      expect(contents[1]!.parts[0]).toMatchObject({ functionCall: { args: { INVALID_JSON: '{"n":' } } });
      expect(losses.approximated).toEqual(['arguments']);
    });

    it('drops the thoughts of other providers, and a signature whose part is gone', () => {
      const { contents, losses } = write({
        messages: [
          user(text('Go')),
          {
            role: 'assistant',
            parts: [
              { type: 'reasoning', text: 'Hm', signature: 'c2ln', format: 'anthropic-claude-v1' },
              { type: 'reasoning', encrypted: 'c2ln', id: 'gone', format: 'google-gemini-v1' },
              text('Well'),
            ],
          },
        ],
      });
      expect(contents[1]!.parts).toEqual([{ text: 'Well' }]);
      expect(losses.dropped).toEqual(['reasoning_details']);
    });

    it('signs a picture that the model made', () => {
      const { contents } = write({
        messages: [
          user(text('Draw')),
          {
            role: 'assistant',
            parts: [
              { type: 'reasoning', encrypted: 'c2ln', id: 'rs_123', format: 'google-gemini-v1' },
              { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'iVBO' } },
            ],
          },
        ],
      });
      expect(contents[1]!.parts).toEqual([
        { inlineData: { mimeType: 'image/png', data: 'iVBO' }, thoughtSignature: 'c2ln' },
      ]);
    });
  });

  describe('of media', () => {
    it.each<[string, Part, object]>([
      [
        'bytes of a known type',
        { type: 'file', source: { kind: 'base64', mediaType: 'text/plain; charset=utf-8', data: 'YQ==' } },
        { inlineData: { mimeType: 'text/plain', data: 'YQ==' } },
      ],
      [
        'a picture by another name of its type',
        { type: 'image', source: { kind: 'base64', mediaType: 'image/jpg', data: 'YQ==' } },
        { inlineData: { mimeType: 'image/jpeg', data: 'YQ==' } },
      ],
      [
        'bytes that look like a picture',
        { type: 'image', source: { kind: 'base64', mediaType: null, data: 'iVBORw0KGgoAAA' } },
        { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgoAAA' } },
      ],
      [
        'bytes with a name',
        { type: 'file', source: { kind: 'base64', mediaType: null, data: 'YQ==' }, filename: 'a.csv' },
        { inlineData: { mimeType: 'text/csv', data: 'YQ==' } },
      ],
      [
        'a link, by the end of its path',
        { type: 'image', source: { kind: 'url', url: 'https://files.example/a.WEBP?size=2.png' } },
        { fileData: { mimeType: 'image/webp', fileUri: 'https://files.example/a.WEBP?size=2.png' } },
      ],
      [
        'a link that tells nothing',
        { type: 'video', source: { kind: 'url', url: 'https://www.youtube.com/watch?v=abc' } },
        { fileData: { mimeType: 'video/mp4', fileUri: 'https://www.youtube.com/watch?v=abc' } },
      ],
      [
        'a file of the upstream',
        { type: 'file', source: { kind: 'file-id', id: 'files/abc' } },
        { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc' } },
      ],
      [
        'a file in its storage',
        { type: 'file', source: { kind: 'file-id', id: 'gs://bucket/a.pdf' } },
        { fileData: { mimeType: 'application/pdf', fileUri: 'gs://bucket/a.pdf' } },
      ],
      [
        'sound',
        { type: 'audio', data: 'YQ==', format: 'mp3' },
        { inlineData: { mimeType: 'audio/mp3', data: 'YQ==' } },
      ],
      [
        'sound in a rare format',
        { type: 'audio', data: 'YQ==', format: 'opus' },
        { inlineData: { mimeType: 'audio/opus', data: 'YQ==' } },
      ],
    ])('takes %s', (_what, part, expected) => {
      expect(shown(part)).toEqual(expected);
    });

    it('drops a file that only another provider knows', () => {
      const { contents, losses } = write({
        messages: [user(text('Read'), { type: 'file', source: { kind: 'file-id', id: 'file-123' } })],
      });
      expect(contents[0]!.parts).toEqual([{ text: 'Read' }]);
      expect(losses.dropped).toEqual(['file']);
    });
  });

  describe('of tools', () => {
    const tools = [
      { name: 'look_up', description: 'Looks up.', parameters: { type: 'object' } },
      { name: 'stop', parameters: null },
    ];

    it('declares functions by their JSON Schema', () => {
      expect(write({ tools }).tools).toEqual([
        {
          functionDeclarations: [
            { name: 'look_up', description: 'Looks up.', parametersJsonSchema: { type: 'object' } },
            { name: 'stop' },
          ],
        },
      ]);
    });

    it.each<[string, Partial<CanonicalRequest>, object | undefined]>([
      ['nothing', {}, undefined],
      ['auto', { toolChoice: { type: 'auto' } }, { mode: 'AUTO' }],
      ['none', { toolChoice: { type: 'none' } }, { mode: 'NONE' }],
      ['required', { toolChoice: { type: 'required' } }, { mode: 'ANY' }],
      ['one function', { toolChoice: { type: 'tool', name: 'stop' } }, { mode: 'ANY', allowedFunctionNames: ['stop'] }],
      ['strictness', { tools: [{ ...tools[0]!, strict: true }] }, { mode: 'VALIDATED' }],
    ])('turns the choice of %s into a mode', (_what, values, functionCallingConfig) => {
      expect(write({ tools, ...values }).toolConfig).toEqual(functionCallingConfig && { functionCallingConfig });
    });

    it('tells that it cannot forbid parallel calls, nor choose among no tools', () => {
      expect(write({ tools, areParallelToolCallsAllowed: false }).losses.dropped).toEqual(['parallel_tool_calls']);
      expect(write({ toolChoice: { type: 'required' } }).losses.dropped).toEqual(['tool_choice']);
    });
  });

  describe('of thinking', () => {
    const thinking = (reasoning: CanonicalRequest['reasoning'], model: string) => {
      const { generationConfig, losses } = write({ reasoning }, model);
      return [generationConfig?.['thinkingConfig'], ...losses.approximated, ...losses.dropped];
    };

    it.each<[string, CanonicalRequest['reasoning'], unknown[]]>([
      [FLASH_3, { effort: 'low' }, [{ includeThoughts: true, thinkingLevel: 'LOW' }]],
      [FLASH_3, { effort: 'max' }, [{ includeThoughts: true, thinkingLevel: 'HIGH' }, 'reasoning.effort']],
      [FLASH_3, { isEnabled: true }, [{ includeThoughts: true }]],
      [FLASH_3, { maxTokens: 2_000 }, [{ includeThoughts: true, thinkingLevel: 'LOW' }, 'reasoning.max_tokens']],
      [FLASH_3, { isEnabled: false }, [{ thinkingLevel: 'MINIMAL' }, 'reasoning.effort']],
      [FLASH_3, { effort: 'high', isHidden: true }, [{ thinkingLevel: 'HIGH' }]],
      [FLASH_3, { isHidden: true }, [undefined]],
      ['gemini-3.1-pro-preview', { effort: 'none' }, [{ thinkingLevel: 'LOW' }, 'reasoning.effort']],
      [
        'gemini-3.1-pro-preview',
        { effort: 'minimal' },
        [{ includeThoughts: true, thinkingLevel: 'LOW' }, 'reasoning.effort'],
      ],
      ['gemini-3.6-flash', { effort: 'minimal' }, [{ includeThoughts: true, thinkingLevel: 'MINIMAL' }]],
      [
        'gemini-3.7-flash',
        { effort: 'minimal' },
        [{ includeThoughts: true, thinkingLevel: 'LOW' }, 'reasoning.effort'],
      ],
      ['gemini-3.8-flash', { isEnabled: false }, [{ thinkingLevel: 'LOW' }, 'reasoning.effort']],
      ['gemini-3.8-flash-lite', { isEnabled: false }, [{ thinkingLevel: 'MINIMAL' }, 'reasoning.effort']],
      ['gemini-flash-latest', { isEnabled: false }, [{ thinkingLevel: 'LOW' }, 'reasoning.effort']],
      ['gemini-flash-latest', { effort: 'medium' }, [{ includeThoughts: true, thinkingLevel: 'MEDIUM' }]],
      [FLASH_2, { maxTokens: 2_000 }, [{ includeThoughts: true, thinkingBudget: 2_000 }]],
      [FLASH_2, { maxTokens: 90_000 }, [{ includeThoughts: true, thinkingBudget: 24_576 }, 'reasoning.max_tokens']],
      [FLASH_2, { effort: 'medium' }, [{ includeThoughts: true, thinkingBudget: 5_000 }, 'reasoning.effort']],
      [FLASH_2, { effort: 'none' }, [{ thinkingBudget: 0 }]],
      [
        'gemini-2.5-flash-lite',
        { maxTokens: 100 },
        [{ includeThoughts: true, thinkingBudget: 512 }, 'reasoning.max_tokens'],
      ],
      ['gemini-2.5-pro', { isEnabled: false }, [{ thinkingBudget: 128 }, 'reasoning.effort']],
      ['gemini-2.0-flash', { effort: 'low' }, [undefined, 'reasoning']],
      ['gemini-2.0-flash', { summary: 'detailed', isHidden: false }, [undefined, 'reasoning.summary']],
      ['gemini-2.0-flash', { summary: 'auto' }, [undefined, 'reasoning.summary']],
      ['gemma-4', { effort: 'none' }, [undefined]],
    ])('tells %s to think as asked by %j', (model, reasoning, expected) => {
      expect(thinking(reasoning, model)).toEqual(expected);
    });

    it('believes the catalogue on models whose name does not tell', () => {
      const request = { messages: [], tools: [], sampling: {}, stopSequences: [], unread: [] };
      const tuned = {
        provider: google,
        upstreamModel: 'endpoints/123',
        capabilities: { generate_content: { generation: 3 } },
      };
      expect(
        writeRequest({ ...request, reasoning: { effort: 'high' } }, anEndpoint(tuned), false, new LossLog()),
      ).toMatchObject({ generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' } } });
    });
  });

  describe('of settings', () => {
    it('carries what the upstream has a word for', () => {
      const settings = {
        sampling: { temperature: 0.5, topP: 0.9, topK: 40, frequencyPenalty: 0.1, presencePenalty: 0.2, seed: 7 },
        maxOutputTokens: 99,
        stopSequences: ['END'],
        choices: 2,
        topLogprobs: 3,
        outputModalities: ['text', 'image'],
        responseFormat: { type: 'json-schema', name: 'answer', schema: { type: 'object' } },
      } as const;
      const { generationConfig, losses } = write(settings, FLASH_2);
      expect(generationConfig).toEqual({
        temperature: 0.5,
        topP: 0.9,
        topK: 40,
        frequencyPenalty: 0.1,
        presencePenalty: 0.2,
        seed: 7,
        maxOutputTokens: 99,
        stopSequences: ['END'],
        candidateCount: 2,
        responseLogprobs: true,
        logprobs: 3,
        responseModalities: ['TEXT', 'IMAGE'],
        responseMimeType: 'application/json',
        responseJsonSchema: { type: 'object' },
      });
      expect(losses).toEqual({ dropped: [], approximated: [] });
    });

    it.each<[string, Partial<CanonicalRequest>, string]>([
      [
        'dropped',
        { sampling: { minP: 0.1, topA: 1, repetitionPenalty: 2, logitBias: {} } },
        'min_p top_a repetition_penalty logit_bias',
      ],
      [
        'dropped',
        { verbosity: 'low', cache: {}, promptCacheKey: 'k', metadata: { a: 'b' }, endUser: 'u' },
        'verbosity cache_control prompt_cache_key metadata user',
      ],
      ['dropped', { outputModalities: ['audio'] }, 'modalities'],
      ['approximated', { sampling: { topK: 0, seed: 2 ** 40 } }, 'top_k seed'],
      ['approximated', { stopSequences: ['1', '2', '3', '4', '5', '6'] }, 'stop'],
    ])('tells what is %s of %j', (how, values, members) => {
      expect(write(values).losses[how as 'dropped']).toEqual(members.split(' '));
    });

    it.each([
      ['in a stream', FLASH_2, true],
      ['of the third generation', FLASH_3, false],
    ])('asks for one answer %s', (_what, model, isStream) => {
      const { generationConfig, losses } = write({ choices: 3 }, model, isStream);
      expect(generationConfig).toBeUndefined();
      expect(losses.dropped).toEqual(['n']);
    });

    it('asks the second generation for a format or for calls, not both', () => {
      const values: Partial<CanonicalRequest> = {
        tools: [{ name: 'look_up', parameters: null }],
        responseFormat: { type: 'json' },
      };
      expect(write(values).generationConfig).toEqual({ responseMimeType: 'application/json' });
      expect(write(values, FLASH_2)).toMatchObject({ losses: { dropped: ['response_format'] } });
      expect(write({ ...values, toolChoice: { type: 'none' } }, FLASH_2).losses.dropped).toEqual([]);
    });

    it('asks for a tier where it is a member of the body', () => {
      expect(write({ serviceTier: 'flex' }).serviceTier).toBe('flex');
      expect(write({ serviceTier: 'default' }).serviceTier).toBe('standard');
      const vertex = write({ serviceTier: 'flex' }, FLASH_3, false, aProvider({ protocol: 'google-vertex' }));
      expect(vertex.serviceTier).toBeUndefined();
      expect(vertex.losses.dropped).toEqual([]);
    });
  });
});
