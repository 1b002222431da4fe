import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { waveFile } from '@libs/inference/testing';
import OpenAI, { toFile } from 'openai';
import {
  aliasOf,
  CONVERSING,
  LIMITED,
  RETRY_AFTER_SECONDS,
  SPEECH,
  startClientInstallation,
  TRANSCRIPT,
  VECTOR,
  VECTORS,
  type ClientInstallation,
} from './client-installation';
import { FORECAST, GREETING, PROMPTS, REPORT, TOKENS } from './spoken-turn';

/** Polled without a pause, a fast machine comes to the limit of requests first. */
const POLL_MS = 50;
const TOOL = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};
const chatTools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: TOOL }];
const responseTools: OpenAI.Responses.FunctionTool[] = [{ type: 'function', strict: true, ...TOOL }];
const REPORT_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};

/** Of output tokens: what the models of these tests give, and what coding agents ask of any model. */
const MOST_GIVEN = 4_096;
const MORE_THAN_GIVEN = 32_000;

const asks = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: 'user', content }];

let site: ClientInstallation;
let client: OpenAI;

beforeAll(async () => {
  site = await startClientInstallation({}, ['auth', 'gateway', 'batch-worker']);
  const { baseUrl, seed } = site.installation;
  client = new OpenAI({ baseURL: baseUrl, apiKey: seed.apiKey, maxRetries: 0 });
}, 240_000);

afterAll(() => site?.stop(), 60_000);

