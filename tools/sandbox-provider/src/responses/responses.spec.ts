import { SandboxClient } from '../testing/sandbox-client';
import { answerResponse } from './responses';

const PATH = '/v1/responses';
const CLOCK = {
  type: 'function',
  name: 'get_time',
  parameters: { type: 'object', properties: { zone: { enum: ['utc'] } }, required: ['zone'] },
};

describe(answerResponse.name, () => {
  let client: SandboxClient;

  beforeAll(async () => {
    client = await SandboxClient.start();
  });

  afterAll(() => client.close());

  it('answers a text with a message and its usage', async () => {
    const { body } = await client.post(PATH, { model: 'm', input: '12345678', metadata: { a: 'b' }, temperature: 0 });
    expect(body).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      object: 'response',
      status: 'completed',
      error: null,
      incomplete_details: null,
      metadata: { a: 'b' },
      temperature: 0,
      output: [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text' }] }],
      usage: {
        input_tokens: 2,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    });
    expect(body.output[0].content[0].text).toMatch(/^\[sandbox\] #[0-9a-f]{12} You wrote: 12345678$/);
    expect(body.usage.total_tokens).toBe(2 + body.usage.output_tokens);
  });

  it('streams a message by the whole grammar, numbered without a gap', async () => {
    const events = await client.stream(PATH, { model: 'm', input: 'hi', stream: true });
    const values = events.map(({ data }) => JSON.parse(data));
    expect(events.map(({ event }) => event)).toEqual(values.map(({ type }) => type));
    expect(values.map((value) => value.sequence_number)).toEqual(values.map((_, index) => index));
    const types = values.map(({ type }) => type);
    const deltas = types.filter((type) => type === 'response.output_text.delta').length;
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      ...Array.from({ length: deltas }, () => 'response.output_text.delta'),
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const text = values.map((value) => value.delta ?? '').join('');
    const closed = values.at(-1).response;
    expect(closed.output[0].content[0].text).toBe(text);
    expect(values.find(({ type }) => type === 'response.output_text.done').text).toBe(text);
    expect(values[0].response).toMatchObject({ id: closed.id, status: 'in_progress', output: [], usage: null });
    expect(closed.usage.output_tokens).toBe(Math.ceil(text.length / 4));
  });

  it('streams a function call, which the next turn may answer', async () => {
    const events = await client.stream(PATH, { model: 'm', input: 'get_time', tools: [CLOCK], stream: true });
    const values = events.map(({ data }) => JSON.parse(data));
    const pieces = values.filter(({ type }) => type === 'response.function_call_arguments.delta');
    const [call] = values.at(-1).response.output;
    expect(call).toMatchObject({
      type: 'function_call',
      name: 'get_time',
      arguments: '{"zone":"utc"}',
      status: 'completed',
    });
    expect(pieces.map(({ delta }) => delta).join('')).toBe(call.arguments);
    expect(pieces.every((piece) => piece.item_id === call.id && piece.output_index === 0)).toBe(true);
    const input = [
      { role: 'user', content: [{ type: 'input_text', text: 'get_time' }] },
      call,
      { type: 'function_call_output', call_id: call.call_id, output: 'noon' },
    ];
    const { body } = await client.post(PATH, { model: 'm', input, tools: [CLOCK] });
    expect(body.output[0].content[0].text).toMatch(/The tool answered: noon$/);
  });

  it('is incomplete when it was cut', async () => {
    const events = await client.stream(PATH, { model: 'm', input: 'hi', max_output_tokens: 4, stream: true });
    expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject({
      type: 'response.incomplete',
      response: {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        usage: { output_tokens: 4 },
      },
    });
  });

  it('fits a schema', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 8 } }, required: ['n'] };
    const text = { format: { type: 'json_schema', name: 'n', schema } };
    const { body } = await client.post(PATH, { model: 'm', input: 'hi', text });
    expect(JSON.parse(body.output[0].content[0].text)).toEqual({ n: 8 });
  });

  it.each([
    ['input', {}],
    ['input', { input: 7 }],
    ['input[0]', { input: ['hi'] }],
    ['input[0].role', { input: [{ content: 'hi' }] }],
    ['previous_response_id', { input: 'hi', previous_response_id: 'resp_1' }],
    ['tools', { input: 'hi', tools: [{ type: 'function' }] }],
  ])('names %s when it is at fault: %j', async (param, members) => {
    const { status, body } = await client.post(PATH, { model: 'm', ...members });
    expect(status).toBe(400);
    expect(body.error.param).toBe(param);
  });
});
