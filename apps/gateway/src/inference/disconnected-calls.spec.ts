import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { LEFTOVER_BOUNDS } from '@libs/inference';
import { CHAT_ANSWER, chatChunk, CHAT_END, DONE, MESSAGE_ANSWER, RESPONSE_ANSWER, until } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const messages = [{ role: 'user', content: 'Hello, is anybody there?' }];
const CALLS = {
  'chat/completions': { messages },
  responses: { input: 'Hello, is anybody there?' },
  messages: { messages, max_tokens: 400 },
} as const;
type Path = keyof typeof CALLS;
const PATHS = Object.keys(CALLS) as Path[];

const named = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const item = { id: 'msg_1', type: 'message', role: 'assistant', content: [] };
const response = { ...RESPONSE_ANSWER, output: [], usage: null };

interface Script {
  readonly model: string;
  readonly words: string;
  /** An event with words, which is sent repeatedly. */
  readonly more: string;
  readonly end: string;
  readonly answer: object;
}

/** The same answer in every dialect that an upstream may speak; all report 10 tokens in, 5 out. */
const SCRIPTS: readonly Script[] = [
  {
    model: 'test/chat',
    words: chatChunk('Something '),
    more: chatChunk('and more.'),
    end: `${CHAT_END}${DONE}`,
    answer: CHAT_ANSWER,
  },
  {
    model: 'test/responses',
    words:
      named('response.created', { sequence_number: 0, response: { ...response, status: 'in_progress' } }) +
      named('response.output_item.added', { sequence_number: 1, output_index: 0, item }) +
      named('response.output_text.delta', { output_index: 0, content_index: 0, item_id: 'msg_1', delta: 'Something ' }),
    more: named('response.output_text.delta', {
      output_index: 0,
      content_index: 0,
      item_id: 'msg_1',
      delta: 'and more.',
    }),
    end: named('response.completed', { sequence_number: 9, response: RESPONSE_ANSWER }) + DONE,
    answer: RESPONSE_ANSWER,
  },
  {
    model: 'test/messages',
    words:
      named('message_start', {
        message: { ...MESSAGE_ANSWER, content: [], usage: { input_tokens: 10, output_tokens: 1 } },
      }) +
      named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
      named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Something ' } }),
    more: named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'and more.' } }),
    end:
      named('content_block_stop', { index: 0 }) +
      named('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } }) +
      named('message_stop', {}),
    answer: MESSAGE_ANSWER,
  },
];
const PAIRS = PATHS.flatMap((path) => SCRIPTS.map((script) => [path, script.model, script] as const));

