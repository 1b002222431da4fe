import { MessagesController } from './messages.controller';
import {
  CHAT_ANSWER,
  CHAT_END,
  chatChunk,
  DONE,
  MESSAGE_ANSWER,
  MESSAGE_BEGIN,
  MESSAGE_END,
  payloadsOf,
  until,
} from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const HELLO = { model: 'test/messages', max_tokens: 10, messages: [{ role: 'user', content: 'Hello!' }] };
const STREAM = { ...HELLO, stream: true };
const OF_CHAT = { ...HELLO, model: 'test/chat' };
const JSON_TYPE = { 'content-type': 'application/json' };

const isEnd = ({ type }: Record<string, unknown>): boolean => type === 'message_stop' || type === 'error';

describe(MessagesController.name, () => {
  let app: InferenceApp;

  beforeEach(async () => {
    app = await InferenceApp.start();
  });

  afterEach(() => app.close());

  it('answers with the bytes of an endpoint that speaks the API, our names and the charge', async () => {
    app.answer = (_request, response) => void response.end(JSON.stringify(MESSAGE_ANSWER));
    const response = await app.post('messages', HELLO);
    expect(response.status).toBe(200);
    const generationId = response.headers.get('x-generation-id');
    expect(await response.json()).toMatchObject({
      id: generationId,
      type: 'message',
      model: 'test/messages',
      content: MESSAGE_ANSWER.content,
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, output_tokens: 5, cost: 0.00002 },
    });
    await app.recorder.flush();
    expect(app.books.settled).toMatchObject([{ id: generationId, api: 'messages', costUsd: '0.00002' }]);
  });

  it('answers from an endpoint that speaks chat', async () => {
    app.answer = (_request, response) => void response.end(JSON.stringify(CHAT_ANSWER));
    const response = await app.post('messages', OF_CHAT);
    expect(await response.json()).toMatchObject({
      type: 'message',
      model: 'test/chat',
      content: [{ type: 'text', text: 'Hi.' }],
      stop_reason: 'end_turn',
    });
  });

  it('goes on to the models of fallbacks', async () => {
    app.answer = (request, response) => {
      if (request.url === '/v1/messages') response.writeHead(529).end('{}');
      else response.end(JSON.stringify(CHAT_ANSWER));
    };
    const response = await app.post('messages', { ...HELLO, fallbacks: [{ model: 'test/chat' }] });
    expect(await response.json()).toMatchObject({ model: 'test/chat' });
  });

  it('streams to message_stop', async () => {
    app.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(MESSAGE_BEGIN);
      response.end(MESSAGE_END);
    };
    const response = await app.post('messages', STREAM);
    expect(response.headers.get('x-generation-id')).toMatch(/^gen-/);
    const text = await response.text();
    expect(text).not.toContain('[DONE]');
    expect(payloadsOf(text).filter(isEnd)).toEqual([{ type: 'message_stop' }]);
    await app.recorder.flush();
    expect(app.books.settled).toMatchObject([{ streamed: true, outcome: 'completed', costUsd: '0.00002' }]);
  });

  it('streams what comes from chat', async () => {
    app.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(chatChunk('Hel') + chatChunk('lo.') + CHAT_END + DONE);
    };
    const payloads = payloadsOf(await (await app.post('messages', { ...OF_CHAT, stream: true })).text());
    expect(payloads[0]).toMatchObject({ type: 'message_start' });
    expect(payloads.at(-1)).toEqual({ type: 'message_stop' });
  });

  it('ends a stream with an error of the API when the process stops', async () => {
    const begun = Promise.withResolvers<void>();
    app.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(MESSAGE_BEGIN, () => begun.resolve());
    };
    const whole = (await app.post('messages', STREAM)).text();
    await begun.promise;
    await app.inFlight.drain(AbortSignal.timeout(20));
    const text = await whole;
    expect(text).toContain('event: error\n');
    expect(payloadsOf(text).filter(isEnd)).toEqual([
      {
        type: 'error',
        error: { type: 'overloaded_error', message: 'The service is restarting', error_type: 'provider_overloaded' },
      },
    ]);
    await until(() => app.upstreamAborts === 1);
  });

  describe('errors', () => {
    it.each([
      ['a body that does not fit', { ...HELLO, messages: [] }, 400, 'invalid_request_error', 'invalid_request'],
      ['an unknown model', { ...HELLO, model: 'test/none' }, 400, 'invalid_request_error', 'invalid_request'],
      ['no JSON', '{', 400, 'invalid_request_error', 'invalid_request'],
    ])('of %s have the shape of the API', async (_what, body, status, type, errorType) => {
      const response = await app.post('messages', body);
      expect(response.status).toBe(status);
      expect(await response.json()).toMatchObject({
        type: 'error',
        error: { type, message: expect.any(String), error_type: errorType },
        request_id: response.headers.get('x-request-id'),
      });
    });

    it('of money and of providers have it too', async () => {
      app.answer = (_request, response) => void response.writeHead(429, { 'retry-after': '7' }).end('{}');
      const limited = await app.post('messages', HELLO);
      expect(limited.status).toBe(429);
      expect(limited.headers.get('retry-after')).toBe('7');
      expect(await limited.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
      const poor = await InferenceApp.start();
      poor.books.isBroke = true;
      expect(await (await poor.post('messages', HELLO)).json()).toMatchObject({ error: { type: 'billing_error' } });
      await poor.close();
    });
  });

  describe('credentials', () => {
    const ask = (headers: Record<string, string>, path = 'messages'): Promise<Response> => {
      app.answer = (_request, response) => void response.end(JSON.stringify(MESSAGE_ANSWER));
      return app.post(path, HELLO, { headers: { ...JSON_TYPE, ...headers } });
    };

    it('may come in x-api-key', async () => {
      expect((await ask({ 'x-api-key': app.key })).status).toBe(200);
      expect((await ask({ 'x-api-key': app.key }, 'messages/count_tokens')).status).toBe(502);
    });

    it('are one in all', async () => {
      const wrong: Record<string, string>[] = [
        {},
        { 'x-api-key': app.key, authorization: `Bearer ${app.key}` },
        { 'x-api-key': `${app.key}, ${app.key}` },
        { 'x-api-key': '' },
        { 'x-api-key': `Bearer ${app.key}` },
      ];
      for (const headers of wrong) {
        const response = await ask(headers);
        expect(response.status).toBe(401);
        expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'authentication_error' } });
      }
      expect(app.upstreamCalls).toEqual([]);
    });

    it('come in x-api-key to no other API', async () => {
      expect((await ask({ 'x-api-key': app.key }, 'chat/completions')).status).toBe(401);
    });
  });

  describe('token counts', () => {
    it('are those of the provider that would answer', async () => {
      app.answer = (_request, response) => void response.end('{"input_tokens":17}');
      const response = await app.post('messages/count_tokens', HELLO);
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ input_tokens: 17 });
      expect(JSON.parse(String(app.upstreamCalls[0]))).toEqual({ model: 'messages-model', messages: HELLO.messages });
      await app.recorder.flush();
      expect(app.books.opened).toEqual([]);
    });

    it('are estimated where no provider counts', async () => {
      const response = await app.post('messages/count_tokens', OF_CHAT);
      expect(await response.json()).toEqual({ input_tokens: 6 });
      expect(app.upstreamCalls).toEqual([]);
    });

    it('are refused in the shape of the API', async () => {
      const response = await app.post('messages/count_tokens', { model: 'test/messages' });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
    });
  });
});
