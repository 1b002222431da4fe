import { waveFile } from '@libs/inference/testing';
import { OpenRouter } from '@openrouter/sdk';
import type { ChatFunctionTool, ChatMessages, ChatRequest, ChatResult, ChatStreamChunk } from '@openrouter/sdk/models';
import {
  BadRequestResponseError,
  ForbiddenResponseError,
  NotFoundResponseError,
  TooManyRequestsResponseError,
  UnauthorizedResponseError,
} from '@openrouter/sdk/models/errors';
import { eventually } from '../support/eventually';
import {
  CONVERSING,
  LIMITED,
  RETRY_AFTER_SECONDS,
  SPEECH,
  startClientInstallation,
  TRANSCRIPT,
  TURN_COST,
  VECTOR,
  VECTORS,
  type ClientInstallation,
} from './client-installation';
import { FORECAST, GREETING, PROMPTS, REPORT, TOKENS } from './spoken-turn';

const TOOLS: ChatFunctionTool[] = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];
const REPORT_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};

const asks = (content: string): ChatMessages[] => [{ role: 'user', content }];

let site: ClientInstallation;
let client: OpenRouter;
let manager: OpenRouter;

const clientWith = (apiKey: string): OpenRouter =>
  new OpenRouter({ serverURL: site.installation.baseUrl, apiKey, retryConfig: { strategy: 'none' } });

beforeAll(async () => {
  // This client reads members that are named for its service.
  site = await startClientInstallation({
    SERVICE_NAME: 'openrouter',
    CONTENT_LOGGING: 'on',
    // This client takes nothing else.
    BYOK_CREATED_STATUS: '201',
  });
  client = clientWith(site.installation.seed.apiKey);
  manager = clientWith(site.installation.seed.managementKey);
}, 240_000);

afterAll(() => site?.stop(), 60_000);

/** The client's methods are typed for whole answers and streams alike. */
async function chat(chatRequest: ChatRequest): Promise<ChatResult> {
  const answer = await client.chat.send({ xOpenRouterMetadata: 'enabled', chatRequest });
  if ('choices' in answer) return answer;
  throw new Error('the answer is a stream');
}

async function chatStream(chatRequest: ChatRequest): Promise<AsyncIterable<ChatStreamChunk>> {
  const stream = await client.chat.send({
    xOpenRouterMetadata: 'enabled',
    chatRequest: { ...chatRequest, stream: true },
  });
  if ('choices' in stream) throw new Error('the answer is no stream');
  return stream;
}

