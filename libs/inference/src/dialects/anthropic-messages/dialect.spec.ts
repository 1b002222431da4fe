import { createHash } from 'node:crypto';
import { LossLog } from '../../model/loss-report';
import { parseRate } from '../../pricing/money';
import { aModel, anEndpoint } from '../../testing';
import type { AnswerContext } from '../dialect';
import { anthropicMessages } from './dialect';
import { toTokenCount } from './count-tokens';
import { readRequest } from './request-reader';

const endpoint = anEndpoint({ apis: ['messages'] });
const context = (values: Partial<AnswerContext> = {}): AnswerContext => ({
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard',
  beganMs: 0,
  requestBody: Buffer.from('{"messages":[{"role":"user","content":"twelve bytes"}]}'),
  ...values,
});

const toUpstream = (body: string, isStream = false): string =>
  anthropicMessages.toUpstream(Buffer.from(body), endpoint, isStream).toString();

const readAnswer = (answer: object | string, values: Partial<AnswerContext> = {}) => {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const read = anthropicMessages.readAnswer(Buffer.from(text), context(values));
  return { ...read, text: read.body.toString(), json: JSON.parse(read.body.toString()) as Record<string, never> };
};

const aMessage = (values: object = {}): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'acme-large-2026',
  container: null,
  content: [{ type: 'text', text: 'Hello there', citations: null }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  stop_details: null,
  usage: {
    input_tokens: 1000,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 500,
    cache_creation: null,
    output_tokens_details: { thinking_tokens: 0 },
    server_tool_use: null,
    inference_geo: 'us',
    service_tier: 'standard',
  },
  ...values,
});

