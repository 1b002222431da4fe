import { CallReplier } from './call-replier';
import { CHAT_ANSWER, CHAT_END, chatChunk, DONE, MESSAGE_BEGIN, MESSAGE_END, payloadsOf } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const CHAT = { model: 'test/chat', messages: [{ role: 'user', content: 'Hello!' }] };
const RESPONSES = { model: 'test/chat', input: 'Hello!' };

/** The metadata of a call that one endpoint answered, for every caller that asks for it. */
const SERVED = {
  attempt: 1,
  attempts: [{ model: 'test/chat', provider: 'Test', status: 200 }],
  endpoints: { available: [{ model: 'test/chat', provider: 'Test', selected: true }], total: 1 },
  is_byok: false,
  requested: 'test/chat',
  strategy: 'direct',
  summary: 'available=1, selected=Test',
};

describe(`routing metadata of ${CallReplier.name}`, () => {
  let app: InferenceApp;

  beforeEach(async () => {
    app = await InferenceApp.start();
    app.answer = (_request, response) => void response.end(JSON.stringify(CHAT_ANSWER));
  });

  afterEach(() => app.close());

  const ask = (path: string, body: object, header = 'X-Sluice-Metadata', value = 'enabled'): Promise<Response> =>
    app.post(path, body, {
      headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json', [header]: value },
    });

  const streams = (...pieces: string[]): void => {
    app.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(pieces.join(''));
    };
  };

  it.each([
    ['X-Sluice-Metadata', 'enabled'],
    ['x-sluice-metadata', 'Enabled'],
    ['X-Sluice-Experimental-Metadata', 'enabled'],
  ])('comes for %s: %s', async (header, value) => {
    const body = await (await ask('chat/completions', CHAT, header, value)).json();
    expect(body).toMatchObject({ choices: CHAT_ANSWER.choices, sluice_metadata: SERVED });
  });

  it('comes to nobody else', async () => {
    for (const value of ['', 'true', 'disabled']) {
      expect(await (await ask('chat/completions', CHAT, 'X-Sluice-Metadata', value)).text()).not.toContain('_metadata');
    }
  });

  it('names the translation between dialects', async () => {
    expect(await (await ask('responses', { ...RESPONSES, top_k: 4 })).json()).toMatchObject({
      sluice_metadata: { ...SERVED, translation: { from: 'responses', to: 'chat' } },
    });
  });

  it('stands on the last chunk of a chat', async () => {
    streams(chatChunk('Hi.'), CHAT_END, DONE);
    const text = await (await ask('chat/completions', { ...CHAT, stream: true })).text();
    const payloads = payloadsOf(text);
    expect(text.endsWith(DONE)).toBe(true);
    expect(payloads.at(-1)).toMatchObject({ object: 'chat.completion.chunk', sluice_metadata: SERVED });
    expect(payloads.filter((payload) => 'sluice_metadata' in payload)).toHaveLength(1);
  });

  it('stands on a chunk of its own where the last one has left', async () => {
    const lastSeen = Promise.withResolvers<void>();
    app.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chatChunk('Hi.') + CHAT_END);
      void lastSeen.promise.then(() => response.end(DONE));
    };
    const response = await ask('chat/completions', { ...CHAT, stream: true });
    let text = '';
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (text.includes('"finish_reason":"stop"')) lastSeen.resolve();
    }
    expect(payloadsOf(text).at(-1)).toMatchObject({
      id: response.headers.get('x-generation-id'),
      object: 'chat.completion.chunk',
      model: 'test/chat',
      choices: [],
      sluice_metadata: SERVED,
    });
    expect(text.endsWith(DONE)).toBe(true);
  });

  it('stands in the last response of a stream', async () => {
    streams(chatChunk('Hi.'), CHAT_END, DONE);
    const payloads = payloadsOf(await (await ask('responses', { ...RESPONSES, stream: true })).text());
    expect(payloads.at(-1)).toMatchObject({ type: 'response.completed', response: { sluice_metadata: SERVED } });
    expect(payloads.filter((payload) => JSON.stringify(payload).includes('_metadata'))).toHaveLength(1);
  });

  it('stands in message_stop', async () => {
    streams(MESSAGE_BEGIN, MESSAGE_END);
    const body = { ...CHAT, model: 'test/messages', max_tokens: 5, stream: true };
    expect(payloadsOf(await (await ask('messages', body)).text()).at(-1)).toMatchObject({
      type: 'message_stop',
      sluice_metadata: { attempt: 1, summary: 'available=1, selected=Other' },
    });
  });

  it('tells of a stream that breaks off', async () => {
    app.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chatChunk('Hel'), () => response.destroy());
    };
    const payloads = payloadsOf(await (await ask('chat/completions', { ...CHAT, stream: true })).text());
    expect(payloads.at(-1)).toMatchObject({
      error: { code: 502 },
      sluice_metadata: { ...SERVED, attempts: [{ provider: 'Test', status: 502 }] },
    });
  });

  it.each([
    ['chat/completions', CHAT],
    ['messages', { ...CHAT, max_tokens: 5 }],
  ])('stands beside the error of %s', async (path, body) => {
    app.answer = (_request, response) => void response.writeHead(503).end('{}');
    expect(await (await ask(path, body)).json()).toMatchObject({
      error: { message: expect.any(String) },
      sluice_metadata: {
        attempt: 1,
        attempts: [{ provider: 'Test', status: 503 }],
        endpoints: { available: [{ provider: 'Test', selected: false }] },
        summary: 'available=1, selected=none',
      },
    });
  });

  it('says that no provider was reached where nothing could be routed', async () => {
    const body = (await (await ask('chat/completions', { ...CHAT, model: 'test/none' })).json()) as object;
    expect(body).toMatchObject({
      error: { code: 400 },
      sluice_metadata: { attempt: 0, attempts: [], endpoints: { available: [], total: 0 }, requested: 'test/none' },
    });
  });

  it.each([
    ['chat/completions', CHAT],
    ['messages', { ...CHAT, max_tokens: 5 }],
  ])('lists on %s what was considered where nothing was left', async (path, body) => {
    const refused = await (await ask(path, { ...body, provider: { ignore: ['test'] } })).json();
    expect(refused).toMatchObject({
      error: { availability: { code: 'constraint_filtered', excluded_by: 'allowed_providers' } },
      sluice_metadata: {
        attempt: 0,
        endpoints: { available: [], excluded: [{ provider: 'Test', excluded_by: 'provider.ignore' }], total: 1 },
        summary: 'available=0, selected=none',
      },
    });
    expect(JSON.stringify((refused as { error: { metadata?: object } }).error.metadata ?? {})).not.toContain(
      'excluded',
    );
  });

  it('is not told of a request that nobody read', async () => {
    expect(await (await ask('chat/completions', { ...CHAT, messages: [] })).json()).not.toHaveProperty(
      'sluice_metadata',
    );
  });
});