describe.each(CONVERSING)('the OpenAI client with %s', (model) => {
  it('reads a chat completion', async () => {
    const { data, response } = await client.chat.completions
      .create({ model, messages: asks(PROMPTS.greet) })
      .withResponse();
    expect(data).toMatchObject({
      id: expect.stringMatching(/^gen-/),
      object: 'chat.completion',
      model,
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: GREETING } }],
      usage: { prompt_tokens: TOKENS.prompt, completion_tokens: TOKENS.completion },
    });
    expect(response.headers.get('x-generation-id')).toBe(data.id);
  });

  it('folds the chunks of a streamed chat', async () => {
    const stream = client.chat.completions.stream({ model, messages: asks(PROMPTS.greet) });
    const pieces: string[] = [];
    stream.on('content.delta', ({ delta }) => pieces.push(delta));
    const completion = await stream.finalChatCompletion();
    expect(pieces.join('')).toBe(GREETING);
    expect(pieces.length).toBeGreaterThan(1);
    expect(completion).toMatchObject({ choices: [{ finish_reason: 'stop', message: { content: GREETING } }] });
  });

  it.each([false, true])('lets tools be called in a chat, streamed: %s', async (isStream) => {
    const options = {
      model,
      messages: asks(PROMPTS.weather),
      tools: [{ type: 'function' as const, function: { ...TOOL, parse: JSON.parse, function: weatherOf } }],
    };
    const runner = isStream
      ? client.chat.completions.runTools({ ...options, stream: true })
      : client.chat.completions.runTools(options);
    expect(await runner.finalContent()).toBe(`It is ${FORECAST}.`);
    expect(await runner.finalFunctionToolCall()).toMatchObject({
      name: 'get_weather',
      arguments: JSON.stringify({ city: 'Paris' }),
    });
  });

  it('puts the calls of a streamed chat together by their index', async () => {
    const stream = await client.chat.completions.create({
      model,
      messages: asks(PROMPTS.weather),
      tools: chatTools,
      stream: true,
    });
    const pieces: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall[] = [];
    for await (const { choices } of stream) pieces.push(...(choices[0]?.delta.tool_calls ?? []));
    expect(new Set(pieces.map(({ index }) => index))).toEqual(new Set([0]));
    const name = pieces.map((piece) => piece.function?.name ?? '').join('');
    const text = pieces.map((piece) => piece.function?.arguments ?? '').join('');
    expect([name, JSON.parse(text)]).toEqual(['get_weather', { city: 'Paris' }]);
  });

  it('parses a structured answer', async () => {
    const completion = await client.chat.completions.parse({
      model,
      messages: asks(PROMPTS.report),
      response_format: { type: 'json_schema', json_schema: { name: 'report', strict: true, schema: REPORT_SCHEMA } },
    });
    expect(JSON.parse(completion.choices[0]?.message.content ?? '')).toEqual(REPORT);
  });

  it('reads a response', async () => {
    const response = await client.responses.create({ model, input: PROMPTS.greet });
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      model,
      output_text: GREETING,
      usage: { input_tokens: TOKENS.prompt, output_tokens: TOKENS.completion },
    });
  });

  it('follows the events of a response to their end', async () => {
    const stream = client.responses.stream({ model, input: PROMPTS.greet });
    const types = new Set<string>();
    const pieces: string[] = [];
    for await (const event of stream) {
      types.add(event.type);
      if (event.type === 'response.output_text.delta') pieces.push(event.delta);
    }
    expect(pieces.join('')).toBe(GREETING);
    expect([...types]).toEqual(expect.arrayContaining(['response.created', 'response.completed']));
    expect(await stream.finalResponse()).toMatchObject({ status: 'completed', output_text: GREETING });
  });

  it.each([false, true])('takes a tool call through responses and back, streamed: %s', async (isStream) => {
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: PROMPTS.weather }];
    const ask = { model, tools: responseTools, input };
    const first = isStream
      ? await client.responses.stream(ask).finalResponse()
      : await client.responses.create({ ...ask, stream: false });
    const call = callIn(first.output);
    expect(call).toMatchObject({ name: 'get_weather', arguments: '{"city":"Paris"}' });
    const output = { type: 'function_call_output' as const, call_id: call.call_id, output: FORECAST };
    const second = await client.responses.create({ ...ask, input: [...input, call, output] });
    expect(second.output_text).toBe(`It is ${FORECAST}.`);
  });

  it('parses a structured response', async () => {
    const format = { type: 'json_schema' as const, name: 'report', strict: true, schema: REPORT_SCHEMA };
    const response = await client.responses.parse({ model, input: PROMPTS.report, text: { format } });
    expect(JSON.parse(response.output_text)).toEqual(REPORT);
  });

  it('hears of a stream that broke after it had begun', async () => {
    const chat = await client.chat.completions.create({ model, messages: asks(PROMPTS.broken), stream: true });
    const read = async (): Promise<void> => {
      for await (const { choices } of chat) expect(choices[0]?.finish_reason ?? null).toBeNull();
    };
    await expect(read()).rejects.toBeInstanceOf(OpenAI.APIError);
    const folded = client.chat.completions.stream({ model, messages: asks(PROMPTS.broken) });
    await expect(folded.finalChatCompletion()).rejects.toBeInstanceOf(OpenAI.APIError);
  });

  it('hears of a response that broke after it had begun, although it skips events that it does not know', async () => {
    const response = await client.responses.create({ model, input: PROMPTS.broken, stream: true });
    const pieces: string[] = [];
    const read = async (): Promise<void> => {
      for await (const event of response) if (event.type === 'response.output_text.delta') pieces.push(event.delta);
    };
    const heard = await read().then(
      () => null,
      (error: unknown) => error,
    );
    expect(pieces.join('')).toBe('one two ');
    expect(heard).toBeInstanceOf(OpenAI.APIError);
    expect(heard).toMatchObject({ code: 'server_error', error: { metadata: { error_type: 'provider_unavailable' } } });
    const folded = client.responses.stream({ model, input: PROMPTS.broken });
    await expect(folded.finalResponse()).rejects.toBeInstanceOf(OpenAI.APIError);
  });

  it('may ask for more tokens than the model gives, and learns of it', async () => {
    const ask = { model, messages: asks(PROMPTS.greet), max_completion_tokens: MORE_THAN_GIVEN };
    const completion = await client.chat.completions.create(ask, { headers: { 'x-sluice-metadata': 'enabled' } });
    expect(completion).toMatchObject({
      choices: [{ message: { content: GREETING } }],
      sluice_metadata: { translation: { approximated: ['max_completion_tokens'] } },
    });
    expect(cappedAt(site.upstream.requests.at(-1)!.body)).toBe(MOST_GIVEN);
    await client.responses.create({ model, input: PROMPTS.greet, max_output_tokens: MORE_THAN_GIVEN });
    expect(cappedAt(site.upstream.requests.at(-1)!.body)).toBe(MOST_GIVEN);
  });

  it('leaves in the middle of a stream, and the upstream is left too', async () => {
    const before = site.upstream.endings.length;
    const stream = await client.chat.completions.create({ model, messages: asks(PROMPTS.endless), stream: true });
    for await (const { choices } of stream) if (choices[0]?.delta.content) break;
    expect(stream.controller.signal.aborted).toBe(true);
    expect(await Promise.all(site.upstream.endings.slice(before))).toEqual([false]);
  });
});