describe('a messages request for an upstream that speaks messages', () => {
  it('names the upstream model and keeps every other byte', () => {
    expect(toUpstream('{ "model" : "acme/large", "max_tokens":5,"system":"\\u00e9" , "top_p": 1.0}')).toBe(
      '{ "model" : "acme-large-2026", "max_tokens":5,"system":"\\u00e9" , "top_p": 1.0}',
    );
  });

  it('loses what is between the caller and us and keeps what is the upstream’s own', () => {
    const ours = ['provider', 'models', 'fallbacks', 'plugins', 'route', 'preset', 'session_id', 'trace', 'debug'];
    const members = [...ours, 'stop_server_tools_when'].map((name) => `"${name}":[{"model":"x"}]`);
    const own = '"cache_control":{"type":"ephemeral"},"context_management":{},"speed":"standard","thinking":{}';
    expect(toUpstream(`{${members.join(',')},"model":"m","max_tokens":1,${own}}`)).toBe(
      `{"model":"acme-large-2026","max_tokens":1,${own}}`,
    );
  });

  it('names debug, which has no effect in this API', () => {
    const droppedOf = (members: string): readonly string[] => {
      const log = new LossLog();
      anthropicMessages.toUpstream(Buffer.from(`{"model":"m","max_tokens":1${members}}`), anEndpoint(), false, log);
      return log.report().dropped;
    };
    expect(droppedOf(',"debug":{"echo_upstream_body":true}')).toEqual(['debug']);
    for (const members of ['', ',"debug":null', ',"trace":{"a":"b"}']) expect(droppedOf(members)).toEqual([]);
    const body = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1, debug: { echo_upstream_body: true } };
    expect(readRequest(body).unread).toEqual(['debug']);
  });

  it('loses samplers that the model is not listed with, and says so', () => {
    const body = Buffer.from('{"model":"m","max_tokens":1,"temperature":0.2,"top_k":5,"top_p":0.9,"system":"x"}');
    const sent = (supportedParameters: string[], log?: LossLog) =>
      anthropicMessages.toUpstream(body, anEndpoint({ supportedParameters }), false, log).toString();
    const log = new LossLog();
    expect(sent(['max_tokens'], log)).toBe('{"model":"acme-large-2026","max_tokens":1,"system":"x"}');
    expect(log.report().dropped).toEqual(['temperature', 'top_p', 'top_k']);
    expect(JSON.parse(sent(['max_tokens', 'temperature']))).toMatchObject({ temperature: 0.2 });
    expect(JSON.parse(sent([]))).toMatchObject({ temperature: 0.2, top_k: 5, top_p: 0.9 });
  });

  it.each([
    ['none is given', '{"model":"m"}'],
    ['it is null', '{"model":"m","max_tokens":null}'],
  ])('bounds the answer where %s', (_what, body) => {
    expect(JSON.parse(toUpstream(body))).toMatchObject({ max_tokens: 16_000 });
    const unbounded = anEndpoint({ maxCompletionTokens: null });
    const sent = anthropicMessages.toUpstream(Buffer.from(body), unbounded, false).toString();
    expect(JSON.parse(sent)).toMatchObject({ max_tokens: 4_096 });
  });

  it('keeps the bound of our own tools to itself', () => {
    expect(toUpstream('{"model":"m","max_tokens":1,"max_tool_calls":3}')).not.toContain('max_tool_calls');
  });

  it('passes users on by their hash alone, whichever member names them', () => {
    const hash = createHash('sha256').update('anna@example.org').digest('hex');
    const metadataOf = (members: string) =>
      (JSON.parse(toUpstream(`{"user":"anna@example.org","max_tokens":1,"model":"m"${members}}`)) as object)[
        'metadata' as never
      ];
    expect(metadataOf('')).toEqual({ user_id: hash });
    expect(metadataOf(',"metadata":{"user_id":null}')).toEqual({ user_id: hash });
    const own = createHash('sha256').update('u-1').digest('hex');
    expect(metadataOf(',"metadata":{"user_id":"u-1"}')).toEqual({ user_id: own });
    expect(toUpstream('{"metadata":{"user_id":"u-1"},"max_tokens":1,"model":"m"}')).toContain(`{"user_id":"${own}"}`);
    expect(toUpstream('{"metadata":{"user_id":null},"max_tokens":1,"model":"m"}')).toContain('{"user_id":null}');
    expect(toUpstream('{"user":"anna@example.org","max_tokens":1,"model":"m"}')).not.toContain('anna');
  });

  it.each([
    ['auto', 'auto', 'auto'],
    ['standard_only', 'standard_only', 'standard_only'],
    ['default', 'standard_only', 'standard_only'],
    ['fast', undefined, 'auto'],
    ['priority', undefined, 'auto'],
    ['flex', undefined, 'auto'],
  ])('names the tier %s as the upstream does: %s, and where its caller pays it: %s', (tier, sent, paid) => {
    const body = Buffer.from(`{"model":"m","max_tokens":1,"speed":"fast","service_tier":"${tier}"}`);
    const tierOf = (isOwn: boolean) =>
      JSON.parse(
        anthropicMessages.toUpstream(body, endpoint, false, new LossLog(), { isOwn, keepsNothing: false }).toString(),
      ) as object;
    expect([tierOf(false), tierOf(true)]).toEqual([
      { model: 'acme-large-2026', max_tokens: 1, ...(sent && { service_tier: sent }) },
      { model: 'acme-large-2026', max_tokens: 1, speed: 'fast', service_tier: paid },
    ]);
  });

  it('asks for a stream exactly when one is wanted', () => {
    expect(toUpstream('{"model":"m","max_tokens":1}', true)).toContain('"stream":true');
    expect(toUpstream('{"model":"m","max_tokens":1,"stream":true}')).toContain('"stream":false');
  });

  it('is counted without what only an answer needs', () => {
    const body = '{"model":"m","max_tokens":1,"stream":true,"temperature":1,"system":"s","tools":[],"provider":{}}';
    expect(toTokenCount(Buffer.from(body), endpoint).toString()).toBe(
      '{"model":"acme-large-2026","system":"s","tools":[]}',
    );
  });

  it.each(['', '[]', '{"a":1'])('is refused when it is %s', (body) => {
    expect(() => toUpstream(body)).toThrow(expect.objectContaining({ code: 'invalid_request' }) as Error);
  });
});

