import { createHash } from 'node:crypto';
import { LossLog } from '../../model/loss-report';
import { parseRate } from '../../pricing/money';
import type { Endpoint } from '../../catalogue/catalogue';
import { aModel, anEndpoint } from '../../testing';
import type { AnswerContext } from '../dialect';
import { openAiResponses } from './dialect';

const endpoint = anEndpoint({ apis: ['responses'] });
const context = (values: Partial<AnswerContext> = {}): AnswerContext => ({
  generationId: 'gen-1-abc',
  model: aModel({ endpoints: [endpoint] }),
  endpoint,
  priceList: 'standard',
  beganMs: 0,
  requestBody: Buffer.from('{"model":"acme/large","input":"twelve bytes"}'),
  ...values,
});

const toUpstream = (body: string, isStream = false): string =>
  openAiResponses.toUpstream(Buffer.from(body), endpoint, isStream).toString();

const readAnswer = (answer: object | string, values: Partial<AnswerContext> = {}) => {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const read = openAiResponses.readAnswer(Buffer.from(text), context(values));
  return { ...read, text: read.body.toString(), json: JSON.parse(read.body.toString()) as Record<string, never> };
};

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hello there', annotations: [] }],
};

const anAnswer = (values: object = {}): object => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  completed_at: 2,
  status: 'completed',
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  model: 'acme-large-2026',
  output: [MESSAGE],
  parallel_tool_calls: true,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  tool_choice: 'auto',
  tools: [],
  store: true,
  previous_response_id: 'resp_0',
  usage: {
    input_tokens: 1000,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 500,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 1500,
  },
  ...values,
});

