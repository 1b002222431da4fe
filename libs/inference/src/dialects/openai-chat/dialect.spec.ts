import { createHash } from 'node:crypto';
import { AppError } from '@libs/errors';
import { LossLog } from '../../model/loss-report';
import { parseRate } from '../../pricing/money';
import type { Endpoint } from '../../catalogue/catalogue';
import { aModel, anEndpoint } from '../../testing';
import type { AnswerContext } from '../dialect';
import { openAiChat } from './dialect';

const endpoint = anEndpoint();
const model = aModel({ endpoints: [endpoint] });

const context = (values: Partial<AnswerContext> = {}): AnswerContext => ({
  generationId: 'gen-1-abc',
  model,
  endpoint,
  priceList: 'standard',
  beganMs: 0,
  requestBody: Buffer.from('{"messages":[{"role":"user","content":"twelve bytes"}]}'),
  ...values,
});

const toUpstream = (body: string, isStream = false): string =>
  openAiChat.toUpstream(Buffer.from(body), endpoint, isStream).toString();

const readAnswer = (answer: object | string, values: Partial<AnswerContext> = {}) => {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const read = openAiChat.readAnswer(Buffer.from(text), context(values));
  return { ...read, text: read.body.toString(), json: JSON.parse(read.body.toString()) as Record<string, never> };
};

const aChoice = {
  index: 0,
  logprobs: null,
  message: { role: 'assistant', content: 'Hello there', refusal: null },
  finish_reason: 'stop',
};

const anAnswer = (values: object = {}): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'acme-large-2026',
  choices: [aChoice],
  usage: { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 },
  ...values,
});