interface SaidCall {
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

async function wholeCall(chatRequest: ChatRequest): Promise<SaidCall> {
  const { choices } = await chat(chatRequest);
  const { id, function: called } = choices[0]!.message.toolCalls![0]!;
  return { id, name: called.name, text: called.arguments };
}

async function streamedCall(chatRequest: ChatRequest): Promise<SaidCall> {
  const chunks = await chunksOf(await chatStream(chatRequest));
  const pieces = chunks.flatMap(({ choices }) => choices[0]?.delta.toolCalls ?? []);
  const joined = (read: (piece: (typeof pieces)[number]) => string | undefined): string =>
    pieces.map((piece) => read(piece) ?? '').join('');
  return {
    id: joined(({ id }) => id),
    name: joined((piece) => piece.function?.name),
    text: joined((piece) => piece.function?.arguments),
  };
}

async function chunksOf(stream: AsyncIterable<ChatStreamChunk>): Promise<ChatStreamChunk[]> {
  const chunks: ChatStreamChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

describe.each(CONVERSING)('the OpenRouter client with %s', (model) => {
  it('reads a chat completion, what it cost and how it was routed', async () => {
    expect(await chat({ model, messages: asks(PROMPTS.greet) })).toMatchObject({
      id: expect.stringMatching(/^gen-/),
      model,
      choices: [{ finishReason: 'stop', message: { role: 'assistant', content: GREETING } }],
      usage: { promptTokens: TOKENS.prompt, completionTokens: TOKENS.completion, cost: TURN_COST, isByok: false },
      openrouterMetadata: { attempt: 1, requested: model, strategy: 'direct', endpoints: { total: 1 } },
    });
  });

  it('reads the chunks of a streamed chat', async () => {
    const chunks = await chunksOf(await chatStream({ model, messages: asks(PROMPTS.greet) }));
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(GREETING);
    expect(chunks.findLast(({ usage }) => usage !== undefined)).toMatchObject({
      usage: { completionTokens: TOKENS.completion, cost: TURN_COST },
    });
    expect(chunks.at(-1)).toMatchObject({ openrouterMetadata: { attempt: 1 } });
  });

  it.each([false, true])('takes a tool call through a chat and back, streamed: %s', async (isStream) => {
    const ask = { model, messages: asks(PROMPTS.weather), tools: TOOLS };
    const call = isStream ? await streamedCall(ask) : await wholeCall(ask);
    expect([call.name, JSON.parse(call.text)]).toEqual(['get_weather', { city: 'Paris' }]);
    const messages: ChatMessages[] = [
      ...ask.messages,
      {
        role: 'assistant',
        toolCalls: [{ id: call.id, type: 'function', function: { name: call.name, arguments: call.text } }],
      },
      { role: 'tool', toolCallId: call.id, content: FORECAST },
    ];
    const { choices } = await chat({ ...ask, messages });
    expect(choices[0]?.message.content).toBe(`It is ${FORECAST}.`);
  });

  it('asks for a structured answer', async () => {
    const { choices } = await chat({
      model,
      messages: asks(PROMPTS.report),
      responseFormat: { type: 'json_schema', jsonSchema: { name: 'report', strict: true, schema: REPORT_SCHEMA } },
    });
    expect(JSON.parse(String(choices[0]?.message.content))).toEqual(REPORT);
  });

  it('reads a response', async () => {
    const response = await client.responses.send({
      responsesRequest: { model, input: PROMPTS.greet, stream: false },
    });
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      model,
      output: [{ type: 'message', content: [{ type: 'output_text', text: GREETING }] }],
      usage: { inputTokens: TOKENS.prompt, outputTokens: TOKENS.completion, cost: TURN_COST },
    });
  });

  it('follows the events of a response to their end', async () => {
    const stream = await client.responses.send({
      responsesRequest: { model, input: PROMPTS.greet, stream: true },
    });
    const types: string[] = [];
    let text = '';
    for await (const event of stream as AsyncIterable<{ type: string; delta?: string }>) {
      types.push(event.type);
      if (event.type === 'response.output_text.delta') text += event.delta;
    }
    expect(text).toBe(GREETING);
    expect([types[0], types.at(-1)]).toEqual(['response.created', 'response.completed']);
  });

  it('reads the text of its own loop over responses', async () => {
    expect(await client.callModel({ model, input: PROMPTS.greet }).getText()).toBe(GREETING);
    let text = '';
    for await (const delta of client.callModel({ model, input: PROMPTS.greet }).getTextStream()) text += delta;
    expect(text).toBe(GREETING);
  });

  it.each([false, true])('looks up a call and what was said in it, streamed: %s', async (isStream) => {
    const ask = { model, messages: asks(PROMPTS.greet) };
    const id = isStream ? (await chunksOf(await chatStream(ask)))[0]!.id : (await chat(ask)).id;
    const { data } = await eventually('the call is on the books', 10_000, async () => {
      const found = await client.generations.getGeneration({ id }).catch(unlessMissing);
      return found?.data.tokensPrompt === null ? undefined : found;
    });
    expect(data).toMatchObject({
      id,
      model,
      apiType: 'completions',
      streamed: isStream,
      cancelled: false,
      finishReason: 'stop',
      tokensPrompt: TOKENS.prompt,
      tokensCompletion: TOKENS.completion,
      totalCost: TURN_COST,
      workspaceId: site.installation.seed.workspaceId,
    });
    const content = await eventually('what was said is stored', 10_000, () =>
      client.generations.listGenerationContent({ id }).catch(unlessMissing),
    );
    expect(content.data).toEqual({
      input: { messages: [{ role: 'user', content: PROMPTS.greet }] },
      output: { completion: GREETING, reasoning: null },
      error: null,
    });
  });

  it('hears of a stream that broke after it had begun', async () => {
    const chunks = await chunksOf(await chatStream({ model, messages: asks(PROMPTS.broken) }));
    expect(chunks.find(({ error }) => error !== undefined)).toMatchObject({
      error: { code: 502, metadata: { errorType: 'provider_unavailable' } },
      choices: [{ finishReason: 'error' }],
    });
  });

  it('leaves in the middle of a stream, and the upstream is left too', async () => {
    const before = site.upstream.endings.length;
    const stream = await chatStream({ model, messages: asks(PROMPTS.endless) });
    for await (const { choices } of stream) if (choices[0]?.delta.content) break;
    expect(await Promise.all(site.upstream.endings.slice(before))).toEqual([false]);
  });
});

