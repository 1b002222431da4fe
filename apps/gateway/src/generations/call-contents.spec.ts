import type { ServerResponse } from 'node:http';
import type { WorkspaceSettings } from '@libs/contracts';
import type { IncomingCall } from './incoming-call';
import { CHAT_ANSWER } from '../inference/testing/answers';
import { InferenceApp } from '../inference/testing/inference-app';
import { CallContents } from './call-contents';
import { FakeGenerationContents } from './testing/fake-generation-contents';

const ASKED = [{ role: 'user', content: 'Hello!' }];
const CHAT = { model: 'test/chat', messages: ASKED };
const SAID = CHAT_ANSWER.choices[0]!.message.content;

describe(CallContents.name, () => {
  let app: InferenceApp;
  let contents: FakeGenerationContents;

  beforeAll(async () => {
    contents = new FakeGenerationContents();
    app = await InferenceApp.start([], contents);
  });

  beforeEach(() => {
    contents.rows.length = 0;
    app.answer = (_request, response) => void response.end(JSON.stringify(CHAT_ANSWER));
  });

  afterAll(() => app.close());

  const chunk = (delta: object, finish: string | null = null): string =>
    `data: ${JSON.stringify({ id: 'up', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const streams = (response: ServerResponse, ...chunks: readonly string[]): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunks.join(''));
  };
  const ask = async (path: string, body: object): Promise<string> => {
    const response = await app.post(path, body);
    await response.text().catch(() => undefined);
    await app.contentLog!.flush();
    return response.headers.get('x-generation-id') ?? '';
  };
  const content = async (id: string, key = app.key): Promise<{ status: number; body: object }> => {
    const init = { headers: { authorization: `Bearer ${key}` } };
    const response = await fetch(`${app.url}/generation/content?id=${id}`, init);
    return { status: response.status, body: (await response.json()) as object };
  };

  it.each([
    ['chat/completions', CHAT, { messages: ASKED }],
    ['responses', { model: 'test/chat', input: 'Hello!' }, { prompt: 'Hello!' }],
    ['messages', { ...CHAT, max_tokens: 9 }, { messages: ASKED }],
  ])('keeps what was asked and answered on %s', async (path, body, input) => {
    const id = await ask(path, body);
    expect(await content(id)).toEqual({
      status: 200,
      body: { data: { input, output: { completion: SAID, reasoning: null }, error: null } },
    });
  });

  it('keeps what was asked where the answer has no words', async () => {
    const vectors = { object: 'list', model: 'm', data: [{ object: 'embedding', index: 0, embedding: [1] }] };
    app.answer = (_request, response) => void response.end(JSON.stringify(vectors));
    const { body } = await content(await ask('embeddings', { model: 'test/embed', input: 'one' }));
    expect(body).toMatchObject({ data: { input: { prompt: 'one' }, output: { completion: null } } });
  });

  it.each([
    ['chat/completions', CHAT],
    ['responses', { model: 'test/chat', input: 'Hello!' }],
    ['messages', { ...CHAT, max_tokens: 9 }],
  ])('keeps what was streamed on %s, and the tools that were called', async (path, body) => {
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'look_up', arguments: '{"a":1}' } };
    app.answer = (_request, response) => {
      streams(response, chunk({ content: 'Hel' }), chunk({ content: 'lo' }), chunk({ tool_calls: [call] }));
      response.end(`${chunk({}, 'tool_calls')}data: [DONE]\n\n`);
    };
    const { body: kept } = await content(await ask(path, { ...body, stream: true }));
    expect(kept).toMatchObject({
      data: {
        output: { completion: 'Hello', tool_calls: [{ name: 'look_up', arguments: '{"a":1}' }] },
        error: null,
      },
    });
  });

  it('keeps what was said before a stream broke, and why it did', async () => {
    app.answer = (_request, response) => {
      streams(response, chunk({ content: 'Hel' }));
      setTimeout(() => response.destroy(), 20);
    };
    const { body } = await content(await ask('chat/completions', { ...CHAT, stream: true }));
    expect(body).toMatchObject({
      data: { output: { completion: 'Hel' }, error: { status: 502, provider_name: 'Test', previous_errors: [] } },
    });
  });

  it('keeps what was said until the caller left', async () => {
    app.answer = (_request, response) => streams(response, chunk({ content: 'Hel' }));
    const leave = new AbortController();
    const response = await app.post('chat/completions', { ...CHAT, stream: true }, { signal: leave.signal });
    await response.body!.getReader().read();
    leave.abort();
    await expect(response.text()).rejects.toThrow();
    while (contents.rows.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const { body } = await content(response.headers.get('x-generation-id')!);
    expect(body).toMatchObject({ data: { output: { completion: 'Hel' }, error: null } });
  });

  it('keeps why a provider did not answer, as the caller was told', async () => {
    app.answer = (_request, response) =>
      void response.writeHead(400).end('{"error":{"message":"Too warm","trace":"inside"}}');
    const { body } = await content(await ask('chat/completions', CHAT));
    expect(body).toMatchObject({
      data: {
        input: { messages: ASKED },
        output: { completion: null },
        error: { message: 'Too warm', status: 400, provider_name: 'Test', raw: null, previous_errors: [] },
      },
    });
    expect(contents.rows[0]!.error).not.toContain('inside');
  });

  it('keeps nothing of what no provider was asked for', async () => {
    await ask('chat/completions', { ...CHAT, model: 'test/none' });
    await ask('chat/completions', { ...CHAT, temperature: 99 });
    expect(contents.rows).toEqual([]);
  });

  it('shows nothing to another workspace, and nothing that is not there', async () => {
    const id = await ask('chat/completions', CHAT);
    for (const [one, key] of [
      [id, app.foreignKey],
      ['gen-1', app.key],
      [`x${id}`, app.key],
    ] as const) {
      expect(await content(one, key)).toMatchObject({
        status: 404,
        body: { error: { message: 'No content is kept of this generation' } },
      });
    }
    expect((await content('')).status).toBe(400);
    expect((await content(id, app.managementKey)).status).toBe(403);
  });
});

describe('what a workspace has set about contents', () => {
  const isWanted = (settings: WorkspaceSettings | undefined, drawn = 0): boolean => {
    const call = { caller: { settings } } as unknown as IncomingCall;
    return new CallContents({} as never, () => drawn).isWanted(call);
  };

  it('is asked of each call', () => {
    expect(isWanted(undefined)).toBe(true);
    expect(isWanted({ default_provider_sort: 'price' })).toBe(true);
    expect(isWanted({ is_observability_io_logging_enabled: true })).toBe(true);
    expect(isWanted({ is_observability_io_logging_enabled: false })).toBe(false);
    expect(isWanted({ io_logging_api_key_ids: [1, 2] })).toBe(false);
  });

  it('lets a share of the calls in', () => {
    expect(isWanted({ io_logging_sampling_rate: 0.25 }, 0.2499)).toBe(true);
    expect(isWanted({ io_logging_sampling_rate: 0.25 }, 0.25)).toBe(false);
    expect(isWanted({ io_logging_sampling_rate: 1 }, 0.9999)).toBe(true);
  });
});

describe('where contents are not kept', () => {
  it('says that there is nothing to show', async () => {
    const app = await InferenceApp.start();
    try {
      app.answer = (_request, response) => void response.end(JSON.stringify(CHAT_ANSWER));
      const id = (await app.post('chat/completions', CHAT)).headers.get('x-generation-id');
      const init = { headers: { authorization: `Bearer ${app.key}` } };
      const response = await fetch(`${app.url}/generation/content?id=${id}`, init);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('logging is off') } });
    } finally {
      await app.close();
    }
  });
});
