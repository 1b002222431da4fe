import Anthropic from '@anthropic-ai/sdk';
import {
  aliasOf,
  CONVERSING,
  LIMITED,
  RETRY_AFTER_SECONDS,
  startClientInstallation,
  type ClientInstallation,
} from './client-installation';
import { FORECAST, GREETING, PROMPTS, REPORT, TOKENS } from './spoken-turn';

const TOOLS: Anthropic.Tool[] = [
  {
    name: 'get_weather',
    description: 'The weather of a city.',
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
];
const MAX_TOKENS = 1_000;

const asks = (content: string): Anthropic.MessageParam[] => [{ role: 'user', content }];

let site: ClientInstallation;
let client: Anthropic;

/** This client adds the version itself. */
const baseUrlOf = ({ installation }: ClientInstallation): string => installation.baseUrl.replace(/\/v1$/, '');

beforeAll(async () => {
  site = await startClientInstallation();
  client = new Anthropic({ baseURL: baseUrlOf(site), apiKey: site.installation.seed.apiKey, maxRetries: 0 });
}, 240_000);

afterAll(() => site?.stop(), 60_000);

it('lets the Anthropic client list the models, and read one', async () => {
  const { data } = await client.models.list();
  expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining([...CONVERSING]));
  expect(await client.models.retrieve(CONVERSING[0])).toMatchObject({ id: CONVERSING[0] });
});

it.each(['models', `models/${CONVERSING[0]}`])('takes the key of %s in x-api-key, as Python sends it', async (path) => {
  const { baseUrl, seed } = site.installation;
  const response = await fetch(`${baseUrl}/${path}`, { headers: { 'x-api-key': seed.apiKey } });
  expect(response.status).toBe(200);
});