describe('the OpenRouter client', () => {
  it.each(['float', 'base64'] as const)('reads vectors as %s', async (encodingFormat) => {
    const answer = await client.embeddings.generate({ requestBody: { model: VECTORS, input: 'one', encodingFormat } });
    const embedding =
      encodingFormat === 'float' ? VECTOR : Buffer.from(new Float32Array(VECTOR).buffer).toString('base64');
    expect(answer).toMatchObject({ object: 'list', data: [{ index: 0, embedding }], usage: { promptTokens: 21 } });
  });

  it('lists and counts models, and the endpoints of one', async () => {
    const ids: string[] = [];
    for await (const { result } of await client.models.list()) ids.push(...result.data.map(({ id }) => id));
    expect(ids).toEqual(expect.arrayContaining([...CONVERSING]));
    expect((await client.models.count()).data.count).toBe(ids.length);
    const vectors: string[] = [];
    for await (const { result } of await client.embeddings.listModels()) {
      vectors.push(...result.data.map(({ id }) => id));
    }
    expect(vectors).toContain(VECTORS);
    const { data } = await client.endpoints.list({ author: 'clients', slug: 'chat' });
    expect(data).toMatchObject({ id: 'clients/chat', endpoints: [{ contextLength: 32_768 }] });
  });

  it('lists the providers', async () => {
    const { data } = await client.providers.list();
    expect(data.map(({ slug }) => slug)).toEqual(expect.arrayContaining(['plain', 'native', 'polite']));
  });

  it('reads the key it uses', async () => {
    const { data } = await client.apiKeys.getCurrentKeyMetadata();
    expect(data).toMatchObject({ isManagementKey: false, limit: null });
  });

  it('makes, reads, changes, lists and deletes keys', async () => {
    const { data: made, key } = await manager.apiKeys.create({ requestBody: { name: 'by a client', limit: 5 } });
    expect(await clientWith(key).apiKeys.getCurrentKeyMetadata()).toMatchObject({ data: { limit: 5 } });
    const { hash } = made;
    expect((await manager.apiKeys.get({ hash })).data).toMatchObject({ hash, name: 'by a client', limit: 5 });
    const changed = await manager.apiKeys.update({ hash, requestBody: { name: 'renamed', disabled: true } });
    expect(changed.data).toMatchObject({ name: 'renamed', disabled: true });
    const { data: listed } = await manager.apiKeys.list({ includeDisabled: true });
    expect(listed.map((one) => one.hash)).toContain(hash);
    expect(await manager.apiKeys.delete({ hash })).toEqual({ deleted: true });
    await expect(manager.apiKeys.get({ hash })).rejects.toBeInstanceOf(NotFoundResponseError);
  });

  it('reads the credits, with a management key only', async () => {
    const { data } = await manager.credits.getCredits();
    expect(data.totalCredits).toBeGreaterThan(0);
    expect(data.totalUsage).toBeGreaterThan(0);
    await expect(client.credits.getCredits()).rejects.toBeInstanceOf(ForbiddenResponseError);
  });

  it('makes, reads, changes, lists and deletes workspaces', async () => {
    const { data } = await manager.workspaces.create({ createWorkspaceRequest: { name: 'Client', slug: 'client' } });
    const { id } = data;
    expect((await manager.workspaces.get({ id })).data).toMatchObject({ name: 'Client', slug: 'client' });
    const changed = await manager.workspaces.update({ id, updateWorkspaceRequest: { name: 'Renamed' } });
    expect(changed.data.name).toBe('Renamed');
    const slugs: string[] = [];
    for await (const { result } of await manager.workspaces.list()) slugs.push(...result.data.map(({ slug }) => slug));
    expect(slugs).toContain('client');
    expect(await manager.workspaces.delete({ id })).toEqual({ deleted: true });
  });

  it('sets a workspace up, and its budgets and members', async () => {
    const { data } = await manager.workspaces.create({
      createWorkspaceRequest: {
        name: 'Set up',
        slug: 'set-up',
        defaultProviderSort: 'latency',
        ioLoggingSamplingRate: 0.5,
      },
    });
    const { id } = data;
    expect(data).toMatchObject({ defaultProviderSort: 'latency', ioLoggingSamplingRate: 0.5 });
    const updateWorkspaceRequest = { defaultProviderSort: null, defaultTextModel: CONVERSING[0] };
    const changed = await manager.workspaces.update({ id, updateWorkspaceRequest });
    expect(changed.data).toMatchObject({ defaultProviderSort: null, defaultTextModel: CONVERSING[0] });
    const members = { id, bulkAddWorkspaceMembersRequest: { userIds: ['user_1', 'user_2'] } };
    expect(await manager.workspaces.bulkAddMembers(members)).toMatchObject({ addedCount: 2 });
    const listed: string[] = [];
    for await (const { result } of await manager.workspaces.listMembers({ id })) {
      listed.push(...result.data.map(({ userId, role }) => `${userId} ${role}`));
    }
    expect(listed).toEqual(['user_1 member', 'user_2 member']);
    const removal = { id, bulkRemoveWorkspaceMembersRequest: { userIds: ['user_2'] } };
    expect(await manager.workspaces.bulkRemoveMembers(removal)).toEqual({ removedCount: 1 });
    const upsertWorkspaceBudgetRequest = { limitUsd: 12.5, includeByokInBudgets: true };
    const budget = { workspaceRef: id, interval: 'monthly' as const };
    const set = await manager.workspaces.setBudget({ ...budget, upsertWorkspaceBudgetRequest });
    expect(set).toMatchObject({ data: { limitUsd: 12.5, resetInterval: 'monthly' }, includeByokInBudgets: true });
    expect(await manager.workspaces.getBudget(budget)).toEqual(set);
    expect((await manager.workspaces.listBudgets({ workspaceRef: id })).data).toEqual([set.data]);
    expect((await manager.workspaces.get({ id })).data.includeByokInBudgets).toBe(true);
    expect(await manager.workspaces.deleteBudget(budget)).toEqual({ deleted: true });
    await expect(manager.workspaces.getBudget(budget)).rejects.toBeInstanceOf(NotFoundResponseError);
  });

  it('K6: brings a provider key, and takes it back', async () => {
    const key = `sk-own-${'0123456789abcdef'.repeat(2)}`;
    const createBYOKKeyRequest = { key, provider: 'heygen', name: 'Ours' } as const;
    const { data } = await manager.byok.create({ createBYOKKeyRequest });
    expect(data).toMatchObject({ provider: 'heygen', label: 'sk-...cdef', name: 'Ours', isByokOnly: false });
    expect((await manager.byok.get({ id: data.id })).data).toEqual(data);
    expect(await manager.byok.delete({ id: data.id })).toEqual({ deleted: true });
  });

  const ask = { model: CONVERSING[0], messages: asks(PROMPTS.greet), stream: false as const };

  it('knows a key that is not accepted', async () => {
    const stranger = clientWith(`sk-or-v1-${'0'.repeat(64)}`);
    await expect(stranger.chat.send({ chatRequest: ask })).rejects.toBeInstanceOf(UnauthorizedResponseError);
  });

  it('knows a request that is not accepted', async () => {
    const refused = client.chat.send({ chatRequest: { ...ask, model: 'clients/none' } });
    await expect(refused).rejects.toBeInstanceOf(BadRequestResponseError);
    await expect(refused).rejects.toMatchObject({ error: { code: 400 } });
  });

  it('knows what is not there, and what was considered', async () => {
    const refused = client.chat.send({
      xOpenRouterMetadata: 'enabled',
      chatRequest: { ...ask, provider: { only: ['nobody'] } },
    });
    await expect(refused).rejects.toBeInstanceOf(NotFoundResponseError);
    await expect(refused).rejects.toMatchObject({
      openrouterMetadata: { attempt: 0, endpoints: { total: 1, excluded: [{ excluded_by: 'provider.only' }] } },
    });
    const generation = client.generations.getGeneration({ id: 'gen-1760000000-aaaaaaaaaaaaaaaaaaaa' });
    await expect(generation).rejects.toBeInstanceOf(NotFoundResponseError);
  });

  it('knows a limit of the rate, and how long to wait', async () => {
    const refused = client.chat.send({ chatRequest: { ...ask, model: LIMITED } });
    await expect(refused).rejects.toBeInstanceOf(TooManyRequestsResponseError);
    const error = (await refused.catch((thrown: unknown) => thrown)) as TooManyRequestsResponseError;
    expect(error.headers.get('retry-after')).toBe(String(RETRY_AFTER_SECONDS));
    expect(error.error.metadata).toMatchObject({ error_type: 'rate_limit_exceeded' });
  });
});

