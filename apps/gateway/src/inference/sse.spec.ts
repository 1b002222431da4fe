import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { emptyUsage, type AnswerStream, type StreamOutcome } from '@libs/inference';
import { writeStream, type StreamWriterOptions } from './sse';

const HEAD = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

const END = '\r\n0\r\n\r\n';

/** The body of a response in chunks (RFC 9112, section 7.1), of which `text` is all. */
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

  lastWords(): Buffer {
    return Buffer.alloc(0);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (;;) {
      const event = this.events.shift();
      if (event) {
        this.taken += 1;
        yield event;
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

describe(writeStream.name, () => {
  let server: Server;
  let socket: Socket;
  let stream: ScriptedStream;
  let done: Promise<void>;
  let received: string;
  let first: ServerResponse | null;

  const begin = async (options: Partial<StreamWriterOptions> = {}, head = HEAD): Promise<void> => {
    stream = new ScriptedStream();
    const started = Promise.withResolvers<void>();
    server = createServer((request, response: ServerResponse) => {
      if (request.url === '/first') {
        first = response;
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      done = writeStream(response, stream, { serviceName: 'sluice', lastWords: () => 'data: last\n\n', ...options });
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
});
