import { frameWith } from '@libs/inference/testing';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { emptyUsage, type AnswerStream, type StreamOutcome, type AnswerFrame } from '@libs/inference';
import { EventStreamReply, type StreamPace } from './event-stream-reply';

const HEAD = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

const END = '\r\n0\r\n\r\n';

/** Returns the body of a response in chunks (RFC 9112, section 7.1). `text` is the whole response. */
function unchunked(text: string): string {
  let body = '';
  let at = text.indexOf('\r\n\r\n') + 4;
  for (;;) {
    const start = text.indexOf('\r\n', at) + 2;
    const length = Number.parseInt(text.slice(at, start), 16);
    expect(text.slice(start + length, start + length + 2)).toBe('\r\n');
    if (length === 0) return body;
    body += text.slice(start, start + length);
    at = start + length + 2;
  }
}

/** A stream whose events the test hands out one by one. */
class ScriptedStream implements AnswerStream {
  readonly outcome: Promise<StreamOutcome>;
  taken = 0;
  private readonly events: (Buffer | null)[] = [];
  private wake: (() => void) | null = null;
  private settle!: (outcome: StreamOutcome) => void;
  private isOver = false;

  constructor() {
    this.outcome = new Promise((resolve) => (this.settle = resolve));
  }

  push(...events: (string | Buffer)[]): void {
    this.events.push(...events.map((event) => Buffer.from(event)));
    this.wake?.();
  }

  end(): void {
    this.finish('completed');
  }

  cancel(): void {
    this.finish('cancelled');
  }