describe.each(CONVERSING)('the Anthropic client with %s', (model) => {
  it('reads a message', async () => {
    const { data, response } = await client.messages
      .create({ model, max_tokens: MAX_TOKENS, messages: asks(PROMPTS.greet) })
      .withResponse();
    expect(data).toMatchObject({
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: GREETING }],
      stop_reason: 'end_turn',
      usage: { input_tokens: TOKENS.prompt, output_tokens: TOKENS.completion },
    });
    expect(response.headers.get('x-generation-id')).toBe(data.id);
  });

  it('folds the events of a streamed message', async () => {
    const stream = client.messages.stream({ model, max_tokens: MAX_TOKENS, messages: asks(PROMPTS.greet) });
    const pieces: string[] = [];
    stream.on('text', (delta) => pieces.push(delta));
    expect(await stream.finalText()).toBe(GREETING);
    expect(pieces.length).toBeGreaterThan(1);
    expect(await stream.finalMessage()).toMatchObject({
      stop_reason: 'end_turn',
      usage: { output_tokens: TOKENS.completion },
    });
  });

  it.each([false, true])('takes a tool use through messages and back, streamed: %s', async (isStream) => {
    const ask = { model, max_tokens: MAX_TOKENS, tools: TOOLS, messages: asks(PROMPTS.weather) };
    const first = isStream ? await client.messages.stream(ask).finalMessage() : await client.messages.create(ask);
    expect(first.stop_reason).toBe('tool_use');
    const [use] = first.content.filter((block) => block.type === 'tool_use');
    expect(use).toMatchObject({ name: 'get_weather', input: { city: 'Paris' } });
    const result = { type: 'tool_result' as const, tool_use_id: use!.id, content: FORECAST };
    const second = await client.messages.create({
      ...ask,
      messages: [...ask.messages, { role: 'assistant', content: first.content }, { role: 'user', content: [result] }],
    });
    expect(second.content).toMatchObject([{ type: 'text', text: `It is ${FORECAST}.` }]);
  });

  it('parses a structured answer', async () => {
    const message = await client.messages.parse({
      model,
      max_tokens: MAX_TOKENS,
      messages: asks(PROMPTS.report),
      output_config: {
        format: {
          type: 'json_schema',
          schema: {
            type: 'object',
            properties: { city: { type: 'string' }, degrees: { type: 'number' } },
            required: ['city', 'degrees'],
            additionalProperties: false,
          },
        },
      },
    });
    const [block] = message.content;
    expect(JSON.parse(block?.type === 'text' ? block.text : '')).toEqual(REPORT);
  });

  it('reads a message with a beta', async () => {
    const betas = ['interleaved-thinking-2025-05-14'];
    const asked = { model, max_tokens: MAX_TOKENS, messages: asks(PROMPTS.greet), betas };
    const { content } = await client.beta.messages.create(asked);
    expect(content).toMatchObject([{ type: 'text', text: GREETING }]);
    const told = site.upstream.requests.at(-1)!.headers['anthropic-beta'];
    expect(told).toBe(model === 'clients/messages' ? betas[0] : undefined);
  });

  it('counts the tokens of a prompt', async () => {
    const { input_tokens: tokens } = await client.messages.countTokens({ model, messages: asks(PROMPTS.greet) });
    if (model === 'clients/messages') expect(tokens).toBe(TOKENS.prompt);
    else expect(tokens).toBeGreaterThan(0);
  });

  it('hears of a stream that broke after it had begun', async () => {
    const stream = client.messages.stream({ model, max_tokens: MAX_TOKENS, messages: asks(PROMPTS.broken) });
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIError);
    expect(stream.currentMessage?.content).toMatchObject([{ type: 'text', text: 'one two ' }]);
    const events = await client.messages.create({
      model,
      max_tokens: MAX_TOKENS,
      messages: asks(PROMPTS.broken),
      stream: true,
    });
    const types: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { type } of events) types.push(type);
    };
    await expect(read()).rejects.toBeInstanceOf(Anthropic.APIError);
    expect(types).not.toContain('message_stop');
  });

  it('asks as a coding agent does: for too many tokens, new words and betas, and learns what became of them', async () => {
    const message = await client.messages.create(
      {
        model,
        max_tokens: 32_000,
        messages: asks(PROMPTS.greet),
        thinking: { type: 'adaptive', display: 'updates' as 'omitted' },
      },
      { timeout: 60_000, headers: { 'x-sluice-metadata': 'enabled', 'anthropic-beta': 'claude-code-20250219' } },
    );
    expect(message.content).toMatchObject([{ type: 'text', text: GREETING }]);
    const { sluice_metadata: metadata } = message as unknown as { sluice_metadata: { translation: object } };
    const isNative = model === 'clients/messages';
    expect(metadata.translation).toMatchObject({
      dropped: expect.arrayContaining([
        'anthropic-beta.claude-code-20250219',
        ...(isNative ? [] : ['thinking.display']),
      ]),
      approximated: expect.arrayContaining(['max_tokens']),
    });
    const sent = JSON.parse(site.upstream.requests.at(-1)!.body) as object;
    if (isNative) expect(sent).toMatchObject({ max_tokens: 4_096, thinking: { display: 'updates' } });
  });

  it('leaves in the middle of a stream, and the upstream is left too', async () => {
    const before = site.upstream.endings.length;
    const stream = client.messages.stream({ model, max_tokens: MAX_TOKENS, messages: asks(PROMPTS.endless) });
    for await (const event of stream) if (event.type === 'content_block_delta') break;
    expect(stream.controller.signal.aborted).toBe(true);
    expect(await Promise.all(site.upstream.endings.slice(before))).toEqual([false]);
  });
});