describe('a request for an upstream that speaks responses', () => {
  it('names the upstream model, is never stored, and keeps every other byte', () => {
    expect(toUpstream('{ "model" : "acme/large", "input":"\\u00e9", "store":true , "top_p": 1.0}')).toBe(
      '{ "model" : "acme-large-2026", "input":"\\u00e9", "store":false , "top_p": 1.0}',
    );
    expect(toUpstream('{"model":"m","input":"x"}')).toBe('{"model":"acme-large-2026","input":"x","store":false}');
  });

  const passed = (members: string, values: Partial<Endpoint> = {}) => {
    const log = new LossLog();
    const body = Buffer.from(`{"model":"m",${members}"input":"x"}`);
    const sent = openAiResponses.toUpstream(body, anEndpoint({ apis: ['responses'], ...values }), false, log);
    const told = JSON.parse(sent.toString()) as Record<string, unknown>;
    return { ...told, reasoning: told['reasoning'], losses: log.report() };
  };

  it('leaves out what callers have beyond the API, unless the catalogue says that it is taken', () => {
    const own = '"top_k":7,"image_config":{"aspect_ratio":"1:1"},"cache_control":{"type":"ephemeral"},';
    const names = ['top_k', 'image_config', 'cache_control'];
    const left = passed(own, { supportedParameters: ['max_tokens'] });
    for (const name of names) expect(left).not.toHaveProperty(name);
    expect(left.losses.dropped).toEqual(names);
    const capabilities = { responses: { image_config: true, cache_control: true } };
    const taken = passed(own, { supportedParameters: ['top_k'], capabilities });
    expect(Object.keys(taken)).toEqual(expect.arrayContaining(names));
    expect(taken.losses.dropped).toEqual([]);
  });

  it('leaves out settings that the catalogue does not list for the endpoint', () => {
    const sent = passed('"temperature":1,"top_p":0.5,', { supportedParameters: ['top_p'] });
    expect(sent).toMatchObject({ top_p: 0.5, losses: { dropped: ['temperature'] } });
    expect(sent).not.toHaveProperty('temperature');
  });

  it('takes marks for the prompt cache out of items, their content, what tools gave back, and tools', () => {
    const body = (mark: string) =>
      `{"model":"acme-large-2026","input":[{"role":"user"${mark},"content":[{"type":"input_text","text":"a"${mark}}]},` +
      `{"type":"function_call_output","output":[{"type":"input_text","text":"b"${mark}}]}],` +
      `"tools":[{"type":"function","name":"f"${mark}}],"store":false}`;
    expect(toUpstream(body(',"cache_control":{"type":"ephemeral"}'))).toBe(body(''));
  });

  it.each([
    ['{"enabled":false}', { effort: 'none' }, [], []],
    ['{"enabled":true,"summary":"auto"}', { summary: 'auto' }, [], []],
    ['{"max_tokens":200,"enabled":true}', { effort: 'low' }, [], ['reasoning.max_tokens']],
    ['{"effort":"high","exclude":true}', { effort: 'high' }, ['reasoning.exclude'], []],
  ])('tells the reasoning %s in the words of the API', (reasoning, told, dropped, approximated) => {
    const members = `"max_output_tokens":1000,"reasoning":${reasoning},`;
    expect(passed(members)).toMatchObject({ reasoning: told, losses: { dropped, approximated } });
    expect(Object.keys(passed(members)['reasoning'] as object)).toEqual(Object.keys(told));
    const taker = passed(members, { capabilities: { responses: { reasoning: true } } });
    expect(taker).toMatchObject({ reasoning: JSON.parse(reasoning) as object, losses: { dropped: [] } });
  });

  it('asks no model for thoughts that lists none', () => {
    const plain = passed('"reasoning":{"effort":"high","exclude":true},', { supportedParameters: ['seed'] });
    expect(plain).toMatchObject({ reasoning: undefined, losses: { dropped: ['reasoning'], approximated: [] } });
  });

  it('leaves reasoning that the API has words for as it is', () => {
    const body = '{"model":"acme-large-2026","input":"x","reasoning":{ "effort" : "max" },"store":false}';
    expect(toUpstream(body)).toBe(body);
  });

  it('loses what is between the caller and us and what reaches past us', () => {
    const ours = [
      'provider',
      'models',
      'plugins',
      'route',
      'session_id',
      'trace',
      'debug',
      'preset',
      'cache_control',
      'stop_server_tools_when',
      'deferred_tools',
      'previous_response_id',
      'conversation',
      'api_key',
      'base_url',
      'headers',
    ];
    const members = ours.map((name) => `"${name}":{"x":1}`).join(',');
    expect(toUpstream(`{${members},"model":"m","store":false,"top_k":1}`)).toBe(
      '{"model":"acme-large-2026","store":false,"top_k":1}',
    );
  });

  it('bounds the steps of tools unless conditions take the place of the bound', () => {
    expect(toUpstream('{"model":"m","max_tool_calls":3}')).toContain('"max_tool_calls":3');
    expect(toUpstream('{"model":"m","max_tool_calls":3,"stop_server_tools_when":null}')).toContain('max_tool_calls');
    expect(toUpstream('{"model":"m","max_tool_calls":3,"stop_server_tools_when":[{}]}')).not.toContain('max_tool');
  });

  it('keeps modalities only where a picture is wanted', () => {
    expect(toUpstream('{"model":"m","modalities":["text"]}')).not.toContain('modalities');
    expect(toUpstream('{"model":"m","modalities":["text","image"]}')).toContain('modalities');
  });

  it('never passes a user on, only a hash that stays the same', () => {
    const hash = createHash('sha256').update('anna@example.org').digest('hex');
    for (const name of ['user', 'safety_identifier']) {
      expect(toUpstream(`{"model":"m","${name}":"ann\\u0061@example.org"}`)).toContain(`"${name}":"${hash}"`);
      expect(toUpstream(`{"model":"m","${name}":null}`)).toContain(`"${name}":null`);
    }
  });

  describe('with thoughts of earlier answers', () => {
    const sent = (...items: string[]): unknown =>
      (JSON.parse(toUpstream(`{"model":"m","input":[ ${items.join(' , ')} ]}`)) as { input: unknown }).input;
    const said = '{"role":"user","content":"Hi"}';
    const user = JSON.parse(said) as object;
    const sealed = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"';
    const kept = JSON.parse(`${sealed}}`) as object;

    it('tells none of what only callers are told, which providers refuse', () => {
      const told = `${sealed},"format":"openai-responses-v1","signature":"s","status":"completed"}`;
      expect(sent(said, told, said)).toEqual([user, kept, user]);
      const marked = `${sealed},"cache_control":{"type":"ephemeral"},"status":null}`;
      expect(sent(marked)).toEqual([expect.objectContaining({ id: 'rs_1', encrypted_content: 'x' })]);
    });

    it.each([
      [
        'of which only the id is known',
        '{"type":"reasoning","id":"rs_0","summary":[{"type":"summary_text","text":"a"}]}',
      ],
      ['without a seal', '{"type":"reasoning","id":"rs_0","summary":[],"encrypted_content":null,"content":[]}'],
      ['of another kind of provider', `${sealed},"format":"anthropic-claude-v1"}`],
      [
        'that the gateway sealed',
        '{"type":"reasoning","id":"rs_0","summary":[],"encrypted_content":"sluice-reasoning-1:e30="}',
      ],
    ])('leaves those out %s, wherever they stand', (_which, lost) => {
      expect(sent(lost, said, `${sealed}}`)).toEqual([user, kept]);
      expect(sent(lost, lost, said, lost, lost)).toEqual([user]);
      expect(sent(said, lost, `${sealed}}`, lost)).toEqual([user, kept]);
      const log = new LossLog();
      openAiResponses.toUpstream(Buffer.from(`{"input":[${lost},${said}]}`), endpoint, false, log);
      expect(log.report().dropped).toEqual(['reasoning']);
    });

    it('passes texts of thoughts, and input that only looks like one, byte for byte', () => {
      const open = '{"type":"reasoning","content":[{"type":"reasoning_text","text":"a"}]}';
      expect(sent(open)).toEqual([JSON.parse(open)]);
      const words = '{ "role" : "user","content":"\\"reasoning\\"", "type":"message", "status":"completed"}';
      expect(toUpstream(`{"model":"m","input":[${words}]}`)).toContain(words);
    });
  });

  it('does not tell an upstream what the sources of an earlier answer say, which it refuses', () => {
    const source = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 1 };
    const inputOf = (annotation: object) => [
      { role: 'user', content: 'Hi' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a', annotations: [annotation] }] },
    ];
    const sent = toUpstream(JSON.stringify({ model: 'm', input: inputOf({ ...source, content: 'Long.' }) }));
    expect(JSON.parse(sent)).toMatchObject({ input: inputOf(source) });
    expect(sent).not.toContain('Long.');
  });

  it.each([
    ['fast', 'priority'],
    ['ultrafast', 'priority'],
    ['flex', 'flex'],
  ])('asks for the tier %s in a word that upstreams know where its caller pays it: %s', (tier, sent) => {
    const body = Buffer.from(`{"model":"m","service_tier":"${tier}"}`);
    expect(JSON.parse(toUpstream(body.toString()))).not.toHaveProperty('service_tier');
    const paid = openAiResponses
      .toUpstream(body, endpoint, false, new LossLog(), { isOwn: true, keepsNothing: false })
      .toString();
    expect(JSON.parse(paid)).toMatchObject({ service_tier: sent });
  });

  it('asks for a stream exactly when one is wanted', () => {
    expect(toUpstream('{"model":"m"}', true)).toContain('"stream":true');
    expect(toUpstream('{"model":"m","stream":true}')).toContain('"stream":false');
    expect(toUpstream('{"model":"m"}')).not.toContain('stream');
  });

  it.each(['', '[]', 'null', '{"a":1'])('refuses the body %s', (body) => {
    expect(() => toUpstream(body)).toThrow(expect.objectContaining({ code: 'invalid_request' }) as Error);
  });
});