describe('a chat request for an OpenAI-speaking upstream', () => {
  it('names the upstream model and keeps every other byte', () => {
    expect(
      toUpstream('{ "model" : "acme/large", "messages":[{"role":"user","content":"\\u00e9"}] , "top_p": 1.0}'),
    ).toBe('{ "model" : "acme-large-2026", "messages":[{"role":"user","content":"\\u00e9"}] , "top_p": 1.0}');
  });

  it('loses what is between the caller and us', () => {
    const ours = ['provider', 'models', 'plugins', 'route', 'session_id', 'trace', 'debug', 'preset', 'usage'];
    const members = [...ours, 'stop_server_tools_when', 'max_tool_calls', 'include_reasoning'].map(
      (name) => `"${name}":{"only":["x"]}`,
    );
    expect(toUpstream(`{${members.join(',')},"model":"m","seed":1}`)).toBe('{"model":"acme-large-2026","seed":1}');
  });

  it('keeps members of these names where they are not at the top', () => {
    const body = '{"messages":[{"content":[{"usage":{"type":"ephemeral"},"provider":1}]}],"model":"acme-large-2026"}';
    expect(toUpstream(body)).toBe(body);
  });

  it('never passes a user on, only a hash that stays the same', () => {
    const hash = createHash('sha256').update('anna@example.org').digest('hex');
    expect(toUpstream('{"user":"anna@example.org","model":"m"}')).toBe(`{"user":"${hash}","model":"acme-large-2026"}`);
    expect(toUpstream('{"user":"ann\\u0061@example.org","model":"m"}')).toContain(hash);
    expect(toUpstream('{"user":null,"model":"m"}')).toContain('"user":null');
  });

  it('asks for the usage of a stream and keeps the other stream options', () => {
    expect(toUpstream('{"model":"m"}', true)).toBe(
      '{"model":"acme-large-2026","stream":true,"stream_options":{"include_usage":true}}',
    );
    expect(toUpstream('{"model":"m","stream_options":{"include_usage":false, "x":1},"stream":true}', true)).toBe(
      '{"model":"acme-large-2026","stream_options":{"include_usage":true, "x":1},"stream":true}',
    );
    expect(toUpstream('{"model":"m","stream_options":null}', true)).toContain('{"include_usage":true}');
  });

  it.each([
    ['{"effort":"high"}', '', 'high'],
    ['{"effort":"max"}', '', 'xhigh'],
    ['{"enabled":true}', '', 'medium'],
    ['{"enabled":false}', '', 'none'],
    ['{"max_tokens":200}', '"max_tokens":1000,', 'low'],
    ['{"effort":"high"}', '"reasoning_effort":"low",', 'high'],
    ['{"exclude":true}', '"reasoning_effort":"low",', 'low'],
  ])('tells the reasoning %s beside %s as the effort %s', (reasoning, others, effort) => {
    const sent = JSON.parse(toUpstream(`{"model":"m",${others}"reasoning":${reasoning}}`)) as object;
    expect(sent).toHaveProperty('reasoning_effort', effort);
    expect(sent).not.toHaveProperty('reasoning');
  });

  it('says nothing of reasoning where its object asks for nothing', () => {
    expect(toUpstream('{"model":"m","reasoning":null,"seed":1}')).toBe('{"model":"acme-large-2026","seed":1}');
    expect(toUpstream('{"model":"m","reasoning":{},"seed":1}')).toBe('{"model":"acme-large-2026","seed":1}');
  });

  it('names in the loss report what an effort does not say', () => {
    const log = new LossLog();
    openAiChat.toUpstream(Buffer.from('{"reasoning":{"max_tokens":9,"summary":"auto"}}'), endpoint, false, log);
    expect(log.report()).toEqual({ dropped: ['reasoning.summary'], approximated: ['reasoning.max_tokens'] });
  });

  it('refuses reasoning of another shape', () => {
    expect(() => toUpstream('{"model":"m","reasoning":"high"}')).toThrow('reasoning must be an object');
  });

  it('leaves the reasoning to an upstream that takes the object', () => {
    const body = '{"model":"acme-large-2026","reasoning":{"effort":"high"}}';
    const taking = anEndpoint({ capabilities: { chat: { reasoning: true } } });
    expect(openAiChat.toUpstream(Buffer.from(body), taking, false).toString()).toBe(body);
  });

  it('asks no model for thoughts that lists none', () => {
    const plain = anEndpoint({ supportedParameters: ['seed'] });
    const log = new LossLog();
    const body = Buffer.from('{"model":"m","reasoning_effort":"low","reasoning":{"effort":"high"},"seed":1}');
    expect(openAiChat.toUpstream(body, plain, false, log).toString()).toBe('{"model":"acme-large-2026","seed":1}');
    expect(log.report().dropped).toEqual(['reasoning_effort', 'reasoning']);
  });

  it.each([
    ['fast', 'priority'],
    ['ultrafast', 'priority'],
    ['flex', 'flex'],
  ])('names the tier %s as the upstream does where its caller pays it: %s', (tier, sent) => {
    const body = Buffer.from(`{"model":"m","service_tier":"${tier}"}`);
    expect(JSON.parse(toUpstream(body.toString()))).not.toHaveProperty('service_tier');
    const paid = openAiChat
      .toUpstream(body, endpoint, false, new LossLog(), { isOwn: true, keepsNothing: false })
      .toString();
    expect(JSON.parse(paid)).toMatchObject({ service_tier: sent });
  });

  const passed = (members: string, values: Partial<Endpoint> = {}) => {
    const log = new LossLog();
    const body = Buffer.from(`{"model":"m",${members}"seed":1}`);
    const sent = openAiChat.toUpstream(body, anEndpoint(values), false, log).toString();
    return { ...(JSON.parse(sent) as Record<string, unknown>), dropped: log.report().dropped };
  };
  const OPENAI = { supportedParameters: ['max_tokens', 'seed'] };
  const MARK = '{"type":"ephemeral"}';

  it.each(['top_k', 'min_p', 'top_a', 'repetition_penalty'])(
    'leaves %s out for who is known not to take it',
    (name) => {
      expect(passed(`"${name}":0.5,`, OPENAI)).toEqual({ model: 'acme-large-2026', seed: 1, dropped: [name] });
      expect(passed(`"${name}":null,`, OPENAI)).toEqual({ model: 'acme-large-2026', seed: 1, dropped: [] });
      const refusing = { supportedParameters: [name], capabilities: { chat: { [name]: false } } };
      expect(passed(`"${name}":0.5,`, refusing)).not.toHaveProperty(name);
    },
  );

  it.each(['top_k', 'min_p', 'top_a', 'repetition_penalty'])('passes %s to a server that may take it', (name) => {
    const takers = [
      { supportedParameters: ['seed', name] },
      { supportedParameters: ['seed'], capabilities: { chat: { [name]: true } } },
      { supportedParameters: [] },
    ];
    for (const taker of takers) expect(passed(`"${name}":0.5,`, taker)).toMatchObject({ [name]: 0.5, dropped: [] });
  });

  it.each(['image_config', 'cache_control'])('passes %s only where the catalogue says that it is taken', (name) => {
    expect(passed(`"${name}":${MARK},`)).toEqual({ model: 'acme-large-2026', seed: 1, dropped: [name] });
    const taker = { capabilities: { chat: { [name]: true } } };
    expect(passed(`"${name}":${MARK},`, taker)).toMatchObject({ [name]: { type: 'ephemeral' }, dropped: [] });
  });

  it('takes marks for the prompt cache out of content and tools, and out of nothing else', () => {
    const properties = '{"cache_control":{"type":"string"}}';
    const marked = (mark: string) =>
      `"messages":[{"role":"user","content":"the \\"cache_control\\""},7,{"role":"user","content":[{"type":"text","text":"a"${mark}},"b"]}],` +
      `"tools":[{"type":"function"${mark},"function":{"name":"f","parameters":{"properties":${properties}}}}],`;
    const body = (mark: string) => `{"model":"acme-large-2026",${marked(mark)}"seed":1}`;
    expect(toUpstream(body(`,"cache_control":${MARK}`))).toBe(body(''));
    expect(passed(marked(`,"cache_control":${MARK}`)).dropped).toEqual(['cache_control']);
    expect(passed(marked('')).dropped).toEqual([]);
    const taker = anEndpoint({ capabilities: { chat: { cache_control: true } } });
    const whole = body(`,"cache_control":${MARK}`);
    expect(openAiChat.toUpstream(Buffer.from(whole), taker, false).toString()).toBe(whole);
  });

  it('leaves out settings that the catalogue does not list for the endpoint', () => {
    const members = '"temperature":0.5,"verbosity":"low","stop":["."],"unheard":2,';
    expect(passed(members, OPENAI)).toEqual({
      model: 'acme-large-2026',
      stop: ['.'],
      unheard: 2,
      seed: 1,
      dropped: ['temperature', 'verbosity'],
    });
    expect(passed(members)).toMatchObject({ temperature: 0.5, verbosity: 'low', dropped: [] });
  });

  it('never asks for a stream when none is wanted', () => {
    expect(toUpstream('{"model":"m","stream":true}')).toContain('"stream":false');
  });

  it.each(['', '[]', 'null', '{"a":1', '{"a":1}{}'])('refuses the body %s', (body) => {
    expect(() => toUpstream(body)).toThrow(expect.objectContaining({ code: 'invalid_request' }) as Error);
  });
});