  lastWords(): readonly AnswerFrame[] {
    return [];
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly AnswerFrame[]> {
    for (;;) {
      const event = this.events.shift();
      if (event) {
        this.taken += 1;
        yield [frameWith(event)];
      } else if (this.isOver) return;
      else await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }

  private finish(state: StreamOutcome['state']): void {
    if (this.isOver) return;
    this.isOver = true;
    const cost = { totalCost: 0n, promptCost: 0n, completionCost: 0n };
    const nothing = { finishReason: null, nativeFinishReason: null, upstreamId: null, error: null };
    this.settle({ state, usage: emptyUsage('partial'), cost, ...nothing });
    this.wake?.();
  }
}

describe(EventStreamReply.name, () => {
  let server: Server;
  let socket: Socket;
  let stream: ScriptedStream;
  let done: Promise<void>;
  let reply: EventStreamReply;
  let received: string;
  let first: ServerResponse | null;
  let response: ServerResponse;

  /** A stream that has opened, unless the test says when it does. */
  const begin = async (
    pace: Partial<StreamPace> = {},
    head = HEAD,
    opening: Promise<unknown> = Promise.resolve(),
  ): Promise<void> => {
    stream = new ScriptedStream();
    const started = Promise.withResolvers<void>();
    server = createServer((request, answer: ServerResponse) => {
      if (request.url === '/first') {
        first = answer;
        return;
      }
      response = answer;
      const writeHead = (): void => void response.writeHead(200, { 'content-type': 'text/event-stream' });
      reply = new EventStreamReply(response, { serviceName: 'sluice', writeHead, pace });
      done = reply.whileOpening(opening).then(
        () => reply.write(stream, () => [frameWith('data: last\n\n')]),
        (error: Error) => reply.fail(Buffer.from(`data: ${error.message}\n\n`)),
      );
      started.resolve();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    received = '';
    first = null;
    socket.on('error', () => undefined);
    socket.write(head);
    await started.promise;
  };

  const read = async (text: string): Promise<void> => {
    socket.on('data', (chunk) => (received += String(chunk)));
    while (!received.includes(text)) await once(socket, 'data');
  };

  afterEach(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });

  it('sends nothing before the first event, not even the head', async () => {
    await begin();
    let isEarly = true;
    socket.on('data', () => expect(isEarly).toBe(false));
    await delay(50);
    isEarly = false;
    stream.push('data: 1\n\n');
    await read('data: 1');
    stream.end();
    await done;
  });

  it('has not begun when the stream fails early, so that it can be answered with a status', async () => {
    const opening = Promise.withResolvers<void>();
    await begin({ firstCommentMs: 60_000 }, HEAD, opening.promise);
    opening.reject(new Error('gone'));
    await expect(reply.whileOpening(opening.promise)).rejects.toThrow('gone');
    expect(reply.hasBegun).toBe(false);
    await done;
  });

  it('sends its head and comments while the stream takes long to open, then the stream', async () => {
    const opening = Promise.withResolvers<void>();
    await begin({ firstCommentMs: 20, keepAliveMs: 10 }, HEAD, opening.promise);
    await read(': SLUICE PROCESSING\n\n'.repeat(1));
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\ncontent-type: text\/event-stream\r\n/);
    expect(reply.hasBegun).toBe(true);
    while (received.split(': SLUICE PROCESSING').length < 4) await once(socket, 'data');
    opening.resolve();
    stream.push('data: 1\n\n', 'data: 2\n\n');
    stream.end();
    await done;
    await read(END);
    expect(unchunked(received)).toMatch(/^(?:: SLUICE PROCESSING\n\n){3,}data: 1\n\ndata: 2\n\n$/);
  });

  it('ends with the events of a failure once its head has left', async () => {
    const opening = Promise.withResolvers<void>();
    await begin({ firstCommentMs: 20 }, HEAD, opening.promise);
    await read('PROCESSING');
    opening.reject(new Error('gone'));
    await done;
    await read(END);
    expect(unchunked(received)).toBe(': SLUICE PROCESSING\n\ndata: gone\n\n');
  });

  it('ends when its reader has left before the stream opened', async () => {
    const opening = Promise.withResolvers<void>();
    await begin({ firstCommentMs: 20, keepAliveMs: 10 }, HEAD, opening.promise);
    await read('PROCESSING');
    const left = once(response, 'close');
    socket.destroy();
    await left;
    opening.reject(new Error('gone'));
    await done;
  });

  it('has not begun where its reader left before the first comment was due', async () => {
    const opening = Promise.withResolvers<void>();
    await begin({ firstCommentMs: 50 }, HEAD, opening.promise);
    const left = once(response, 'close');
    socket.destroy();
    await left;
    await delay(100);
    expect(reply.hasBegun).toBe(false);
    opening.reject(new Error('gone'));
    await done;
  });

  it('puts comments between events and never inside one, however slowly it is read', async () => {
    const events = Array.from({ length: 24 }, (_, at) => `data: ${String(at).repeat(at % 2 === 0 ? 9 : 150_000)}\n\n`);
    await begin({ keepAliveMs: 1 });
    const feed = (async (): Promise<void> => {
      for (const event of events) {
        stream.push(event);
        await delay(2);
      }
      stream.end();
    })();
    let isOver = false;
    void done.then(() => (isOver = true));
    socket.on('data', (chunk) => {
      received += String(chunk);
      socket.pause();
      setTimeout(() => socket.resume(), 1);
    });
    while (!received.endsWith(END)) await once(socket, 'data');
    await Promise.all([feed, done]);
    expect(isOver).toBe(true);
    const pieces = unchunked(received).split('\n\n').slice(0, -1);
    const comments = pieces.filter((piece) => piece === ': SLUICE PROCESSING');
    expect(comments.length).toBeGreaterThan(0);
    expect(pieces.filter((piece) => piece !== comments[0]).map((piece) => `${piece}\n\n`)).toEqual(events);
  });

  it('keeps the connection alive with comments while nothing comes', async () => {
    await begin({ keepAliveMs: 20 });
    stream.push('data: 1\n\n');
    await read(': SLUICE PROCESSING\n\n');
    stream.push('data: 2\n\n');
    stream.end();
    await done;
    await read('data: 2');
    expect(received).not.toContain('data: last');
  });

  it('adds the last words to a stream that was ended here', async () => {
    await begin();
    stream.push('data: 1\n\n');
    await read('data: 1');
    stream.cancel();
    await read('data: last\n\n');
    await done;
  });

  it('stops taking events while its reader takes none, and gives up after a while', async () => {
    await begin({ writeIdleMs: 200 });
    const large = 'x'.repeat(1024 * 1024);
    stream.push(...Array.from({ length: 64 }, () => large));
    const startedMs = performance.now();
    await done;
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(190);
    expect(stream.taken).toBeLessThan(32);
    expect((await stream.outcome).state).toBe('cancelled');
  });

  it('cancels the stream when its reader leaves', async () => {
    await begin();
    stream.push('data: 1\n\n');
    await read('data: 1');
    socket.destroy();
    await done;
    expect((await stream.outcome).state).toBe('cancelled');
  });

  it('hands on the bytes of its events and no others, whatever their length', async () => {
    const events = [1, 15, 16, 255, 16 * 1024, 16 * 1024 + 1, 300_000].map((length) => 'x'.repeat(length));
    await begin();
    const whole = read(END);
    stream.push(...events.flatMap((event) => [event, '']));
    stream.end();
    await Promise.all([done, whole]);
    const body = unchunked(received);
    expect(body.length).toBe(events.join('').length);
    expect(body === events.join('')).toBe(true);
  });

  it('sends what follows an early comment behind it', async () => {
    await begin({ keepAliveMs: 20 });
    await delay(50);
    stream.push('data: 1\n\n', 'data: 2\n\n');
    stream.end();
    await done;
    await read(END);
    expect(unchunked(received)).toMatch(/^(?:: SLUICE PROCESSING\n\n)+data: 1\n\ndata: 2\n\n$/);
  });

  it('frames nothing for a client that knows no chunks', async () => {
    await begin({}, 'GET / HTTP/1.0\r\n\r\n');
    stream.push('data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n');
    stream.end();
    await read('data: 3');
    await done;
    expect(received.slice(received.indexOf('\r\n\r\n') + 4)).toBe('data: 1\n\ndata: 2\n\ndata: 3\n\n');
  });

  it('waits for its turn behind the answer to an earlier request on the connection', async () => {
    await begin({}, 'GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n');
    stream.push('data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n');
    stream.end();
    await done;
    first?.end('the first answer');
    await read(END);
    const [before, after] = received.split('the first answer');
    expect(before).not.toContain('data: 1');
    expect(unchunked(after!)).toBe('data: 1\n\ndata: 2\n\ndata: 3\n\n');
  });

  it.each([
    ['that closes its side and reads on', (client: Socket) => client.end()],
    ['whose connection breaks', (client: Socket) => client.resetAndDestroy()],
  ])('ends the stream of a client %s', async (_what, leave) => {
    await begin({ keepAliveMs: 1 });
    stream.push('data: 1\n\n');
    await read('data: 1');
    let isOver = false;
    void done.then(() => (isOver = true));
    leave(socket);
    while (!isOver) {
      stream.push(`data: ${'x'.repeat(1_000)}\n\n`);
      await new Promise(setImmediate);
    }
    expect((await stream.outcome).state).toBe('cancelled');
    expect(response.destroyed).toBe(true);
  });
});
