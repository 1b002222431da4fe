import { dataOfEventStream, findResponsesGrammarProblems } from '@libs/inference/testing';
import { WebSearch } from '../server-tools/web-search';
import { WebSearchTool } from '../server-tools/web-search.tool';
import { ResponsesController } from './responses.controller';
import { CHAT_ANSWER, CHAT_END, chatChunk, DONE, payloadsOf, RESPONSE_ANSWER, until } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

interface Terminal {
  readonly type: string;
  readonly response: { readonly id: string; readonly status: string; readonly error: object | null };
}

const HELLO = { model: 'test/responses', input: 'Hello!' };
const OF_CHAT = { model: 'test/chat', input: 'Hello!' };
const OF_CHAT_STREAMED = { ...OF_CHAT, stream: true };

describe(ResponsesController.name, () => {
  let app: InferenceApp;

  beforeEach(async () => {
    app = await InferenceApp.start();
  });

  afterEach(() => app.close());

  it('answers with the bytes of an endpoint that speaks the API, our names and the charge', async () => {
    app.answer = (_request, response) => void response.end(JSON.stringify(RESPONSE_ANSWER));
    const response = await app.post('responses', HELLO);
    expect(response.status).toBe(200);
    const body = (await response.json()) as Record<string, unknown>;
    expect(body).toMatchObject({
      object: 'response',
      status: 'completed',
      model: 'test/responses',
      output: RESPONSE_ANSWER.output,
      usage: { input_tokens: 10, output_tokens: 5, cost: 0.00002 },
    });
    const generationId = response.headers.get('x-generation-id');
    expect(generationId).toMatch(/^gen-/);
    expect(JSON.parse(String(app.upstreamCalls[0]))).toEqual({ ...HELLO, model: 'responses-model', store: false });
    await app.recorder.flush();
    expect(app.books.settled).toMatchObject([{ id: generationId, api: 'responses', costUsd: '0.00002' }]);
  });

  it('answers from an endpoint that speaks chat', async () => {
    app.answer = (_request, response) => void response.end(JSON.stringify(CHAT_ANSWER));
    const response = await app.post('responses', { ...OF_CHAT, instructions: 'Be short.' });
    expect(await response.json()).toMatchObject({
      object: 'response',
      status: 'completed',
      model: 'test/chat',
      output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi.' }] }],
      usage: { input_tokens: 10, output_tokens: 5, cost: 0.00002 },
    });
    expect(JSON.parse(String(app.upstreamCalls[0]))).toMatchObject({
      messages: [{ content: 'Be short.' }, { role: 'user', content: 'Hello!' }],
    });
    await app.recorder.flush();
    expect(app.books.settled).toMatchObject([{ api: 'responses', outcome: 'completed', costUsd: '0.00002' }]);
  });

  it('answers without a search that nothing can run, and names it in a header, whole and streamed', async () => {
    await app.close();
    app = await InferenceApp.start([new WebSearchTool(new WebSearch([], 0n, [], true))]);
    const tools = [{ type: 'function', name: 'own' }, { type: 'web_search' }];
    app.answer = (_request, response) => void response.end(JSON.stringify(CHAT_ANSWER));
    const whole = await app.post('responses', { ...OF_CHAT, tools });
    expect([whole.status, whole.headers.get('x-sluice-warning')]).toEqual([200, 'left out: tools.web_search']);
    expect(JSON.parse(String(app.upstreamCalls[0]))).toMatchObject({ tools: [{ function: { name: 'own' } }] });
    expect((await app.post('responses', OF_CHAT)).headers.get('x-sluice-warning')).toBeNull();
    app.answer = (_request, response) => void response.end([chatChunk('Hi.'), CHAT_END, DONE].join(''));
    const streamed = await app.post('responses', { ...OF_CHAT_STREAMED, tools });
    expect(streamed.headers.get('x-sluice-warning')).toBe('left out: tools.web_search');
    expect(await streamed.text()).toContain('response.completed');
  });

  it('refuses a tool of an unknown type by name where no endpoint speaks the API', async () => {
    const tools = [{ type: 'hologram' }];
    const refused = await app.post('responses', { ...OF_CHAT, tools });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining('tools[0].type') } });
    expect(app.upstreamCalls).toEqual([]);
  });

  it.each([
    [{ model: 'test/responses' }, 'input'],
    [{ ...HELLO, previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ ...HELLO, store: true }, 'store'],
    [{ ...HELLO, background: true }, 'background'],
    [{ input: 'Hello!' }, 'model'],
    [{ ...HELLO, max_output_tokens: 0 }, 'max_output_tokens'],
    [{ ...HELLO, session_id: 'x'.repeat(257) }, 'session_id'],
    [{ ...HELLO, model: 'test/none' }, 'model'],
    [{ ...HELLO, model: 'test/embed' }, 'model'],
  ])('refuses %j in the standard envelope, and asks nobody', async (body, named) => {
    const response = await app.post('responses', body);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { code: number; message: string } };
    expect(error).toMatchObject({ code: 400, metadata: { error_type: expect.any(String) } });
    expect(error.message.toLowerCase()).toContain(named);
    expect(app.upstreamCalls).toEqual([]);
  });

  describe('streams', () => {
    it('tells an answer from beginning to end by the grammar of the API', async () => {
      app.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(chatChunk('Hel') + chatChunk('lo.') + CHAT_END + DONE);
      };
      const response = await app.post('responses', OF_CHAT_STREAMED);
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      expect(response.headers.get('x-generation-id')).toMatch(/^gen-/);
      const text = await response.text();
      expect(findResponsesGrammarProblems(dataOfEventStream(text))).toEqual([]);
      expect(payloadsOf(text).at(-1)).toMatchObject({
        type: 'response.completed',
        response: { status: 'completed', usage: { cost: 0.00002 } },
      });
      await app.recorder.flush();
      expect(app.books.settled).toMatchObject([{ api: 'responses', streamed: true, costUsd: '0.00002' }]);
    });

    it.each([
      ['the upstream breaks off', 502],
      ['the process stops', 503],
    ])('fail by the grammar of the API when %s', async (why, status) => {
      const begun = Promise.withResolvers<void>();
      app.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(chatChunk('Hel'), () => {
          if (status === 502) response.destroy();
          begun.resolve();
        });
      };
      const response = await app.post('responses', OF_CHAT_STREAMED);
      const whole = response.text();
      await begun.promise;
      if (why === 'the process stops') await app.inFlight.drain(AbortSignal.timeout(20));
      const text = await whole;
      expect(findResponsesGrammarProblems(dataOfEventStream(text))).toEqual([]);
      const last = payloadsOf<Terminal>(text).at(-1)!;
      expect(last).toMatchObject({ type: 'response.failed', response: { status: 'failed' } });
      expect(last.response.error).toMatchObject({ code: 'server_error' });
      await until(() => app.books.settled.length === 1);
    });

    it('fail as an ordinary error before their first event', async () => {
      app.answer = (_request, response) => void response.writeHead(429, { 'retry-after': '3' }).end('{}');
      const response = await app.post('responses', OF_CHAT_STREAMED);
      expect(response.status).toBe(429);
      expect(response.headers.get('retry-after')).toBe('3');
      expect(await response.json()).toMatchObject({ error: { code: 429 } });
    });
  });
});