describe('a response of an upstream that speaks responses', () => {
  it('carries our id and model, nothing stored, and the cost', () => {
    const { json, usage, cost, upstreamId, finishReason, nativeFinishReason } = readAnswer(anAnswer());
    expect(json).toEqual({
      ...anAnswer(),
      id: 'gen-1-abc',
      model: 'acme/large',
      store: false,
      previous_response_id: null,
      usage: {
        input_tokens: 1000,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 500,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 1500,
        cost: 0.002,
        cost_details: {
          upstream_inference_cost: null,
          upstream_inference_input_cost: 0.001,
          upstream_inference_output_cost: 0.001,
        },
        is_byok: false,
      },
    });
    expect(usage).toMatchObject({ promptTokens: 1000, completionTokens: 500, provenance: 'upstream' });
    expect(cost.totalCost).toBe(2_000_000_000n);
    expect({ upstreamId, finishReason, nativeFinishReason }).toEqual({
      upstreamId: 'resp_1',
      finishReason: 'stop',
      nativeFinishReason: 'completed',
    });
  });

  it('is charged for the searches of the web that its provider made, and not for pages that it opened', () => {
    const priced = { ...endpoint, pricing: { ...endpoint.pricing, webSearch: parseRate('0.01') } };
    const call = (values: object): object => ({ id: 'ws_1', type: 'web_search_call', status: 'completed', ...values });
    const output = [
      call({ action: { type: 'search', query: 'a', sources: [{ type: 'url', url: 'https://a.example' }] } }),
      call({ action: { type: 'open_page', url: 'https://a.example' } }),
      call({}),
      call({ action: { type: 'search', query: 'b' }, status: 'failed' }),
      MESSAGE,
    ];
    const { cost, json } = readAnswer(anAnswer({ output }), { endpoint: priced });
    expect(cost.totalCost).toBe(22_000_000_000n);
    expect(json['usage']).toMatchObject({ cost: 0.022 });
  });

  it('keeps the bytes of what the model said', () => {
    const { text } = readAnswer(
      '{"output":[{"type":"message","content":[{"text":"\\u00e9\\/ \\"id\\""}]}], "n" : 1e2 }',
    );
    expect(text).toContain('"text":"\\u00e9\\/ \\"id\\""');
    expect(text).toContain('"n" : 1e2');
  });

  it('gets every member that the interface requires', () => {
    const { json } = readAnswer({ output: [MESSAGE], usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } });
    expect(json).toMatchObject({
      object: 'response',
      completed_at: null,
      error: null,
      incomplete_details: null,
      instructions: null,
      metadata: null,
      parallel_tool_calls: true,
      temperature: null,
      top_p: null,
      presence_penalty: null,
      frequency_penalty: null,
      tool_choice: 'auto',
      tools: [],
      usage: { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
    });
    expect(json['created_at']).toEqual(expect.any(Number));
  });

  it('repeats the settings of the request where the upstream does not', () => {
    const settings = {
      instructions: 'Be brief',
      metadata: { run: '7' },
      parallel_tool_calls: false,
      temperature: 0.5,
      top_p: 0.9,
      presence_penalty: 0.25,
      frequency_penalty: -0.5,
      tool_choice: 'none',
      tools: [{ type: 'function', name: 'look', parameters: null }],
    };
    const requestBody = Buffer.from(JSON.stringify({ input: 'x', ...settings }));
    expect(readAnswer({ output: [MESSAGE] }, { requestBody }).json).toMatchObject(settings);
    const changed = { output: [MESSAGE], temperature: 1, tools: [] };
    expect(readAnswer(changed, { requestBody }).json).toMatchObject({ ...settings, temperature: 1, tools: [] });
  });

  it('names the tier in our words and the user in the words of the caller', () => {
    const requestBody = Buffer.from('{"input":"x","user":"anna"}');
    const { json } = readAnswer(anAnswer({ service_tier: 'standard', user: 'a hash' }), { requestBody });
    expect(json).toMatchObject({ service_tier: 'default', user: 'anna' });
  });

  it('counts cached, written and reasoning tokens', () => {
    const usage = {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 40, cache_write_tokens: 5 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 20 },
      total_tokens: 150,
    };
    expect(readAnswer(anAnswer({ usage })).usage).toMatchObject({
      cachedTokens: 40,
      cacheWriteTokens: 5,
      reasoningTokens: 20,
      provenance: 'upstream',
    });
  });

  it('is charged at batch prices in a batch', () => {
    expect(readAnswer(anAnswer(), { priceList: 'batch' }).cost.totalCost).toBe(1_000_000_000n);
  });

  it.each([
    ['is missing', undefined],
    ['is null', null],
    ['is a word', 'none'],
    ['is negative', { input_tokens: -5, output_tokens: -1, total_tokens: -6 }],
    ['is text', { input_tokens: '12', output_tokens: '1' }],
  ])('is billed by a bounded, marked estimate when its usage %s', (_what, usage) => {
    const read = readAnswer(anAnswer({ usage }));
    const counts = { input_tokens: 4, output_tokens: 3, total_tokens: 7 };
    expect(read.usage).toMatchObject({ promptTokens: 4, completionTokens: 3, provenance: 'estimated' });
    expect(read.json['usage']).toMatchObject({ ...counts, is_byok: false, cost: 0.00001 });
  });

  it('keeps zeros and cuts what is absurd', () => {
    const zero = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
    expect(readAnswer(anAnswer({ usage: zero })).usage).toMatchObject({ totalTokens: 0, provenance: 'upstream' });
    const absurd = { input_tokens: 1e15, output_tokens: 1e15, total_tokens: 2e15 };
    expect(readAnswer(anAnswer({ usage: absurd })).usage).toMatchObject({
      promptTokens: 128_000,
      completionTokens: 128_000,
      provenance: 'estimated',
    });
  });

  it.each([
    [{ output: [MESSAGE, { type: 'function_call', name: 'f', arguments: '{}' }] }, 'tool_calls', 'completed'],
    [{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }, 'length', 'max_output_tokens'],
    [{ status: 'incomplete', incomplete_details: { reason: 'content_filter' } }, 'content_filter', 'content_filter'],
    [{ status: 'completed', output: [] }, 'stop', 'completed'],
  ])('says of %j that it ended by %s', (values, finishReason, nativeFinishReason) => {
    expect(readAnswer(anAnswer(values))).toMatchObject({ finishReason, nativeFinishReason });
  });

  it('that failed half-way shows what there is and why there is no more', () => {
    const error = { code: 'server_error', message: 'boom sk-live-0123456789abcdef' };
    const { json, finishReason } = readAnswer(anAnswer({ status: 'failed', error }));
    expect(finishReason).toBe('error');
    expect(json).toMatchObject({
      status: 'failed',
      output: [MESSAGE],
      error: { code: 'server_error', message: 'The provider is not available' },
      error_type: 'provider_unavailable',
    });
  });

  it.each(['failed', 'cancelled'])('that is %s without a reason has a reason', (status) => {
    const { json, finishReason } = readAnswer(anAnswer({ status, error: null }));
    expect(finishReason).toBe('error');
    expect(json).toMatchObject({
      status: 'failed',
      output: [MESSAGE],
      error: { code: 'server_error', message: expect.any(String) },
      error_type: 'provider_unavailable',
    });
  });

  it.each([null, '', {}, false])('is whole next to an error that says nothing: %j', (error) => {
    expect(readAnswer(anAnswer({ error })).finishReason).toBe('stop');
  });

  it('that ran out of room half-way is incomplete', () => {
    const error = { code: 'context_length_exceeded', message: 'too long' };
    const { json, finishReason } = readAnswer(anAnswer({ status: 'failed', error }));
    expect(finishReason).toBe('length');
    expect(json).toMatchObject({
      status: 'incomplete',
      error: null,
      incomplete_details: { reason: 'max_output_tokens' },
    });
  });

  it.each([
    [{ error: { code: 'rate_limit_exceeded', message: 'x' } }, 'rate_limit_exceeded'],
    [{ output: [], error: { code: 'context_length_exceeded', message: 'too long' } }, 'context_length_exceeded'],
    [{ output: [], status: 'failed', error: { code: 'server_error' } }, 'provider_unavailable'],
    [{ output: [], status: 'failed', error: null }, 'provider_unavailable'],
    [{ output: [], status: 'cancelled' }, 'provider_unavailable'],
    [{ output: {} }, 'provider_unavailable'],
    [{ ...anAnswer(), status: 'in_progress' }, 'provider_unavailable'],
    [{}, 'provider_unavailable'],
    ['[]', 'provider_unavailable'],
    ['{"output":[', 'provider_unavailable'],
  ])('is an error when it says %j', (answer, code) => {
    expect(() => readAnswer(answer)).toThrow(expect.objectContaining({ code }) as Error);
  });
});
