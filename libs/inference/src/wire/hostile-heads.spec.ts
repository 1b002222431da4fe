import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { anEndpoint, aProvider } from '../testing';
import { isUpstreamFault } from './upstream-fault';
import { UpstreamHttp } from './upstream-http';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n`;
const KIB_64 = 64 * 1024;

describe('heads of upstream answers', () => {
  const sockets = new Set<Socket>();
  let server: Server;
  let http: UpstreamHttp;
  let answer: string;
  /** Sent again and again after the answer; null: nothing follows. */
  let piece: string | null;

  beforeEach(async () => {
    server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      socket.once('data', () => flood(socket));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    http = new UpstreamHttp();
    piece = null;
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await http.close();
    server.close();
  });

  function flood(socket: Socket): void {
    socket.write(answer);
    if (piece === null) return;
    const bytes = Buffer.from(piece.repeat(Math.ceil(KIB_64 / piece.length)));
    const more = (): void => {
      while (!socket.destroyed && socket.write(bytes));
    };
    socket.on('drain', more);
    more();
  }

  const call = (kind: 'request' | 'stream') => {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return http[kind]('/chat', ['content-type', 'application/json'], {
      endpoint: { ...anEndpoint(), provider: aProvider({ baseUrl, maxConcurrency: 4 }) },
      apiKey: null,
      body: Buffer.from('{}'),
      signal: new AbortController().signal,
      timeouts: { headersMs: 20_000, idleMs: 20_000, totalMs: 20_000 },
    });
  };

  const failureOf = async (kind: 'request' | 'stream'): Promise<unknown> => {
    try {
      const opened = await call(kind);
      if (!('read' in opened)) return opened;
      for (;;) if ((await opened.read()) === null) return 'the end of the stream';
    } catch (error) {
      return error;
    }
  };

  it.each([
    ['short headers', OK, 'a:\r\n'],
    ['headers', OK, 'X-A: b\r\n'],
    ['a status', 'HTTP/1.1 200 ', 'x'],
    ['heads of status 1xx', '', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['trailers', `${CHUNKED}0\r\n`, 'a:\r\n'],
    ['an extension of a chunk', `${CHUNKED}1;`, 'x'],
  ])('without end are given up at once: %s', async (_what, head, repeated) => {
    answer = head;
    piece = repeated;
    for (const kind of ['request', 'stream'] as const) {
      const startedMs = performance.now();
      const error = await failureOf(kind);
      expect(error).toMatchObject({ code: 'provider_unavailable' });
      expect(isUpstreamFault(error as never)).toBe(true);
      expect(performance.now() - startedMs).toBeLessThan(2_000);
    }
  });

  it('take no processor time from others, however many lines they have', async () => {
    answer = OK + 'X-A: b\r\n'.repeat(KIB_64 / 8);
    await failureOf('request');
    const before = process.cpuUsage();
    for (let i = 0; i < 5; i += 1) await failureOf('request');
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(5 * 50);
  }, 120_000);

  it('without a status are the fault of their upstream', async () => {
    answer = 'HTTP/1.1 000 X\r\nContent-Length: 2\r\n\r\n{}';
    expect(isUpstreamFault((await failureOf('request')) as never)).toBe(true);
  });

  it('may have many headers, and come after early ones', async () => {
    const headers = 'X-Header: value\r\n'.repeat(150);
    answer = `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}${headers}Content-Length: 2\r\n\r\n{}`;
    expect(await call('request')).toMatchObject({ status: 200, body: Buffer.from('{}') });
  });
});