/** What is written after the answer may not be there yet. */
function unlessMissing(error: unknown): undefined {
  if (error instanceof NotFoundResponseError) return undefined;
  throw error;
}

describe('the OpenRouter client with speech', () => {
  const wave = waveFile(2.5);

  it('sends a recording in JSON and reads words, segments and cost', async () => {
    const answer = await client.stt.createTranscription({
      sttRequest: {
        model: SPEECH,
        inputAudio: { data: wave.toString('base64'), format: 'wav' },
        responseFormat: 'verbose_json',
        timestampGranularities: ['word', 'segment'],
        sessionId: 'session',
        trace: { traceId: 'trace' },
      },
    });
    const { text, task, duration, words } = TRANSCRIPT;
    expect(answer).toMatchObject({ text, task, duration, words, usage: { cost: 0.00025, seconds: 2.5 } });
    expect(answer.segments).toHaveLength(1);
  });

  it('sends a recording as a file', async () => {
    const answer = await client.stt.createTranscriptionMultipart({
      requestBody: {
        model: SPEECH,
        file: { fileName: 'speech.wav', content: new Uint8Array(wave) },
        temperature: 0.5,
        trace: '{"trace_id":"trace"}',
      },
    });
    expect(answer).toMatchObject({ text: TRANSCRIPT.text, usage: { cost: 0.00025 } });
  });

  it('is refused by name', async () => {
    const inputAudio = { data: 'AAAA', format: 'wav' };
    await expect(client.stt.createTranscription({ sttRequest: { model: SPEECH, inputAudio } })).rejects.toBeInstanceOf(
      BadRequestResponseError,
    );
  });
});
