import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { chatChunk, MESSAGE_BEGIN, until } from './testing/answers';
import { InferenceApp } from './testing/inference-app';

const messages = [{ role: 'user', content: 'Hello!' }];
const CALLS = {
  'chat/completions': { model: 'test/chat', messages },
  responses: { model: 'test/chat', input: 'Hello!' },
  messages: { model: 'test/messages', messages, max_tokens: 8 },
} as const;

/** Ways in which a client goes, half-open connections among them. */
const WAYS: readonly (readonly [string, (socket: Socket) => void])[] = [
  ['closes its connection', (socket) => socket.destroy()],
  ['resets its connection', (socket) => socket.resetAndDestroy()],
  ['closes only its side of it', (socket) => socket.end()],
];

/** Between two of the points at which a client goes. */
const STEP_BYTES = 150;

describe('a streamed call', () => {
  let app: InferenceApp;

  beforeEach(async () => {
    app = await InferenceApp.start();
    Object.assign(app.streamPace, { firstCommentMs: 5, keepAliveMs: 1 });
    app.answer = ({ url }, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const words = ['Hi, ', 'how ', 'are ', 'you?'].map((word) => chatChunk(word));
      for (const event of url!.endsWith('/messages') ? [MESSAGE_BEGIN] : words) response.write(event);
    };
  });

  afterEach(() => app.close());

  /** Asks, and goes when so many bytes have come. */
  const leaveAfter = async (
    path: keyof typeof CALLS,
    bytes: number,
    leave: (socket: Socket) => void,
  ): Promise<void> => {
    const body = JSON.stringify({ ...CALLS[path], stream: true });
    const socket = connect({ port: app.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    socket.write(
      `POST /api/v1/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    for (let received = 0; received < bytes;) {
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      received += chunk.length;
    }
    leave(socket);
    socket.resume();
    await until(() => app.inFlight.size === 0 && app.books.opened.length > 0);
    socket.destroy();
  };

  it.each(WAYS.flatMap((way) => (Object.keys(CALLS) as (keyof typeof CALLS)[]).map((path) => [path, ...way] as const)))(
    'of %s is recorded once and charged for what was said, whenever its client %s',
    async (path, _way, leave) => {
      let calls = 0;
      for (let bytes = 1; bytes < 1_200; bytes += STEP_BYTES) {
        await leaveAfter(path, bytes, leave);
        calls += 1;
        await app.recorder.flush();
        expect(app.books.settled).toHaveLength(calls);
      }
      for (const { outcome, statusCode, promptTokens, completionTokens, costUsd } of app.books.settled) {
        expect([outcome, [200, 499].includes(statusCode)]).toEqual(['cancelled', true]);
        // Who is there before the request has been sent pays nothing, else the prompt too.
        expect(Number(costUsd) > 0).toBe(promptTokens + completionTokens > 0);
        expect(completionTokens > 0 && promptTokens === 0).toBe(false);
      }
      expect(app.books.settled.at(-1)!.completionTokens).toBeGreaterThan(0);
      expect(new Set(app.books.settled.map(({ id }) => id)).size).toBe(calls);
    },
  );
});