describe('the Anthropic client', () => {
  it('may use a bearer token instead of its own header', async () => {
    const { apiKey } = site.installation.seed;
    const bearer = new Anthropic({ baseURL: baseUrlOf(site), apiKey: null, authToken: apiKey, maxRetries: 0 });
    const message = await bearer.messages.create({
      model: CONVERSING[0],
      max_tokens: MAX_TOKENS,
      messages: asks(PROMPTS.greet),
    });
    expect(message.content).toMatchObject([{ text: GREETING }]);
  });

  const refusalOf = async (asked: Promise<unknown>): Promise<unknown> => {
    try {
      return await asked;
    } catch (error) {
      return error;
    }
  };
  const ask = { model: CONVERSING[0], max_tokens: MAX_TOKENS, messages: asks(PROMPTS.greet) };

  it('knows a key that is not accepted', async () => {
    const stranger = new Anthropic({ baseURL: baseUrlOf(site), apiKey: `sk-or-v1-${'0'.repeat(64)}`, maxRetries: 0 });
    const refused = await refusalOf(stranger.messages.create(ask));
    expect(refused).toBeInstanceOf(Anthropic.AuthenticationError);
    expect(refused).toMatchObject({ error: { type: 'error', error: { type: 'authentication_error' } } });
  });

  it.each(['apiKey', 'authToken'] as const)('hears that a key is not valid, given as %s', async (given) => {
    const keys = { apiKey: null, authToken: null, [given]: 'sk-ant-mistyped' };
    const stranger = new Anthropic({ baseURL: baseUrlOf(site), ...keys, maxRetries: 0 });
    await expect(stranger.messages.create(ask)).rejects.toThrow('the key or token is not valid');
  });

  it.each(['/api', ''])('works by alias with a base URL that ends in "%s"', async (end) => {
    const baseURL = site.installation.baseUrl.replace('/api/v1', end);
    const near = new Anthropic({ baseURL, apiKey: site.installation.seed.apiKey, maxRetries: 0 });
    for (const model of CONVERSING) {
      const named = { ...ask, model: aliasOf(model) };
      expect(await near.messages.create(named)).toMatchObject({ model, content: [{ text: GREETING }] });
      const { model: asked, messages } = named;
      expect((await near.messages.countTokens({ model: asked, messages })).input_tokens).toBeGreaterThan(0);
    }
  });

  it('hears in its own shape that a route is not there, and which one was meant', async () => {
    const twice = new Anthropic({
      baseURL: site.installation.baseUrl,
      apiKey: site.installation.seed.apiKey,
      maxRetries: 0,
    });
    const refused = await refusalOf(twice.messages.create(ask));
    expect(refused).toBeInstanceOf(Anthropic.NotFoundError);
    expect(refused).toMatchObject({
      error: {
        type: 'error',
        error: { type: 'not_found_error', message: expect.stringContaining('/api/v1/messages?') },
      },
    });
    expect(await refusalOf(client.messages.batches.list())).toMatchObject({
      status: 404,
      error: {
        type: 'error',
        error: { type: 'not_found_error', message: expect.stringContaining('There is no route') },
      },
    });
  });

  it('knows a request that is not accepted', async () => {
    const refused = await refusalOf(client.messages.create({ ...ask, max_tokens: -1 }));
    expect(refused).toBeInstanceOf(Anthropic.BadRequestError);
    expect(refused).toMatchObject({ error: { error: { type: 'invalid_request_error' } } });
  });

  it('knows what is not there', async () => {
    const refused = await refusalOf(
      client.messages.create({ ...ask, ...({ provider: { only: ['nobody'] } } as object) }),
    );
    expect(refused).toBeInstanceOf(Anthropic.NotFoundError);
    expect(refused).toMatchObject({
      error: { error: { type: 'not_found_error', availability: { code: 'constraint_filtered' } } },
    });
  });

  it('knows a limit of the rate, and how long to wait', async () => {
    const refused = await refusalOf(client.messages.create({ ...ask, model: LIMITED }));
    expect(refused).toBeInstanceOf(Anthropic.RateLimitError);
    const { headers, requestID } = refused as InstanceType<typeof Anthropic.RateLimitError>;
    expect(headers.get('retry-after')).toBe(String(RETRY_AFTER_SECONDS));
    expect(requestID ?? headers.get('x-request-id')).toEqual(expect.any(String));
  });
});
