import { found, FakeTool } from '../server-tools/testing/fake-tool';
import {
  CHAT_END,
  chatChunk,
  DONE,
  MESSAGE_BEGIN,
  MESSAGE_END,
  payloadsOf,
  RESPONSE_ANSWER,
  until,
} from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const COMMENT = ': SLUICE PROCESSING\n\n';
const messages = [{ role: 'user', content: 'Hello!' }];
const responseEvent = (type: string, sequence: number, response: object): string =>
  `data: ${JSON.stringify({ type, sequence_number: sequence, response })}\n\n`;

/** What an upstream says, by the API it speaks. */
const ANSWERS = {
  chat: chatChunk('Hi.') + CHAT_END + DONE,
  responses:
    responseEvent('response.created', 0, { ...RESPONSE_ANSWER, status: 'in_progress', output: [], usage: null }) +
    responseEvent('response.completed', 1, RESPONSE_ANSWER),
  messages: MESSAGE_BEGIN + MESSAGE_END,
};

const REQUESTS = {
  'chat/completions': { messages },
  responses: { input: 'Hello!' },
  messages: { messages, max_tokens: 8 },
} as const;

type Path = keyof typeof REQUESTS;

/** Every API, asked of a provider that speaks it and of one that does not. */
const PAIRS: readonly (readonly [Path, keyof typeof ANSWERS])[] = [
  ['chat/completions', 'chat'],
  ['chat/completions', 'messages'],
  ['responses', 'responses'],
  ['responses', 'chat'],
  ['messages', 'messages'],
  ['messages', 'chat'],
];

const PATHS = Object.keys(REQUESTS) as Path[];

let app: InferenceApp;
const tool = new FakeTool('datetime', async () => found('Found.'));

beforeEach(async () => {
  app = await InferenceApp.start([tool]);
  Object.assign(app.streamPace, { firstCommentMs: 30, keepAliveMs: 10 });
});

afterEach(() => app.close());

/** An upstream that says nothing until the test lets it. */
function silentUntil(answer: InferenceApp['answer']): () => void {
  const gate = Promise.withResolvers<void>();
  app.answer = (...exchange) => void gate.promise.then(() => answer(...exchange));
  return gate.resolve;
}

const ask = (path: Path, model: string, more: object = {}, init: RequestInit = {}): Promise<Response> =>
  app.post(path, { model, stream: true, ...REQUESTS[path], ...more }, init);

interface Reading {
  readonly text: () => string;
  /** Reads until so many comments more have come. */
  readonly comments: (count: number) => Promise<void>;
  readonly rest: () => Promise<string>;
}

function readingOf(response: Response): Reading {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (): Promise<boolean> => {
    const { done, value = '' } = await reader.read();
    text += value;
    return !done;
  };
  const comments = async (count: number): Promise<void> => {
    const wanted = text.split(COMMENT).length + count;
    while (text.split(COMMENT).length < wanted) if (!(await next())) throw new Error(`the stream ended: ${text}`);
  };
  const rest = async (): Promise<string> => {
    while (await next());
    return text;
  };
  return { text: () => text, comments, rest };
}

/** Reads until two comments have come. */
async function untilComments(response: Response): Promise<Reading> {
  const reading = readingOf(response);
  await reading.comments(2);
  return reading;
}

const withoutComments = (text: string): string => text.replaceAll(COMMENT, '');

/** Ids and times differ from call to call. */
const generally = (text: string): string =>
  text
    .replace(/gen-\d+-\w+/g, 'gen')
    .replace(/_[0-9a-f]{16,}/g, '')
    .replace(/"(?:created|created_at|completed_at)":\d+/g, '');