describe('a call whose caller disconnects', () => {
  let app: InferenceApp;
  /** The upstream's ends of the calls, in order. */
  let answers: ServerResponse[];

  beforeEach(async () => {
    app = await InferenceApp.start();
    answers = [];
    Object.assign(app.leftoverBounds, { ...LEFTOVER_BOUNDS, mostReads: 64 });
    app.answer = (_request, answer) => void answers.push(answer);
  });

  afterEach(() => app.close());

  /** Asks; `leave` disconnects when what is awaited has come. */
  const ask = (path: Path, model: string, more: object = {}) => {
    const leaving = new AbortController();
    const answered = app.post(path, { model, ...CALLS[path], ...more }, { signal: leaving.signal });
    answered.catch(() => undefined);
    const isLeft = async (): Promise<void> => {
      leaving.abort();
      await answered.then((one) => one.body?.cancel()).catch(() => undefined);
      await until(() => app.inFlight.size === 0);
    };
    return { answered, leave: isLeft };
  };

  /** Leaves a stream after its first words. */
  const leaveStream = async (path: Path, { model, words }: Script, more: object = {}): Promise<ServerResponse> => {
    const { answered, leave } = ask(path, model, { stream: true, ...more });
    const count = answers.length;
    await until(() => answers.length > count);
    const upstream = answers[count]!;
    upstream.writeHead(200, { 'content-type': 'text/event-stream' });
    upstream.write(words);
    await (await answered).body!.getReader().read();
    await leave();
    return upstream;
  };

  const settled = async (count = 1) => {
    await until(() => app.books.settled.length === count);
    await app.recorder.flush();
    expect(app.books.settled).toHaveLength(count);
    return app.books.settled.at(-1)!;
  };

  const REPORT = { promptTokens: 10, completionTokens: 5, costUsd: '0.00002', usageProvenance: 'upstream' };

  it.each(PAIRS)('mid-stream of %s at %s pays what the provider then reports', async (path, _model, script) => {
    const upstream = await leaveStream(path, script);
    for (let i = 0; i < 5; i += 1) upstream.write(script.more);
    await delay(20);
    expect(app.books.settled).toEqual([]);
    expect(app.leftovers.size).toBe(1);
    upstream.end(script.end);
    expect(await settled()).toMatchObject({ outcome: 'cancelled', ...REPORT });
    expect(app.leftovers.size).toBe(0);
    expect(app.upstreamAborts).toBe(0);
  });

  it.each(PAIRS)('before the first byte of %s at %s pays what the provider reports', async (path, _model, script) => {
    const { leave } = ask(path, script.model, { stream: true });
    await until(() => answers.length === 1);
    await leave();
    expect(app.books.settled).toEqual([]);
    answers[0]!.writeHead(200, { 'content-type': 'text/event-stream' });
    answers[0]!.end(script.words + script.end);
    expect(await settled()).toMatchObject({ outcome: 'cancelled', ...REPORT });
  });

  it.each(PAIRS)('during a whole answer of %s at %s pays for it', async (path, _model, script) => {
    const { leave } = ask(path, script.model);
    await until(() => answers.length === 1);
    await leave();
    expect(app.books.settled).toEqual([]);
    answers[0]!.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(script.answer));
    expect(await settled()).toMatchObject({ outcome: 'cancelled', statusCode: 499, ...REPORT });
    expect(app.upstreamCalls).toHaveLength(1);
  });

  it.each(PAIRS)(
    'before a byte of %s came from %s pays the prompt after the bounds',
    async (path, _model, { model }) => {
      app.leftoverBounds.longestMs = 30;
      const { leave } = ask(path, model, { stream: true });
      await until(() => answers.length === 1);
      await leave();
      const row = await settled();
      expect(row).toMatchObject({ outcome: 'cancelled', completionTokens: 0, provider: expect.any(String) });
      expect(row.promptTokens).toBeGreaterThan(0);
      expect(Number(row.costUsd)).toBeGreaterThan(0);
      await until(() => app.upstreamAborts === 1);
    },
  );

  it.each(PAIRS)('of %s whose provider %s never ends pays for what came', async (path, _model, script) => {
    app.leftoverBounds.mostTokens = 50;
    const upstream = await leaveStream(path, script);
    while (!upstream.destroyed) {
      upstream.write(script.more);
      await delay(1);
    }
    const row = await settled();
    expect(row).toMatchObject({ outcome: 'cancelled', usageProvenance: 'partial' });
    expect(row.completionTokens).toBeGreaterThan(50);
    expect(row.completionTokens).toBeLessThan(500);
    expect(app.leftovers.size).toBe(0);
  });

  it('is read for no longer than the bound, though its provider sends comments only', async () => {
    app.leftoverBounds.longestMs = 100;
    const upstream = await leaveStream('chat/completions', SCRIPTS[0]!);
    const comments = setInterval(() => upstream.write(': ping\n\n'), 5);
    await once(upstream, 'close');
    clearInterval(comments);
    expect(await settled()).toMatchObject({ outcome: 'cancelled', completionTokens: 3 });
  });

  it('is read for no more bytes than the bound', async () => {
    app.leftoverBounds.mostBytes = 10_000;
    const upstream = await leaveStream('chat/completions', SCRIPTS[0]!);
    upstream.write(`: ${'x'.repeat(20_000)}\n\n`);
    await once(upstream, 'close');
    expect(await settled()).toMatchObject({ outcome: 'cancelled', completionTokens: 3 });
  });

  it('costs nothing where the provider refuses it or fails', async () => {
    const { leave } = ask('chat/completions', 'test/pair');
    await until(() => answers.length === 1);
    await leave();
    answers[0]!.writeHead(503).end('{}');
    expect(await settled()).toMatchObject({ outcome: 'cancelled', costUsd: '0' });
    expect(app.upstreamCalls).toHaveLength(1);
  });

  it('pays for what was said where the provider fails afterwards', async () => {
    const upstream = await leaveStream('chat/completions', SCRIPTS[0]!);
    upstream.destroy();
    expect(await settled()).toMatchObject({ outcome: 'cancelled', completionTokens: 3 });
  });

  it('is settled once when its usage and its leaving come together', async () => {
    const { answered, leave } = ask('chat/completions', 'test/chat', { stream: true });
    await until(() => answers.length === 1);
    answers[0]!.writeHead(200, { 'content-type': 'text/event-stream' });
    answers[0]!.write(SCRIPTS[0]!.words);
    await answered;
    answers[0]!.end(SCRIPTS[0]!.end);
    await leave();
    expect(await settled()).toMatchObject(REPORT);
  });

  it('pays what a model that thinks may have thought, and never more than was reserved', async () => {
    app.leftoverBounds.mostReads = 0;
    const thinking = { ...SCRIPTS[1]!, model: 'test/thinking' };
    await leaveStream('responses', thinking, { max_output_tokens: 300 });
    expect(await settled(1)).toMatchObject({ completionTokens: 300 });
    await leaveStream('responses', thinking, { max_output_tokens: 300, reasoning: { effort: 'none' } });
    expect(await settled(2)).toMatchObject({ completionTokens: 3 });
  });

  it.each([
    ['a budget that is sent to the provider as an effort', { reasoning: { max_tokens: 100 } }],
    ['a budget beside an effort', { reasoning: { effort: 'high', max_tokens: 1 } }],
    ['a member of another API', { reasoning: { effort: 'high' }, thinking: { type: 'disabled' } }],
  ])('pays what was reserved for thoughts in spite of %s', async (_what, more) => {
    app.leftoverBounds.mostReads = 0;
    const thinking = { ...SCRIPTS[1]!, model: 'test/thinking' };
    await leaveStream('responses', thinking, { max_output_tokens: 300, ...more });
    expect(await settled(1)).toMatchObject({ completionTokens: 300 });
  });

  describe('with a file behind a link', () => {
    const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'https://files.example.com/a.pdf' } };
    const linked = { messages: [{ role: 'user', content: [{ type: 'text', text: 'Sum it up.' }, file] }] };

    const script = { ...SCRIPTS[0]!, model: 'test/files' };

    it('is read on for its usage beyond the bound on tokens', async () => {
      app.leftoverBounds.mostTokens = 10;
      const upstream = await leaveStream('chat/completions', script, linked);
      for (let i = 0; i < 100; i += 1) {
        upstream.write(script.more);
        await delay(1);
      }
      upstream.end(script.end);
      expect(await settled()).toMatchObject(REPORT);
    });

    it('pays the prompt as it was reserved where no usage comes', async () => {
      app.leftoverBounds.longestMs = 50;
      const upstream = await leaveStream('chat/completions', script, linked);
      await once(upstream, 'close');
      // The whole context.
      expect(await settled()).toMatchObject({ promptTokens: 100_000, usageProvenance: 'partial' });
    });
  });

  it('pays for the inputs to embed', async () => {
    const leaving = new AbortController();
    const answered = app.post('embeddings', { model: 'test/embed', input: 'Hello there' }, { signal: leaving.signal });
    await until(() => answers.length === 1);
    leaving.abort();
    await expect(answered).rejects.toThrow();
    await until(() => app.leftovers.size === 1);
    const data = [{ object: 'embedding', index: 0, embedding: [1] }];
    answers[0]!.end(JSON.stringify({ object: 'list', data, model: 'm', usage: { prompt_tokens: 7, total_tokens: 7 } }));
    expect(await settled()).toMatchObject({ outcome: 'cancelled', promptTokens: 7, costUsd: '0.000007' });
  });

  it('never gets tokens for nothing, however many streams it leaves', async () => {
    for (let i = 0; i < 200; i += 1) await leaveStream('chat/completions', SCRIPTS[0]!);
    expect(app.leftovers.size).toBe(8);
    await settled(192);
    await app.leftovers.drain(AbortSignal.abort());
    await settled(200);
    for (const { completionTokens, promptTokens, outcome } of app.books.settled) {
      expect([outcome, completionTokens, promptTokens > 0]).toEqual(['cancelled', 3, true]);
    }
    await until(() => app.upstreamAborts === 200);
  }, 30_000);
});
