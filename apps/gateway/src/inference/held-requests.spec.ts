import { once } from 'node:events';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FakeGenerationContents } from '../generations/testing/fake-generation-contents';
import type { Plugin } from '../plugins/plugin';
import { CHAT_END, chatChunk, DONE } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const MIB = 1024 * 1024;
const STREAMS = 3;
/** Timers of the HTTP client let go of what they held when they are next looked at, which is a matter of seconds. */
const LONGEST_MS = 10_000;

/** The head of a picture of 64 by 64 points, and then zeros: it has few tokens for its size. */
const picture = ((): string => {
  const bytes = Buffer.alloc(3 * MIB);
  Buffer.from('89504e470d0a1a0a0000000d4948445200000040000000400802000000', 'hex').copy(bytes);
  return `data:image/png;base64,${bytes.toString('base64')}`;
})();
const [, data = ''] = picture.split(',');

const PICTURES = {
  'chat/completions': { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: picture } }] }] },
  responses: { input: [{ role: 'user', content: [{ type: 'input_image', image_url: picture, detail: 'auto' }] }] },
  messages: {
    max_tokens: 8,
    messages: [
      { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }] },
    ],
  },
} as const;

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

const collectGarbage = garbageCollector();

async function heldBytes(enough: number): Promise<number> {
  const deadline = performance.now() + LONGEST_MS;
  for (;;) {
    await delay(200);
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    if (heapUsed + external <= enough || performance.now() > deadline) return heapUsed + external;
  }
}

async function settledBytes(): Promise<number> {
  let before = await heldBytes(Number.POSITIVE_INFINITY);
  for (;;) {
    await delay(1_200);
    const now = await heldBytes(Number.POSITIVE_INFINITY);
    if (now > before - MIB) return now;
    before = now;
  }
}

/** A plugin that has nothing to do. */
const idle: Plugin = { id: 'idle', bind: () => ({ stage: { type: 'plugin', name: 'idle' } as never }) };

const RESPONSE = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'in_progress', output: [] };
const event = (type: string, response: object): string => `data: ${JSON.stringify({ type, response })}\n\n`;

describe('streams that go on', () => {
  let app: InferenceApp;
  let calls: ClientRequest[];

  const begin = async (path: string, body: string): Promise<IncomingMessage> => {
    const call = httpRequest(`${app.url}/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.key}`, 'content-type': 'application/json' },
    });
    calls.push(call);
    call.on('error', () => undefined).end(body);
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    return response;
  };

  /** Returns by how much more memory is used while streams with such bodies go on. */
  const heldBy = async (path: string, body: () => string): Promise<number> => {
    // What the first call alone makes is not what a stream holds.
    (await begin(path, body())).destroy();
    app.upstreamCalls.length = 0;
    const before = await settledBytes();
    for (let call = 0; call < STREAMS; call += 1) await begin(path, body());
    app.upstreamCalls.length = 0;
    return (await heldBytes(before + 3 * MIB)) - before;
  };

  beforeEach(() => {
    calls = [];
  });

  afterEach(async () => {
    for (const call of calls) call.destroy();
    await app.close();
  });

  const answers = (...events: readonly string[]): void => {
    app.answer = (_request, upstream) => {
      upstream.writeHead(200, { 'content-type': 'text/event-stream' }).write(events.join(''));
    };
  };

  it.each(['chat/completions', 'responses', 'messages'] as const)(
    'hold nothing of their pictures, as %s',
    async (path) => {
      app = await InferenceApp.start();
      answers(chatChunk('Hi.'));
      const body = (): string => JSON.stringify({ model: 'test/pictures', stream: true, ...PICTURES[path] });
      expect(await heldBy(path, body)).toBeLessThan(4 * MIB);
      expect(app.inFlight.pools.memory.reserved).toBeLessThan(MIB);
    },
  );

  it('hold nothing of their requests that plugins worked on', async () => {
    app = await InferenceApp.start([], null, [idle]);
    answers(chatChunk('Hi.'));
    const asked = { model: 'test/pictures', stream: true, plugins: [{ id: 'idle' }], ...PICTURES['chat/completions'] };
    expect(await heldBy('chat/completions', () => JSON.stringify(asked))).toBeLessThan(4 * MIB);
  });

  it('hold nothing of what their upstreams were sent, though their callers asked to see it', async () => {
    app = await InferenceApp.start();
    answers(chatChunk('Hi.'));
    const debug = { echo_upstream_body: true };
    const asked = { model: 'test/pictures', stream: true, debug, ...PICTURES['chat/completions'] };
    expect(await heldBy('chat/completions', () => JSON.stringify(asked))).toBeLessThan(4 * MIB);
  });

  it('hold no more of a relayed response than its settings', async () => {
    app = await InferenceApp.start();
    answers(event('response.created', RESPONSE));
    const asked = JSON.stringify({ model: 'test/responses', stream: true, input: 'Hi.', instructions: 'Be brief.' });
    const body = (): string => asked.replace('{', `{${' '.repeat(4 * MIB)}`);
    expect(await heldBy('responses', body)).toBeLessThan(4 * MIB);
    expect(app.inFlight.pools.memory.reserved).toBeLessThan(MIB);
  });

  it('keep reserved what they hold of the settings that a response repeats', async () => {
    app = await InferenceApp.start();
    answers(event('response.created', RESPONSE));
    const space = ' '.repeat(MIB);
    const asked = JSON.stringify({ model: 'test/responses', stream: true, input: 'Hi.', metadata: { note: 'x' } });
    await begin('responses', asked.replace('"note"', `${space}"note"`));
    expect(app.inFlight.pools.memory.reserved).toBeGreaterThan(2 * MIB);
    expect(app.inFlight.pools.memory.reserved).toBeLessThan(4 * MIB);
  });

  it('reserve what their callers have yet to read', async () => {
    app = await InferenceApp.start();
    const long = 'x'.repeat(7 * MIB);
    answers(chatChunk(long));
    const { memory } = app.inFlight.pools;
    const body = JSON.stringify({ model: 'test/chat', stream: true, messages: [{ role: 'user', content: 'Hi' }] });
    const response = await begin('chat/completions', body);
    expect(memory.reserved).toBeGreaterThan(long.length);
    response.resume();
    while (memory.reserved > 0) await delay(5);
  });

  it('keep their requests reserved where what is said is kept at their end', async () => {
    app = await InferenceApp.start([], new FakeGenerationContents());
    const ends: (() => void)[] = [];
    app.answer = (_request, upstream) => {
      upstream.writeHead(200, { 'content-type': 'text/event-stream' }).write(chatChunk('Hi.'));
      ends.push(() => void upstream.end(CHAT_END + DONE));
    };
    const body = JSON.stringify({ model: 'test/pictures', stream: true, ...PICTURES['chat/completions'] });
    const response = await begin('chat/completions', body);
    const { memory } = app.inFlight.pools;
    expect(memory.reserved).toBeGreaterThan(2 * body.length);
    ends[0]!();
    response.resume();
    await once(response, 'end');
    await delay(20);
    expect(memory.reserved).toBe(0);
  });
});