describe('a streamed call whose first event takes long', () => {
  it.each(PAIRS)(
    'of %s to a provider of %s has its head and comments, then the same answer',
    async (path, upstream) => {
      const answer: InferenceApp['answer'] = (_request, response) =>
        void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ANSWERS[upstream]);
      const release = silentUntil(answer);
      const response = await ask(path, `test/${upstream}`);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      expect(response.headers.get('x-generation-id')).toMatch(/^gen-/);
      const reading = await untilComments(response);
      expect(withoutComments(reading.text())).toBe('');
      release();
      const text = await reading.rest();
      app.answer = answer;
      const prompt = await (await ask(path, `test/${upstream}`)).text();
      expect(generally(withoutComments(text))).toBe(generally(withoutComments(prompt)));
      await app.recorder.flush();
      expect(app.books.settled).toHaveLength(2);
      const [late, early] = app.books.settled;
      expect(late).toMatchObject({ outcome: 'completed', statusCode: 200, provider: early!.provider });
      expect([late!.costUsd, late!.usageProvenance]).toEqual([early!.costUsd, early!.usageProvenance]);
    },
  );

  it.each(PATHS)('of %s falls back to the next provider after its head has left', async (path) => {
    const release = silentUntil((request, response) => {
      if (request.url!.startsWith('/second')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(ANSWERS.chat);
      } else response.writeHead(503).end('{}');
    });
    const reading = await untilComments(await ask(path, 'test/pair', { provider: { sort: 'price' } }));
    release();
    const text = withoutComments(await reading.rest());
    expect(text).toContain('Hi.');
    expect(text).not.toContain('"error":{');
    expect(app.upstreamCalls).toHaveLength(2);
    await app.recorder.flush();
    expect(app.books.settled).toMatchObject([{ outcome: 'completed', provider: 'second' }]);
  });

  describe('and which then fails everywhere', () => {
    const failLate = async (path: Path, more: object = {}, headers: Record<string, string> = {}): Promise<string> => {
      const release = silentUntil(
        (_request, response) => void response.writeHead(503, { 'retry-after': '7' }).end('{}'),
      );
      const authorization = `Bearer ${app.key}`;
      const response = await ask(path, 'test/pair', more, {
        headers: { authorization, 'content-type': 'application/json', ...headers },
      });
      expect(response.status).toBe(200);
      const reading = await untilComments(response);
      release();
      return withoutComments(await reading.rest());
    };

    const error = { code: 503, metadata: { error_type: 'provider_overloaded', previous_errors: [{}, {}] } };

    it('ends chat with a chunk that has the error, and [DONE]', async () => {
      const text = await failLate('chat/completions');
      expect(text.endsWith(`\n\n${DONE}`)).toBe(true);
      expect(payloadsOf(text)).toMatchObject([
        {
          id: expect.stringMatching(/^gen-/) as string,
          object: 'chat.completion.chunk',
          model: 'test/pair',
          provider: 'Second',
          error,
          choices: [{ index: 0, finish_reason: 'error' }],
          usage: { completion_tokens: 0, cost: 0 },
        },
      ]);
    });

    it('ends responses with response.failed, and [DONE]', async () => {
      const text = await failLate('responses');
      expect(text.endsWith(`\n\n${DONE}`)).toBe(true);
      expect(payloadsOf(text)).toMatchObject([
        { type: 'response.created', sequence_number: 0, response: { status: 'in_progress', output: [] } },
        { type: 'response.in_progress', sequence_number: 1 },
        {
          type: 'response.failed',
          sequence_number: 2,
          error: { code: 'server_error', metadata: error.metadata },
          response: {
            model: 'test/pair',
            status: 'failed',
            error: { code: 'server_error', metadata: error.metadata },
            error_type: 'provider_overloaded',
            usage: { output_tokens: 0 },
          },
        },
      ]);
    });

    it('ends messages with an error event that has what the body of a refusal has', async () => {
      const text = await failLate('messages');
      expect(text).toMatch(/^event: error\ndata: \{[^\n]+\}\n\n$/);
      expect(payloadsOf(text)).toMatchObject([
        {
          type: 'error',
          error: { type: 'overloaded_error', error_type: 'provider_overloaded' },
          request_id: expect.stringMatching(/^req-/) as string,
          metadata: { previous_errors: [{}, {}] },
        },
      ]);
    });

    it.each(PATHS)('records a call of %s with the status of its error, and charges nothing', async (path) => {
      await failLate(path);
      await app.recorder.flush();
      expect(app.books.settled).toMatchObject([{ outcome: 'failed', statusCode: 503, provider: null, costUsd: '0' }]);
    });

    it.each(PATHS)('shows the route on %s to a caller who asks for it', async (path) => {
      const text = await failLate(path, {}, { 'x-sluice-metadata': 'enabled' });
      const last = payloadsOf(text).at(-1)!;
      const holder = path === 'responses' ? (last['response'] as Record<string, unknown>) : last;
      expect(holder['sluice_metadata']).toMatchObject({ attempt: 2, requested: 'test/pair', attempts: [{}, {}] });
    });
  });

  it.each(PATHS)('of %s that fails early is answered with its status, as ever', async (path) => {
    app.streamPace.firstCommentMs = 60_000;
    app.answer = (_request, response) => void response.writeHead(503).end('{}');
    const response = await ask(path, 'test/chat');
    expect(response.status).toBe(503);
    expect(response.headers.get('content-type')).toContain('application/json');
  });

  it.each(PATHS)('of %s ends the work of the provider when its caller leaves', async (path) => {
    silentUntil(() => undefined);
    const leaving = new AbortController();
    const authorization = `Bearer ${app.key}`;
    const response = await ask(
      path,
      'test/chat',
      {},
      {
        headers: { authorization, 'content-type': 'application/json' },
        signal: leaving.signal,
      },
    );
    await untilComments(response);
    leaving.abort();
    await until(() => app.upstreamAborts === 1);
    await until(() => app.inFlight.size === 0);
    await app.recorder.flush();
    expect(app.books.settled).toMatchObject([{ outcome: 'cancelled', statusCode: 499, completionTokens: 0 }]);
  });

  it.each(PATHS)('of %s with a tool of ours is kept alive before each turn', async (path) => {
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'datetime', arguments: '{}' } };
    const asksTool = chatChunk('', {
      choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: 'tool_calls' }],
    });
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    app.answer = (_request, response) => {
      const turn = app.upstreamCalls.length - 1;
      void gates[turn]!.promise.then(() =>
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(turn === 0 ? asksTool + DONE : ANSWERS.chat),
      );
    };
    const reading = await untilComments(await ask(path, 'test/chat', { tools: [{ type: 'sluice:datetime' }] }));
    gates[0]!.resolve();
    await until(() => app.upstreamCalls.length === 2);
    await reading.comments(2);
    gates[1]!.resolve();
    expect(await reading.rest()).toContain('Hi.');
    await app.recorder.flush();
    expect(app.books.settled).toMatchObject([{ outcome: 'completed' }]);
  });

  it.each(PATHS)('of %s reads why, when there is no money for it after all', async (path) => {
    const gate = Promise.withResolvers<void>();
    app.books.gate = gate.promise;
    app.books.isBroke = true;
    silentUntil(() => undefined);
    const reading = await untilComments(await ask(path, 'test/chat'));
    gate.resolve();
    const text = withoutComments(await reading.rest());
    expect(text).toContain('payment_required');
    expect(text).toContain('Insufficient credits');
  });

  it('ends with a failure of its API when the gateway stops', async () => {
    silentUntil(() => undefined);
    const reading = await untilComments(await ask('messages', 'test/messages'));
    await app.inFlight.drain(AbortSignal.abort());
    expect(payloadsOf(withoutComments(await reading.rest()))).toMatchObject([
      { type: 'error', error: { error_type: 'provider_overloaded' } },
    ]);
  });
});
