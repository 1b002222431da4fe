import { SandboxClient } from '../testing/sandbox-client';
import { answerMessage } from './messages';

const PATH = '/v1/messages';
const CLOCK = {
  name: 'get_time',
  input_schema: { type: 'object', properties: { zone: { enum: ['utc'] } }, required: ['zone'] },
};

describe(answerMessage.name, () => {
  let client: SandboxClient;

  beforeAll(async () => {
    client = await SandboxClient.start();
  });

  afterAll(() => client.close());

  const ask = (content: unknown, members: object = {}): object => ({
    model: 'sandbox-chat',
    max_tokens: 100,
    messages: [{ role: 'user', content }],
    ...members,
  });

  it('answers with a text block', async () => {
    const { body } = await client.post(PATH, ask('12345678', { system: '1234' }), {
      'anthropic-version': '2023-06-01',
    });
    expect(body).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      role: 'assistant',
      model: 'sandbox-chat',
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 3, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    });
    expect(body.content).toEqual([{ type: 'text', text: expect.stringMatching(/^\[sandbox\] #[0-9a-f]{12} /) }]);
    expect(body.usage.output_tokens).toBe(Math.ceil(body.content[0].text.length / 4));
  });

  it('streams from message_start to message_stop', async () => {
    const whole = (await client.post(PATH, ask('stream this'))).body;
    const events = await client.stream(PATH, ask('stream this', { stream: true }));
    const values = events.map(({ data }) => JSON.parse(data));
    expect(events.map(({ event }) => event)).toEqual(values.map(({ type }) => type));
    const deltas = values.filter(({ type }) => type === 'content_block_delta');
    expect(values.map(({ type }) => type)).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      ...deltas.map(() => 'content_block_delta'),
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(values[0].message).toMatchObject({
      content: [],
      stop_reason: null,
      usage: { input_tokens: 3, output_tokens: 1 },
    });
    expect(deltas.map(({ delta }) => delta.text).join('')).toBe(whole.content[0].text);
    expect(values.at(-2)).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: whole.usage.output_tokens },
    });
  });

  it('uses a tool that the user names, and answers its result in words', async () => {
    const { body } = await client.post(PATH, ask('get_time', { tools: [CLOCK] }));
    const use = { type: 'tool_use', id: expect.stringMatching(/^toolu_/), name: 'get_time', input: { zone: 'utc' } };
    expect(body).toMatchObject({ stop_reason: 'tool_use', content: [use] });
    const messages = [
      { role: 'user', content: 'get_time' },
      { role: 'assistant', content: body.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: body.content[0].id, content: 'noon' }] },
    ];
    const next = (await client.post(PATH, ask('', { messages, tools: [CLOCK] }))).body;
    expect(next.content[0].text).toMatch(/The tool answered: noon$/);
  });

  it('streams the input of a tool as JSON in pieces', async () => {
    const members = { tools: [CLOCK], tool_choice: { type: 'any' }, stream: true };
    const values = (await client.stream(PATH, ask('hello', members))).map(({ data }) => JSON.parse(data));
    const start = values.find(({ type }) => type === 'content_block_start');
    expect(start.content_block).toMatchObject({ type: 'tool_use', name: 'get_time', input: {} });
    const json = values.map(({ delta }) => delta?.partial_json ?? '').join('');
    expect(JSON.parse(json)).toEqual({ zone: 'utc' });
  });

  it('tells why it stopped', async () => {
    expect((await client.post(PATH, ask('hello', { max_tokens: 3 }))).body).toMatchObject({
      stop_reason: 'max_tokens',
      usage: { output_tokens: 3 },
    });
    expect((await client.post(PATH, ask('hello', { stop_sequences: ['You', 'zzz'] }))).body).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: 'You',
    });
  });

  it('counts tokens as it charges them', async () => {
    const { body } = await client.post(`${PATH}/count_tokens`, ask('how many tokens are these', { tools: [CLOCK] }));
    const { usage } = (await client.post(PATH, ask('how many tokens are these', { tools: [CLOCK] }))).body;
    expect(body).toEqual({ input_tokens: usage.input_tokens });
  });

  it.each([
    ['no max_tokens', { max_tokens: undefined }],
    ['no messages', { messages: undefined }],
    ['an unknown role', { messages: [{ role: 'system', content: 'x' }] }],
    ['no model', { model: undefined }],
    ['a tool without a name', { tools: [{}] }],
    ['an unknown tool choice', { tool_choice: { type: 'some' } }],
  ])('refuses %s in its own error shape', async (_, members) => {
    const { status, body } = await client.post(PATH, ask('x', members));
    expect(status).toBe(400);
    expect(body).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.any(String) },
      request_id: expect.stringMatching(/^req_/),
    });
  });
});