describe('a chat answer of an OpenAI-speaking upstream', () => {
  it('is charged for the searches of the web that its provider counts', () => {
    const priced = { ...endpoint, pricing: { ...endpoint.pricing, webSearch: parseRate('0.005') } };
    const usage = { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500, num_search_queries: 3 };
    expect(readAnswer(anAnswer({ usage }), { endpoint: priced }).cost.totalCost).toBe(17_000_000_000n);
    expect(readAnswer(anAnswer({ usage })).cost.totalCost).toBe(2_000_000_000n);
    const absurd = anAnswer({ usage: { ...usage, num_search_queries: -1 } });
    expect(readAnswer(absurd, { endpoint: priced }).cost.totalCost).toBe(2_000_000_000n);
  });

  const thinking = {
    reasoning: 'Let me see',
    reasoning_content: 'Let me see',
    reasoning_details: [{ type: 'reasoning.text', text: 'Let me see' }],
  };
  const thought = anAnswer({
    choices: [{ ...aChoice, message: { ...thinking, ...aChoice.message } }, { message: thinking }],
    usage: null,
  });

  it('has thoughts of DeepSeek and others under the name of this API too, once', () => {
    const choices = [
      { message: { content: 'a', reasoning_content: 'Let "me"' } },
      { message: { reasoning_content: 'Hm', reasoning: 'Hm' } },
      { message: { reasoning: 'Hm', reasoning_content: 'Hm', content: 'b' } },
      { message: { content: 'c', reasoning_content: '' } },
      { message: { content: 'd', reasoning_content: null, audio: { reasoning_content: 'x' } } },
    ];
    const { json, text } = readAnswer(anAnswer({ choices }));
    const messages = (json['choices'] as unknown as { message: object }[]).map(({ message }) => message);
    expect(messages).toEqual([
      { ...choices[0]!.message, reasoning: 'Let "me"', role: 'assistant', refusal: null },
      { ...choices[1]!.message, content: null, role: 'assistant', refusal: null },
      { ...choices[2]!.message, role: 'assistant', refusal: null },
      { ...choices[3]!.message, role: 'assistant', refusal: null },
      { ...choices[4]!.message, role: 'assistant', refusal: null },
    ]);
    expect(text.match(/"reasoning":/g)).toHaveLength(3);
  });

  it.each([
    ['a list', { reasoning_content: ['Hm', 'so'] }, {}],
    ['a later null', { reasoning_content: 'Hm', reasoning: null }, { reasoning: 'Hm' }],
    ['an earlier null', { reasoning: null, reasoning_content: 'Hm' }, { reasoning: 'Hm' }],
    ['an empty text', { reasoning: '', reasoning_content: 'Hm' }, { reasoning: 'Hm' }],
    ['a list of the other name', { reasoning_content: 'Hm', reasoning: [{ text: 'Hm' }] }, {}],
    ['thoughts of a tool', { executed_tools: [{ type: 'python', reasoning_content: 'Hm' }] }, {}],
  ])('has thoughts that are, or stand beside, %s, at most once and as JSON', (_, message, changed) => {
    for (const place of ['message', 'delta']) {
      const { json, text } = readAnswer(anAnswer({ choices: [{ [place]: { content: 'a', ...message } }] }));
      expect(json['choices']).toMatchObject([{ [place]: { ...message, ...changed } }]);
      expect(text.match(/"reasoning":/g) ?? []).toHaveLength('reasoning' in { ...message, ...changed } ? 1 : 0);
    }
  });

  it.each([
    ['{"reasoning":{"exclude":true}}'],
    ['{"include_reasoning":false}'],
    ['{"reasoning":{"effort":"high"},"include_reasoning":false}'],
  ])('has no thoughts for %s, which are paid for all the same', (request) => {
    const { json, text, usage } = readAnswer(thought, { requestBody: Buffer.from(request) });
    expect(json['choices']).toMatchObject([
      { message: aChoice.message },
      { message: { role: 'assistant', content: null, refusal: null } },
    ]);
    expect(text).not.toMatch(/reasoning(_content|_details)?"|Let me see/);
    expect(usage.completionTokens).toBe(readAnswer(thought).usage.completionTokens);
  });

  it.each([
    ['{"reasoning":{"exclude":false},"include_reasoning":false}'],
    ['{"include_reasoning":true}'],
    ['{"messages":[{"role":"user","content":[{"exclude":true,"include_reasoning":false}]}]}'],
    ['{"reasoning":{"effort":"high"}}'],
  ])('has its thoughts for %s', (request) => {
    const { json } = readAnswer(thought, { requestBody: Buffer.from(request) });
    expect(json['choices']).toMatchObject([{ message: thinking }, { message: thinking }]);
  });

  it('has every member that a choice and its message must have, also where the upstream left out what is empty', () => {
    const called = { tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }] };
    const { json } = readAnswer(
      anAnswer({
        choices: [
          { index: 0, message: called, finish_reason: 'tool_calls' },
          { index: 1, message: {} },
          {
            index: 2,
            message: { ...aChoice.message, refusal: 'No' },
            logprobs: { content: [] },
            finish_reason: 'stop',
          },
        ],
      }),
    );
    const empty = { role: 'assistant', content: null, refusal: null };
    expect(json['choices']).toEqual([
      {
        index: 0,
        logprobs: null,
        finish_reason: 'tool_calls',
        native_finish_reason: 'tool_calls',
        message: { ...empty, ...called },
      },
      { index: 1, logprobs: null, finish_reason: 'stop', native_finish_reason: null, message: empty },
      {
        index: 2,
        logprobs: { content: [] },
        finish_reason: 'stop',
        native_finish_reason: 'stop',
        message: { ...aChoice.message, refusal: 'No' },
      },
    ]);
  });

  it.each([
    ['null', null, 'stop'],
    ['an empty text', '', 'stop'],
    ['a number', 5, 'stop'],
    ['null after calls', null, 'tool_calls'],
  ])('says why it ended where the upstream gives a reason of %s', (_what, finish_reason, expected) => {
    const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
    const message = { ...aChoice.message, ...(expected === 'tool_calls' && { tool_calls: [call] }) };
    const { json, finishReason, nativeFinishReason } = readAnswer(
      anAnswer({ choices: [{ index: 0, message, finish_reason }] }),
    );
    expect(json['choices']).toMatchObject([{ finish_reason: expected, native_finish_reason: null }]);
    expect({ finishReason, nativeFinishReason }).toEqual({ finishReason: expected, nativeFinishReason: null });
  });

  it('says what it is, and of when, where the upstream left that out', () => {
    const { json } = readAnswer({ choices: [aChoice] });
    expect(json).toMatchObject({ object: 'chat.completion', created: expect.any(Number) as number });
    expect(readAnswer(anAnswer({ created: 5 })).json).toMatchObject({ created: 5 });
  });

  it('carries our id, model and provider, and the cost', () => {
    const { json, usage, cost, upstreamId, finishReason } = readAnswer(anAnswer());
    expect(json).toEqual({
      ...anAnswer(),
      id: 'gen-1-abc',
      system_fingerprint: null,
      model: 'acme/large',
      provider: 'Acme',
      choices: [{ ...aChoice, native_finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 1000,
        completion_tokens: 500,
        total_tokens: 1500,
        cost: 0.002,
        cost_details: {
          upstream_inference_cost: null,
          upstream_inference_prompt_cost: 0.001,
          upstream_inference_completions_cost: 0.001,
        },
        is_byok: false,
      },
    });
    expect(usage.provenance).toBe('upstream');
    expect(cost.totalCost).toBe(2_000_000_000n);
    expect({ upstreamId, finishReason }).toEqual({ upstreamId: 'chatcmpl-1', finishReason: 'stop' });
  });

  it('keeps the bytes of what the model said', () => {
    const { text } = readAnswer(
      '{"choices":[{"message":{"content":"\\u00e9\\/ 1.0 \\"id\\":\\"x\\""},"finish_reason":"stop"}], "n" : 1e2 }',
    );
    expect(text).toContain('"content":"\\u00e9\\/ 1.0 \\"id\\":\\"x\\""');
    expect(text).toContain('"n" : 1e2');
  });

  it('is charged at batch prices in a batch', () => {
    expect(readAnswer(anAnswer(), { priceList: 'batch' }).cost.totalCost).toBe(1_000_000_000n);
  });

  it.each([
    ['function_call', 'tool_calls'],
    ['max_tokens', 'length'],
    ['eos', 'stop'],
    ['constructor', 'stop'],
    ['content_filter', 'content_filter'],
    ['content_filter: RECITATION', 'content_filter'],
    ['sensitive', 'content_filter'],
  ])('says %s in our words and keeps the native one', (native, ours) => {
    const { json, finishReason, nativeFinishReason } = readAnswer(
      anAnswer({ choices: [{ ...aChoice, finish_reason: native }] }),
    );
    expect(json['choices']).toEqual([{ ...aChoice, finish_reason: ours, native_finish_reason: native }]);
    expect({ finishReason, nativeFinishReason }).toEqual({ finishReason: ours, nativeFinishReason: native });
  });

  it('keeps details, zeros and unknown members of the usage', () => {
    const usage = {
      prompt_tokens: 0,
      completion_tokens: 0,
      total_tokens: 0,
      prompt_tokens_details: null,
      completion_tokens_details: { reasoning_tokens: 0 },
      queue_time: 0.25,
    };
    const read = readAnswer(anAnswer({ usage }));
    expect(read.json['usage']).toMatchObject({ ...usage, cost: 0 });
    expect(read.usage).toMatchObject({ promptTokens: 0, completionTokens: 0, provenance: 'upstream' });
  });

  it('counts cached, audio and reasoning tokens', () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 5, audio_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 20, audio_tokens: 7 },
    };
    expect(readAnswer(anAnswer({ usage })).usage).toEqual({
      promptTokens: 100,
      completionTokens: 50,
      totalTokens: 150,
      cachedTokens: 40,
      cacheWriteTokens: 5,
      audioPromptTokens: 3,
      reasoningTokens: 20,
      audioCompletionTokens: 7,
      provenance: 'upstream',
    });
  });

  it('charges reasoning that the upstream counts only in the total', () => {
    const usage = {
      prompt_tokens: 32,
      completion_tokens: 9,
      total_tokens: 135,
      completion_tokens_details: { reasoning_tokens: 94 },
    };
    const read = readAnswer(anAnswer({ usage }));
    expect(read.usage).toMatchObject({ completionTokens: 103, totalTokens: 135 });
    expect(read.json['usage']).toMatchObject({ completion_tokens: 103, total_tokens: 135 });
  });

  it.each([
    ['is missing', undefined, 8, 3],
    ['is null', null, 8, 3],
    ['is a word', 'none', 8, 3],
    ['is negative', { prompt_tokens: -5, completion_tokens: -1, total_tokens: -6 }, 8, 3],
    ['is text', { prompt_tokens: '12', completion_tokens: '1', total_tokens: '13' }, 8, 3],
    ['is no whole number', { prompt_tokens: 1.5, completion_tokens: 2, total_tokens: 3.5 }, 8, 2],
    ['is absurd', { prompt_tokens: 1e15, completion_tokens: 1e15, total_tokens: 2e15 }, 128_000, 128_000],
    ['is past every integer', { prompt_tokens: 1e300, completion_tokens: 2, total_tokens: 1 }, 8, 2],
  ])('is billed by a bounded, marked estimate when its usage %s', (_what, usage, promptTokens, completionTokens) => {
    const read = readAnswer(anAnswer({ usage }));
    const totalTokens = promptTokens + completionTokens;
    expect(read.usage).toMatchObject({ promptTokens, completionTokens, totalTokens, provenance: 'estimated' });
    expect(read.json['usage']).toMatchObject({
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: totalTokens,
      is_byok: false,
    });
  });

  it('may be as long as the context for each choice asked for', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 300_000, total_tokens: 300_001 };
    const requestBody = Buffer.from('{"n":3,"messages":[]}');
    expect(readAnswer(anAnswer({ usage }), { requestBody }).usage).toMatchObject({
      completionTokens: 300_000,
      provenance: 'upstream',
    });
    expect(readAnswer(anAnswer({ usage })).usage).toMatchObject({ completionTokens: 128_000, provenance: 'estimated' });
  });

  it('has an id for each tool call', () => {
    const calls = ['', 'a', undefined].map((id) => ({
      id,
      type: 'function',
      function: { name: 'f', arguments: '{}' },
    }));
    const choices = [{ index: 0, message: { content: null, tool_calls: calls }, finish_reason: 'tool_calls' }];
    const read = { choices };
    const idsOf = (): unknown[] => {
      const answer: unknown = JSON.parse(readAnswer(anAnswer({ choices })).text);
      return (answer as typeof read).choices[0]!.message.tool_calls.map(({ id }) => id);
    };
    const made = expect.stringMatching(/^call_[\da-f-]{36}$/);
    const ids = [idsOf(), idsOf()];
    for (const each of ids) expect(each).toEqual([made, 'a', made]);
    // No two calls of a conversation may have the same id.
    expect(new Set(ids.flat()).size).toBe(5);
  });

  it.each([null, '', {}, false])('is whole beside an error that says nothing: %j', (error) => {
    expect(readAnswer({ ...anAnswer(), error }).finishReason).toBe('stop');
  });

  it('passes an answer whose choice broke off with an error', () => {
    const choices = [{ index: 0, message: { content: 'Hel' }, finish_reason: 'error', error: { code: 502 } }];
    expect(readAnswer(anAnswer({ choices })).finishReason).toBe('error');
  });

  it.each([
    [{ error: { code: 429, message: 'x' } }, 'rate_limit_exceeded'],
    [{ error: { code: 'context_length_exceeded', message: 'too long' } }, 'context_length_exceeded'],
    [{ error: { type: 'overloaded_error' } }, 'provider_overloaded'],
    [{ error: 'it broke' }, 'provider_unavailable'],
    [{ error: { code: 200 } }, 'provider_unavailable'],
    [{ ...anAnswer(), error: { code: 429, message: 'x' } }, 'rate_limit_exceeded'],
    [{ ...anAnswer(), error: 'it broke' }, 'provider_unavailable'],
    [{ choices: {} }, 'provider_unavailable'],
    [{}, 'provider_unavailable'],
    ['[]', 'provider_unavailable'],
  ])('is an error when it says %j', (answer, code) => {
    expect(() => readAnswer(answer)).toThrow(AppError);
    expect(() => readAnswer(answer)).toThrow(expect.objectContaining({ code }) as Error);
  });
});
