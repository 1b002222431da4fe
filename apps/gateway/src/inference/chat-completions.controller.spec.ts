import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { ChatCompletionsController } from './chat-completions.controller';
import { InferenceApp } from './testing/inference-app';

const HELLO = { model: 'test/chat', messages: [{ role: 'user', content: 'Hello!' }] };
const STREAM = { ...HELLO, stream: true };
const ANSWER = {
  id: 'upstream-1',
  object: 'chat.completion',
  created: 1,
  model: 'chat-model',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};

const chunk = (content: string, more: object = {}): string =>
  `data: ${JSON.stringify({
    id: 'upstream-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'chat-model',
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
    ...more,
  })}\n\n`;
const LAST = chunk('', {
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});

const eventsOf = (text: string): string[] => text.split('\n\n').filter((event) => event !== '');

async function until(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + 4_000;
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error('did not happen');
    await delay(5);
  }
}

describe(ChatCompletionsController.name, () => {
  let app: InferenceApp;

  beforeEach(async () => {
    app = await InferenceApp.start();
  });

  afterEach(() => app.close());

  const makeKnown = async (): Promise<void> => {
    app.answer = (_request, response) => void response.end(JSON.stringify(ANSWER));
    await (await app.post('chat/completions', HELLO)).text();
    await app.recorder.flush();
    app.books.opened.length = 0;
    app.books.settled.length = 0;
    app.upstreamCalls.length = 0;
  };

  it('answers with the generation in body and header, and charges it', async () => {
    app.answer = (_request, response) => void response.end(JSON.stringify(ANSWER));
    const response = await app.post('chat/completions', HELLO);
    const body = (await response.json()) as Record<string, unknown>;
    expect(response.status).toBe(200);
    expect(body).toMatchObject({
      id: expect.stringMatching(/^gen-/),
      model: 'test/chat',
      provider: 'Test',
      usage: { cost: 0.00002 },
    });
    expect(response.headers.get('x-generation-id')).toBe(body['id']);
    await app.recorder.flush();
    expect(app.books.opened).toMatchObject([{ id: body['id'], organizationId: 'acme', api: 'chat', streamed: false }]);
    expect(app.books.settled).toMatchObject([
      {
        id: body['id'],
        costUsd: '0.00002',
        provider: 'test',
        upstreamModel: 'chat-model',
        statusCode: 200,
        outcome: 'completed',
      },
    ]);
  });

  it('passes the bytes of the body on and rewrites only what is ours', async () => {
    app.answer = (_request, response) => void response.end(JSON.stringify(ANSWER));
    await app.post(
      'chat/completions',
      '{ "model":"test/chat","seed":9007199254740993, "messages":[{"role":"user","content":"\\u00e9"}] }',
    );
    expect(app.upstreamCalls.map(String)).toEqual([
      '{ "model":"chat-model","seed":9007199254740993, "messages":[{"role":"user","content":"\\u00e9"}] }',
    ]);
  });

  it.each([
    [{}, 'messages'],
    [{ ...HELLO, messages: [] }, 'messages'],
    [{ ...HELLO, temperature: '1' }, 'temperature'],
    [{ ...HELLO, max_tokens: 0 }, 'max_tokens'],
    [{ ...HELLO, stream: 'yes' }, 'stream'],
    [{ messages: HELLO.messages }, 'model'],
    [{ ...HELLO, model: 'test/none' }, 'model'],
    [{ ...HELLO, model: 'test/embed' }, 'model'],
  ])('refuses %j before anybody is called or charged', async (body, named) => {
    const response = await app.post('chat/completions', body);
    expect(response.status).toBe(400);
    expect(response.headers.get('x-generation-id')).toMatch(/^gen-/);
    expect((await response.text()).toLowerCase()).toContain(named);
    await app.recorder.flush();
    expect(app.upstreamCalls).toEqual([]);
    expect(app.books.settled.filter(({ costUsd }) => costUsd !== '0')).toEqual([]);
  });

  it('refuses a management key (U19)', async () => {
    const headers = { authorization: `Bearer ${app.managementKey}`, 'content-type': 'application/json' };
    expect((await app.post('chat/completions', HELLO, { headers })).status).toBe(403);
  });

  it('refuses a call that is not covered without asking anybody', async () => {
    app.books.isBroke = true;
    for (const body of [HELLO, STREAM]) {
      const response = await app.post('chat/completions', body);
      expect(response.status).toBe(402);
      expect(await response.json()).toMatchObject({
        error: { code: 402, metadata: { error_type: 'payment_required' } },
      });
    }
    expect(app.upstreamCalls).toEqual([]);
  });

  it('passes on when a provider says that it may be asked again', async () => {
    app.answer = (_request, response) => void response.writeHead(429, { 'retry-after': '7' }).end('{}');
    const response = await app.post('chat/completions', HELLO);
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('7');
    await app.recorder.flush();
    expect(app.books.settled).toMatchObject([{ outcome: 'failed', statusCode: 429, costUsd: '0' }]);
  });

  it('ends the upstream call when its caller leaves before the answer, and charges the prompt (E21)', async () => {
    const reached = Promise.withResolvers<void>();
    app.answer = () => reached.resolve();
    const leaving = new AbortController();
    const response = app.post('chat/completions', HELLO, { signal: leaving.signal });
    await reached.promise;
    leaving.abort();
    await expect(response).rejects.toThrow();
    await until(() => app.upstreamAborts === 1);
    await until(() => app.books.settled.length === 1);
    expect(app.books.settled).toMatchObject([{ outcome: 'cancelled', completionTokens: 0, statusCode: 499 }]);
    expect(app.books.settled[0]!.promptTokens).toBeGreaterThan(0);
  });

  describe('streams', () => {
    it('sends events as they come, one end, and charges what the upstream reported', async () => {
      app.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(chunk('Hel'));
        response.write(chunk('lo.'));
        response.end(`${LAST}data: [DONE]\n\n`);
      };
      const response = await app.post('chat/completions', STREAM);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      expect(response.headers.get('x-generation-id')).toMatch(/^gen-/);
      expect(response.headers.get('x-request-id')).toMatch(/^req-/);
      const events = eventsOf(await response.text());
      expect(events.filter((event) => event === 'data: [DONE]')).toHaveLength(1);
      expect(events.at(-1)).toBe('data: [DONE]');
      expect(events).toHaveLength(4);
      expect(app.upstreamCalls.map(String)[0]).toContain('"include_usage":true');
      await app.recorder.flush();
      expect(app.books.settled).toMatchObject([{ costUsd: '0.00002', outcome: 'completed', streamed: true }]);
    });

    it('sends the head with the first event, so a failure before it is an ordinary error', async () => {
      app.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end('data: {"error":{"message":"no","code":503}}\n\n');
      };
      const response = await app.post('chat/completions', STREAM);
      expect(response.status).toBeGreaterThanOrEqual(500);
      expect(response.headers.get('content-type')).toContain('application/json');
    });

    it('ends with an error event and [DONE] when the upstream breaks off', async () => {
      app.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(chunk('Hel'), () => response.destroy());
      };
      const events = eventsOf(await (await app.post('chat/completions', STREAM)).text());
      expect(events.at(-1)).toBe('data: [DONE]');
      expect(JSON.parse(events.at(-2)!.slice(6))).toMatchObject({
        error: { code: 502 },
        choices: [{ finish_reason: 'error' }],
      });
      await until(() => app.books.settled.length === 1);
      expect(app.books.settled).toMatchObject([{ outcome: 'failed', usageProvenance: 'partial' }]);
    });

    it('ends the upstream within a second when its reader leaves, and charges what was sent', async () => {
      app.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(chunk('Hello, this is a long answer.'));
      };
      const leaving = new AbortController();
      const response = await app.post('chat/completions', STREAM, { signal: leaving.signal });
      const reader = response.body!.getReader();
      await reader.read();
      const leftMs = performance.now();
      leaving.abort();
      await until(() => app.upstreamAborts === 1);
      expect(performance.now() - leftMs).toBeLessThan(1_000);
      await until(() => app.books.settled.length === 1);
      expect(app.books.settled).toMatchObject([{ outcome: 'cancelled', usageProvenance: 'partial' }]);
      expect(Number(app.books.settled[0]!.costUsd)).toBeGreaterThan(0);
    });

    it('ends with an error event and not with a cut when the process stops', async () => {
      const stalled = Promise.withResolvers<void>();
      app.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(chunk('Hel'), () => stalled.resolve());
      };
      const response = await app.post('chat/completions', STREAM);
      const whole = response.text();
      await stalled.promise;
      await app.inFlight.drain(AbortSignal.timeout(20));
      const events = eventsOf(await whole);
      expect(events.at(-1)).toBe('data: [DONE]');
      expect(JSON.parse(events.at(-2)!.slice(6))).toMatchObject({
        id: response.headers.get('x-generation-id'),
        object: 'chat.completion.chunk',
        error: { code: 503, metadata: { error_type: 'provider_overloaded' } },
        choices: [{ finish_reason: 'error' }],
      });
      await until(() => app.upstreamAborts === 1);
      await app.recorder.flush();
      expect(app.books.settled).toHaveLength(1);
    });

    it('answers 503 to a call without a stream when the process stops', async () => {
      const reached = Promise.withResolvers<void>();
      app.answer = () => reached.resolve();
      const response = app.post('chat/completions', HELLO);
      await reached.promise;
      await app.inFlight.drain(AbortSignal.timeout(20));
      expect((await response).status).toBe(503);
      expect((await response).headers.get('retry-after')).toBe('1');
    });

    it('ends with an error event when the hold that it ran ahead of fails', async () => {
      await makeKnown();
      const gate = Promise.withResolvers<void>();
      app.books.gate = gate.promise;
      app.books.isBroke = true;
      app.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(chunk('Hel'));
      };
      const response = await app.post('chat/completions', STREAM);
      expect(response.status).toBe(200);
      gate.resolve();
      const events = eventsOf(await response.text());
      expect(events.at(-1)).toBe('data: [DONE]');
      expect(JSON.parse(events.at(-2)!.slice(6))).toMatchObject({ error: { code: 402 } });
      await until(() => app.upstreamAborts === 1);
    });

    it('reads the upstream no faster than its reader reads', async () => {
      let written = 0;
      const total = 64 * 1024 * 1024;
      const event = chunk('x'.repeat(16_000));
      app.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const pump = (): void => {
          while (written < total && !response.destroyed) {
            written += event.length;
            if (!response.write(event)) return void response.once('drain', pump);
          }
        };
        pump();
      };
      const socket = connect(app.port, '127.0.0.1');
      const body = JSON.stringify(STREAM);
      socket.write(
        `POST /api/v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      await once(socket, 'readable');
      let before = -1;
      while (written !== before) {
        before = written;
        await delay(100);
      }
      // What the two connections buffer in the kernel, and little of our own.
      expect(written).toBeLessThan(16 * 1024 * 1024);
      socket.destroy();
      await until(() => app.upstreamAborts === 1);
    });
  });
});