describe('thoughts in a request that other models wrote', () => {
  const sealed = { type: 'thinking', thinking: 'hm', signature: 'sluice-reasoning-1:e30=' };
  const unsigned = { type: 'thinking', thinking: 'hm', signature: '' };
  const own = { type: 'thinking', thinking: 'mine', signature: 'U0lH' };
  const redacted = { type: 'redacted_thinking', data: 'sluice-reasoning-1:e30=' };
  const text = { type: 'text', text: 'Yes' };
  const call = { type: 'tool_use', id: 't', name: 'f', input: { n: 12345678901234567890n } };
  const written = (value: unknown): string =>
    JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? `#${one}#` : one)).replace(
      /"#(\d+)#"/g,
      '$1',
    );
  const sent = (content: readonly object[], members: object = {}) => {
    const turns = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content },
      { role: 'user', content: 'y' },
    ];
    return toUpstream(written({ model: 'm', max_tokens: 5000, messages: turns, ...members }));
  };

  it.each([
    [[sealed, text], [text]],
    [[unsigned, text, redacted], [text]],
    [
      [own, sealed, call, unsigned],
      [own, call],
    ],
    [[sealed, unsigned], [{ type: 'text', text: '.' }]],
    [
      [own, text],
      [own, text],
    ],
  ])('are left out, as providers refuse them: %#', (content, left) => {
    expect(sent(content)).toContain(`{"role":"assistant","content":${written(left)}}`);
  });

  it('are not counted', () => {
    const messages = [{ role: 'assistant', content: [unsigned, text] }];
    const counted = toTokenCount(Buffer.from(JSON.stringify({ model: 'm', messages })), endpoint).toString();
    expect(counted).toContain(`"content":${JSON.stringify([text])}`);
  });

  it('end thinking with a budget where calls have lost them, and only there', () => {
    const thinking = { type: 'enabled', budget_tokens: 1024 };
    expect(sent([unsigned, call], { thinking })).not.toContain('budget_tokens');
    for (const content of [
      [unsigned, text],
      [own, unsigned, call],
    ]) {
      expect(sent(content, { thinking })).toContain('budget_tokens');
    }
    expect(sent([unsigned, call], { thinking: { type: 'adaptive' } })).toContain('adaptive');
  });
});

