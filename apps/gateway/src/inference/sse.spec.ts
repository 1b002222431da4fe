import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { emptyUsage, type AnswerStream, type StreamOutcome } from '@libs/inference';
import { writeStream, type StreamWriterOptions } from './sse';

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

  const begin = async (options: Partial<StreamWriterOptions> = {}): Promise<void> => {
    stream = new ScriptedStream();
    const started = Promise.withResolvers<void>();
    server = createServer((_request, response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      done = writeStream(response, stream, { serviceName: 'sluice', lastWords: () => 'data: last\n\n', ...options });
      started.resolve();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    received = '';
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
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
});