describe('the OpenAI client', () => {
  it('decodes vectors that it asks for as base64', async () => {
    const { data, usage } = await client.embeddings.create({ model: VECTORS, input: ['one', 'two'] });
    expect(data).toMatchObject([
      { index: 0, embedding: VECTOR },
      { index: 1, embedding: VECTOR },
    ]);
    expect(usage.prompt_tokens).toBe(TOKENS.prompt);
  });

  it('reads vectors as numbers', async () => {
    const { data } = await client.embeddings.create({ model: VECTORS, input: 'one', encoding_format: 'float' });
    expect(data[0]?.embedding).toEqual(VECTOR);
  });

  it('lists the models', async () => {
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).toEqual(expect.arrayContaining([...CONVERSING]));
  });

  it('submits a batch and polls it to its end', async () => {
    const requests = ['a', 'b'].map((id) => ({ custom_id: id, body: { messages: asks(PROMPTS.greet) } }));
    const submission = { endpoint: '/v1/chat/completions', model: CONVERSING[0], requests };
    let batch = await client.post<OpenAI.Batch>('/batches', { body: submission });
    expect(batch).toMatchObject({ object: 'batch', status: 'validating', request_counts: { total: 2 } });
    while (batch.status !== 'completed' && batch.status !== 'failed') {
      await delay(POLL_MS);
      batch = await client.batches.retrieve(batch.id);
    }
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 2, completed: 2, failed: 0 } });
  });

  it('knows a key that is not accepted', async () => {
    const stranger = new OpenAI({
      baseURL: site.installation.baseUrl,
      apiKey: `sk-or-v1-${'0'.repeat(64)}`,
      maxRetries: 0,
    });
    await expect(stranger.chat.completions.create({ model: CONVERSING[0], messages: [] })).rejects.toBeInstanceOf(
      OpenAI.AuthenticationError,
    );
  });

  it('knows a request that is not accepted, by chat and by responses', async () => {
    const chat = client.chat.completions.create({ model: CONVERSING[0], messages: [], temperature: 99 });
    await expect(chat).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    const response = client.responses.create({ model: CONVERSING[0], input: 'Hi', previous_response_id: 'resp_1' });
    await expect(response).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  });

  it('knows what is not there', async () => {
    await expect(client.batches.retrieve('batch-1760000000-aaaaaaaaaaaaaaaaaaaa')).rejects.toBeInstanceOf(
      OpenAI.NotFoundError,
    );
  });

  it('knows a limit of the rate, and how long to wait', async () => {
    const refused = await client.chat.completions.create({ model: LIMITED, messages: asks(PROMPTS.greet) }).then(
      () => null,
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(OpenAI.RateLimitError);
    const { headers, error } = refused as InstanceType<typeof OpenAI.RateLimitError>;
    expect(headers.get('retry-after')).toBe(String(RETRY_AFTER_SECONDS));
    expect(error).toMatchObject({ code: 429, metadata: { error_type: 'rate_limit_exceeded' } });
  });
});

function cappedAt(body: string): unknown {
  const sent = JSON.parse(body) as Record<string, unknown>;
  return sent['max_tokens'] ?? sent['max_completion_tokens'] ?? sent['max_output_tokens'];
}

function callIn(output: readonly { readonly type: string }[]): OpenAI.Responses.ResponseFunctionToolCall {
  const call = output.find(({ type }) => type === 'function_call');
  if (call === undefined) throw new Error('the response calls no function');
  return call as OpenAI.Responses.ResponseFunctionToolCall;
}

function weatherOf({ city }: { city: string }): string {
  return city === 'Paris' ? FORECAST : 'unknown';
}

