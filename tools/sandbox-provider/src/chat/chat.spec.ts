import { createHash } from 'node:crypto';
import { SandboxClient, type JsonAnswer } from '../testing/sandbox-client';
import { answerChat } from './chat';

const PATH = '/v1/chat/completions';
const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 2 }, unit: { enum: ['c', 'f'] } },
      required: ['days', 'unit'],
    },
  },
};
const CLOCK = { type: 'function', function: { name: 'get_time' } };

describe(answerChat.name, () => {
  let client: SandboxClient;

  beforeAll(async () => {
    client = await SandboxClient.start();
  });

  afterAll(() => client.close());

  const ask = (content: unknown, members: object = {}): object => ({
    model: 'sandbox-chat',
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content },
    ],
    ...members,
  });
  const choice = async (content: unknown, members: object = {}): Promise<JsonAnswer['body']> =>
    (await client.post(PATH, ask(content, members))).body.choices[0];
  const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

  it('says where it comes from, whose answer it is, and what was asked', async () => {
    const { body } = await client.post(PATH, ask('Tell me\n  about rivers'));
    expect(body).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      model: 'sandbox-chat',
      system_fingerprint: 'fp_sluice_sandbox',
      choices: [{ index: 0, finish_reason: 'stop', logprobs: null, message: { role: 'assistant', refusal: null } }],
    });
    const expected = `[sandbox] #${hashOf('Tell me\n  about rivers')} You wrote: Tell me about rivers`;
    expect(body.choices[0].message.content).toBe(expected);
  });

  it('counts four bytes as a token', async () => {
    const { body } = await client.post(PATH, ask('12345678'));
    const completion = Math.ceil(body.choices[0].message.content.length / 4);
    expect(body.usage).toMatchObject({
      prompt_tokens: 4,
      completion_tokens: completion,
      total_tokens: 4 + completion,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    });
  });

  it('reads the text of parts, and takes the last message of the user for its own', async () => {
    const parts = [
      { type: 'text', text: 'what is' },
      { type: 'image_url', image_url: { url: 'data:,' } },
      { type: 'text', text: 'this' },
    ];
    const messages = [
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'answer' },
      { role: 'user', content: parts },
    ];
    const { body } = await client.post(PATH, { model: 'm', messages });
    expect(body.choices[0].message.content).toContain(`#${hashOf('what is\nthis')} You wrote: what is this`);
    expect(body.usage.prompt_tokens).toBe(Math.ceil('firstanswerwhat isthis'.length / 4) + 64);
  });

  it('streams exactly what it answers at once, and usage only when asked', async () => {
    const whole = await choice('stream this, please');
    const events = await client.stream(PATH, ask('stream this, please', { stream: true }));
    expect(events.at(-1)?.data).toBe('[DONE]');
    const chunks = events.slice(0, -1).map(({ data }) => JSON.parse(data));
    expect(chunks[0].choices[0].delta).toEqual({ role: 'assistant', content: '', refusal: null });
    expect(chunks.map((chunk) => chunk.choices[0].delta.content ?? '').join('')).toBe(whole.message.content);
    expect(chunks.at(-1).choices[0]).toEqual({ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' });
    expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
    expect(chunks.every((chunk) => chunk.object === 'chat.completion.chunk' && !('usage' in chunk))).toBe(true);
  });

  it('ends a stream with the usage of the whole answer', async () => {
    const { body } = await client.post(PATH, ask('how much'));
    const members = { stream: true, stream_options: { include_usage: true } };
    const chunks = (await client.stream(PATH, ask('how much', members)))
      .slice(0, -1)
      .map(({ data }) => JSON.parse(data));
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: body.usage });
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  });

  it.each(['max_tokens', 'max_completion_tokens'])('stops at %s', async (member) => {
    const { body } = await client.post(PATH, ask('a long question', { [member]: 5 }));
    expect(body.choices[0].finish_reason).toBe('length');
    expect(body.usage.completion_tokens).toBe(5);
  });

  it('stops before the first stop string', async () => {
    const { message, finish_reason: reason } = await choice('x', { stop: ['wrote', ' You'] });
    expect(message.content).toBe(`[sandbox] #${hashOf('x')}`);
    expect(reason).toBe('stop');
  });

  it('gives as many different choices as asked, streamed as well', async () => {
    const { body } = await client.post(PATH, ask('x', { n: 3 }));
    const texts = body.choices.map((entry: JsonAnswer['body']) => entry.message.content);
    expect(new Set(texts).size).toBe(3);
    const chunks = (await client.stream(PATH, ask('x', { n: 3, stream: true }))).slice(0, -1);
    const streamed = ['', '', ''];
    for (const { data } of chunks) {
      const { index, delta } = JSON.parse(data).choices[0];
      streamed[index] += delta.content ?? '';
    }
    expect(streamed).toEqual(texts);
  });

  it('calls the tools that the user names, with arguments that fit', async () => {
    const tools = [WEATHER, CLOCK];
    const one = await choice('please use get_weather now', { tools });
    expect(one).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
    expect(one.message.tool_calls).toEqual([
      {
        id: expect.stringMatching(/^call_/),
        type: 'function',
        function: { name: 'get_weather', arguments: '{"days":2,"unit":"c"}' },
      },
    ]);
    const names = (entry: JsonAnswer['body']): string[] =>
      entry.message.tool_calls.map((call: JsonAnswer['body']) => call.function.name);
    expect(names(await choice('get_time, then Get_Weather', { tools }))).toEqual(['get_weather', 'get_time']);
    expect(names(await choice('get_time, get_weather', { tools, parallel_tool_calls: false }))).toHaveLength(1);
  });

  it('leaves tools alone that nobody names, or that may not be called', async () => {
    expect((await choice('hello', { tools: [WEATHER] })).finish_reason).toBe('stop');
    expect((await choice('forget_weather', { tools: [{ ...CLOCK, function: { name: 'get_w' } }] })).finish_reason).toBe(
      'stop',
    );
    expect((await choice('get_weather', { tools: [WEATHER], tool_choice: 'none' })).finish_reason).toBe('stop');
  });

  it.each(['required', { type: 'function', function: { name: 'get_weather' } }])(
    'calls a tool for %j',
    async (toolChoice) => {
      const { message } = await choice('hello', { tools: [WEATHER, CLOCK], tool_choice: toolChoice });
      expect(message.tool_calls).toHaveLength(1);
      expect(message.tool_calls[0].function.name).toBe('get_weather');
    },
  );

  it('answers a tool result in words', async () => {
    const messages = [
      { role: 'user', content: 'get_time' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'get_time', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'noon' },
    ];
    const { body } = await client.post(PATH, { model: 'm', messages, tools: [CLOCK] });
    expect(body.choices[0].message.content).toBe(`[sandbox] #${hashOf('get_time')} The tool answered: noon`);
  });

  it('streams tool calls in pieces that join to the same arguments', async () => {
    const events = await client.stream(PATH, ask('get_time get_weather', { tools: [WEATHER, CLOCK], stream: true }));
    const calls: { name: string; arguments: string }[] = [];
    const chunks = events.slice(0, -1).map(({ data }) => JSON.parse(data).choices[0]);
    for (const piece of chunks.flatMap(({ delta }) => delta.tool_calls ?? [])) {
      calls[piece.index] ??= { name: piece.function.name, arguments: '' };
      const call = calls[piece.index];
      if (call) call.arguments += piece.function.arguments;
    }
    expect(calls).toEqual([
      { name: 'get_weather', arguments: '{"days":2,"unit":"c"}' },
      { name: 'get_time', arguments: '{}' },
    ]);
    expect(chunks.at(-1).finish_reason).toBe('tool_calls');
  });

  it('answers JSON that still tells whose answer it is', async () => {
    const object = await choice('x', { response_format: { type: 'json_object' } });
    expect(JSON.parse(object.message.content)).toMatchObject({ sandbox: true, prompt_sha256: hashOf('x') });
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' }, n: { type: 'integer' } },
      required: ['a', 'n'],
    };
    const format = { type: 'json_schema', json_schema: { name: 'thing', schema, strict: true } };
    const fitted = JSON.parse((await choice('x', { response_format: format })).message.content);
    expect(fitted).toEqual({ a: `[sandbox] #${hashOf('x')} You wrote: x`, n: 1 });
  });

  it('gives log probabilities of the words it writes', async () => {
    const { message, logprobs } = await choice('x', { logprobs: true, top_logprobs: 2 });
    expect(logprobs.content.map((entry: JsonAnswer['body']) => entry.token).join('')).toBe(message.content);
    for (const entry of logprobs.content) {
      expect(entry.logprob).toBeLessThanOrEqual(0);
      expect(entry.top_logprobs).toHaveLength(2);
      expect(entry.top_logprobs[1].logprob).toBeLessThan(entry.logprob);
      expect(Buffer.from(entry.bytes).toString()).toBe(entry.token);
    }
  });

  it.each([
    ['model', { model: undefined }],
    ['model', { model: '' }],
    ['messages', { messages: undefined }],
    ['messages', { messages: [] }],
    ['messages', { messages: 'hi' }],
    ['messages[0]', { messages: [null] }],
    ['messages[0].role', { messages: [{ role: 'wizard', content: '' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 7 }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: [7] }] }],
    ['max_tokens', { max_tokens: 0 }],
    ['n', { n: 1.5 }],
    ['stop', { stop: [1] }],
    ['stream', { stream: 'yes' }],
    ['tools', { tools: [{ type: 'function' }] }],
    ['tool_choice', { tool_choice: 'maybe' }],
    ['response_format', { response_format: 'json' }],
    ['response_format', { response_format: { type: 'json_schema' } }],
    ['top_logprobs', { logprobs: true, top_logprobs: 21 }],
  ])('names %s when it is at fault: %j', async (param, members) => {
    const { status, body } = await client.post(PATH, ask('x', members));
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ type: 'invalid_request_error', param });
  });
});