describe('a message of an upstream', () => {
  it('has every member that it must have, also where the upstream had nothing to say in it', () => {
    const { json } = readAnswer({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'acme-large-2026',
      stop_reason: 'tool_use',
      content: [
        { type: 'thinking', thinking: 'So be it' },
        { type: 'text', text: 'Hello there' },
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
        { type: 'text', text: 'again', citations: [{ type: 'char_location' }] },
        { type: 'block_of_tomorrow' },
      ],
      usage: { input_tokens: 1000, output_tokens: 500 },
    });
    expect(json).toMatchObject({
      container: null,
      stop_sequence: null,
      stop_details: null,
      usage: {
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation: null,
        output_tokens_details: null,
        server_tool_use: null,
        inference_geo: null,
        service_tier: 'standard',
      },
    });
    expect(json['content']).toEqual([
      { type: 'thinking', thinking: 'So be it', signature: '' },
      { type: 'text', text: 'Hello there', citations: null },
      { type: 'tool_use', id: 'toolu_1', name: 'look', input: {}, caller: { type: 'direct' } },
      { type: 'text', text: 'again', citations: [{ type: 'char_location' }] },
      { type: 'block_of_tomorrow' },
    ]);
  });

  it.each([
    ['null', { stop_reason: null }, [], 'end_turn'],
    ['an empty text', { stop_reason: '' }, [], 'end_turn'],
    ['nothing', {}, [], 'end_turn'],
    ['null after a call', { stop_reason: null }, [{ type: 'tool_use', id: 't', name: 'look', input: {} }], 'tool_use'],
  ])('says why it ended where the upstream gives a reason of %s', (_what, reason, calls, expected) => {
    const { stop_reason: _given, ...message } = aMessage() as Record<string, unknown>;
    const content = [{ type: 'text', text: 'Hello' }, ...calls];
    const { json, finishReason, nativeFinishReason } = readAnswer({ ...message, content, ...reason });
    expect(json['stop_reason']).toBe(expected);
    expect({ finishReason, nativeFinishReason }).toEqual({
      finishReason: expected === 'end_turn' ? 'stop' : 'tool_calls',
      nativeFinishReason: null,
    });
  });

  it('carries our id, model and provider, and the cost', () => {
    const { json, usage, cost, upstreamId, finishReason, nativeFinishReason } = readAnswer(aMessage());
    expect(json).toEqual({
      ...aMessage(),
      id: 'gen-1-abc',
      model: 'acme/large',
      provider: 'Acme',
      usage: {
        ...(aMessage() as { usage: object }).usage,
        cost: 0.002,
        cost_details: {
          upstream_inference_cost: null,
          upstream_inference_prompt_cost: 0.001,
          upstream_inference_completions_cost: 0.001,
        },
        is_byok: false,
      },
    });
    expect(usage).toMatchObject({ promptTokens: 1000, completionTokens: 500, provenance: 'upstream' });
    expect(cost.totalCost).toBe(2_000_000_000n);
    expect({ upstreamId, finishReason, nativeFinishReason }).toEqual({
      upstreamId: 'msg_1',
      finishReason: 'stop',
      nativeFinishReason: 'end_turn',
    });
  });

  it('keeps the bytes of what the model said', () => {
    const { text } = readAnswer('{"content":[{"type":"text","text":"\\u00e9\\/ \\"id\\":1.0"}], "n" : 1e2 }');
    expect(text).toContain('"text":"\\u00e9\\/ \\"id\\":1.0"');
    expect(text).toContain('"n" : 1e2');
  });

  it('counts the prompt with what the cache read and wrote, each once', () => {
    const priced = anEndpoint({
      pricing: {
        prompt: parseRate('0.000010'),
        completion: parseRate('0'),
        inputCacheRead: parseRate('0.000001'),
        inputCacheWrite: parseRate('0.0000125'),
        inputCacheWrite1h: parseRate('0.00002'),
        webSearch: parseRate('0.01'),
      },
    });
    const { usage, cost } = readAnswer(
      aMessage({
        usage: {
          input_tokens: 10,
          cache_read_input_tokens: 1_000,
          cache_creation_input_tokens: 300,
          cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
          output_tokens: 7,
          output_tokens_details: { thinking_tokens: 5 },
          server_tool_use: { web_search_requests: 2, web_fetch_requests: 0 },
        },
      }),
      { endpoint: priced },
    );
    expect(usage).toEqual({
      promptTokens: 1_310,
      completionTokens: 7,
      totalTokens: 1_317,
      cachedTokens: 1_000,
      cacheWriteTokens: 300,
      reasoningTokens: 5,
      audioPromptTokens: 0,
      audioCompletionTokens: 0,
      provenance: 'upstream',
    });
    // 10 × 10 + 1000 × 1 + 200 × 12.5 + 100 × 20 millionths, and two searches.
    expect(cost.totalCost).toBe(5_600_000_000n + 20_000_000_000n);
  });

  it('charges compaction, which the upstream counts apart', () => {
    const usage = {
      input_tokens: 100,
      output_tokens: 20,
      iterations: [
        { type: 'compaction', input_tokens: 5_000, output_tokens: 300, cache_read_input_tokens: 50 },
        { type: 'message', input_tokens: 100, output_tokens: 20 },
      ],
    };
    const read = readAnswer(aMessage({ usage }));
    expect(read.usage).toMatchObject({ promptTokens: 5_150, completionTokens: 320, cachedTokens: 50 });
    expect(read.json['usage']).toMatchObject({ input_tokens: 100, output_tokens: 20 });
  });

  it('may count more than the context where the model ran several times', () => {
    const usage = { input_tokens: 200_000, output_tokens: 1, server_tool_use: { web_search_requests: 1 } };
    expect(readAnswer(aMessage({ usage })).usage).toMatchObject({ promptTokens: 200_000, provenance: 'upstream' });
    const once = { input_tokens: 200_000, output_tokens: 1 };
    expect(readAnswer(aMessage({ usage: once })).usage).toMatchObject({
      promptTokens: 128_000,
      provenance: 'estimated',
    });
  });

  it.each([
    ['is missing', undefined, 8, 3],
    ['is null', null, 8, 3],
    ['is a word', 'none', 8, 3],
    ['is negative', { input_tokens: -5, output_tokens: -1 }, 8, 3],
    ['is text', { input_tokens: '12', output_tokens: '1' }, 8, 3],
    ['is no whole number', { input_tokens: 1.5, output_tokens: 2 }, 8, 2],
    ['is past every integer', { input_tokens: 1e300, output_tokens: 2 }, 8, 2],
    ['is absurd', { input_tokens: 1e15, output_tokens: 1e15 }, 128_000, 128_000],
  ])('is billed by a bounded, marked estimate when its usage %s', (_what, usage, promptTokens, completionTokens) => {
    const read = readAnswer(aMessage({ usage }));
    expect(read.usage).toMatchObject({ promptTokens, completionTokens, provenance: 'estimated' });
    expect(read.json['usage']).toMatchObject({
      input_tokens: promptTokens,
      output_tokens: completionTokens,
      is_byok: false,
    });
  });

  it('keeps zeros and unknown members of the usage', () => {
    const usage = { input_tokens: 0, output_tokens: 0, inference_geo: 'eu', cache_creation: null };
    const read = readAnswer(aMessage({ usage }));
    expect(read.json['usage']).toMatchObject({ ...usage, cost: 0 });
    expect(read.usage).toMatchObject({ promptTokens: 0, completionTokens: 0, provenance: 'upstream' });
  });

  it.each([
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['compaction', 'stop'],
  ])('tells the books %s as %s and the caller as it is', (native, finishReason) => {
    const read = readAnswer(aMessage({ stop_reason: native }));
    expect(read).toMatchObject({ finishReason, nativeFinishReason: native });
    expect(read.json['stop_reason']).toBe(native);
  });

  it.each([null, '', {}, false])('is whole next to an error that says nothing: %j', (error) => {
    expect(readAnswer({ ...aMessage(), error }).finishReason).toBe('stop');
  });

  it.each([
    [{ type: 'error', error: { type: 'overloaded_error', message: 'x' } }, 'provider_overloaded'],
    [{ type: 'error', error: { type: 'rate_limit_error', message: 'x' } }, 'rate_limit_exceeded'],
    [
      { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long' } },
      'context_length_exceeded',
    ],
    [{ type: 'error', error: { type: 'authentication_error', message: 'sk-ant-1' } }, 'provider_unavailable'],
    [{ error: 'it broke' }, 'provider_unavailable'],
    [{ ...aMessage(), error: { type: 'overloaded_error', message: 'x' } }, 'provider_overloaded'],
    [{ ...aMessage(), error: 'it broke' }, 'provider_unavailable'],
    [{ ...aMessage({ content: [] }), error: { type: 'api_error' } }, 'provider_unavailable'],
    [{ content: 'Hello' }, 'provider_unavailable'],
    [{}, 'provider_unavailable'],
    ['[]', 'provider_unavailable'],
    ['{"content":[]}{', 'provider_unavailable'],
    ['{"content":[],"usage":{"input_tokens":1,"x":"\\z"}}', 'provider_unavailable'],
  ])('is an error when it says %j', (answer, code) => {
    expect(() => readAnswer(answer)).toThrow(expect.objectContaining({ code }) as Error);
  });
});