describe('the OpenAI client under /v1, with names as its users know them', () => {
  let short: OpenAI;

  beforeAll(() => {
    const { baseUrl, seed } = site.installation;
    short = new OpenAI({ baseURL: baseUrl.replace('/api/v1', '/v1'), apiKey: seed.apiKey, maxRetries: 0 });
  });

  it.each(CONVERSING)('takes %s by its alias, and answers with its slug', async (model) => {
    const asked = aliasOf(model);
    const completion = await short.chat.completions.create({ model: asked, messages: asks(PROMPTS.greet) });
    expect(completion).toMatchObject({ model, choices: [{ message: { content: GREETING } }] });
    const response = await short.responses.create({ model: asked, input: PROMPTS.greet });
    expect([response.model, response.output_text]).toEqual([model, GREETING]);
    const metadata = await short.chat.completions.create(
      { model: asked, messages: asks(PROMPTS.greet) },
      { headers: { 'X-Sluice-Metadata': 'enabled' } },
    );
    expect(metadata).toMatchObject({ sluice_metadata: { requested: asked, strategy: 'alias' } });
  });

  it('embeds and transcribes by alias', async () => {
    const { data } = await short.embeddings.create({ model: aliasOf(VECTORS), input: 'one' });
    expect(data[0]?.embedding).toEqual(VECTOR);
    const file = await toFile(waveFile(2.5), 'speech.wav');
    expect(await short.audio.transcriptions.create({ model: aliasOf(SPEECH), file })).toMatchObject({
      text: TRANSCRIPT.text,
    });
  });

  it('lists models and shows one', async () => {
    const listed: OpenAI.Model[] = [];
    for await (const model of short.models.list()) listed.push(model);
    const [first] = CONVERSING;
    expect(listed.map(({ id }) => id)).toContain(first);
    expect(listed.filter(({ id }) => id.endsWith(':batch'))).toEqual([]);
    expect(new Set(listed.map(({ object, owned_by: owner }) => `${object} ${owner}`))).toEqual(
      new Set(['model clients']),
    );
    for (const name of [first, aliasOf(first)]) {
      expect(await short.models.retrieve(name)).toMatchObject({ id: first, object: 'model', owned_by: 'clients' });
    }
    const unknown = short.models.retrieve('clients/chats');
    await expect(unknown).rejects.toThrow('The model "clients/chats" does not exist. Did you mean clients/chat');
    await expect(unknown).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  it('hears what is wrong with a name, a key and a base URL', async () => {
    const { baseUrl, seed } = site.installation;
    const chat = (client: OpenAI, model: string) =>
      client.chat.completions.create({ model, messages: asks(PROMPTS.greet) });
    await expect(chat(short, 'vector')).rejects.toThrow('Did you mean clients/vectors');
    await expect(chat(short, seed.apiKey)).rejects.toThrow(/^400 The model does not exist$/);
    const headers = { 'X-Sluice-Metadata': 'enabled' };
    const answer = await short
      .post('/chat/completions', { body: { model: seed.apiKey, messages: asks('Hi') }, headers })
      .catch((error: unknown) => JSON.stringify((error as InstanceType<typeof OpenAI.APIError>).error));
    expect(answer).toContain('[redacted]');
    expect(answer).not.toContain(seed.apiKey);
    const { database } = site.installation;
    const recorded = { sql: 'SELECT count(*)::int AS n FROM generations WHERE model = $1', values: [seed.apiKey] };
    expect(await database.firstRow(recorded)).toEqual({ n: 0 });
    const aliases = { sql: "SELECT count(*)::int AS n FROM generations WHERE model LIKE '%by-itself'", values: [] };
    expect(await database.firstRow(aliases)).toEqual({ n: 0 });
    const stranger = new OpenAI({ baseURL: baseUrl, apiKey: 'sk-mistyped', maxRetries: 0 });
    await expect(chat(stranger, 'x')).rejects.toThrow('the key or token is not valid');
    const lost = new OpenAI({ baseURL: baseUrl.replace('/v1', ''), apiKey: seed.apiKey, maxRetries: 0 });
    await expect(chat(lost, 'x')).rejects.toThrow('Did you mean /api/v1/chat/completions?');
  });
});

describe('the OpenAI client with speech', () => {
  it('sends a file from the disk', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-client-'));
    const path = join(folder, 'speech.wav');
    writeFileSync(path, waveFile(2.5));
    const transcription = await client.audio.transcriptions.create({ model: SPEECH, file: createReadStream(path) });
    rmSync(folder, { recursive: true });
    expect(transcription).toMatchObject({ text: TRANSCRIPT.text, usage: { seconds: 2.5, cost: 0.00025 } });
  });

  it('reads words and segments', async () => {
    const transcription = await client.audio.transcriptions.create({
      model: SPEECH,
      file: await toFile(waveFile(2.5), 'speech.wav'),
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
      language: 'en',
      temperature: 0,
      prompt: 'passed over',
    });
    const { duration, words, segments } = transcription;
    expect({ duration, words, segments }).toEqual({
      duration: TRANSCRIPT.duration,
      words: TRANSCRIPT.words,
      segments: TRANSCRIPT.segments,
    });
  });

  it('is refused what is no recording', async () => {
    const file = await toFile(Buffer.from('no sound'), 'speech.wav');
    await expect(client.audio.transcriptions.create({ model: SPEECH, file })).rejects.toBeInstanceOf(
      OpenAI.BadRequestError,
    );
  });
});
