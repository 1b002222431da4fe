import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from 'node:tls';

export interface Identity {
  readonly key: string;
  readonly certificate: string;
}

/** What a receiver does with a request. */
export type Conduct = (socket: TLSSocket) => void;

const EVERY_MS = 5;
const SLOW_MS = 300;

const repeated =
  (head: string, piece: string, everyMs = EVERY_MS): Conduct =>
  (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(piece), everyMs);
    socket.on('close', () => clearInterval(timer));
  };

const saying =
  (text: string): Conduct =>
  (socket) =>
    socket.end(text);

/** Writes as fast as the reader takes it. */
const flood =
  (head: string, piece: string): Conduct =>
  (socket) => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', more).write(head);
    more();
  };

/** What receivers may do instead of answering well, by the path at which they do it. */
export const CONDUCTS = {
  '/never': () => undefined,
  '/drip': repeated('HTTP/1.1 200', 'x', 200),
  '/drip-header': repeated('HTTP/1.1 200 OK\r\nx: ', 'x', 200),
  '/head-without-end': flood('HTTP/1.1 200 OK\r\n', `x: ${'y'.repeat(1_000)}\r\n`),
  '/many-headers': saying(`HTTP/1.1 200 OK\r\n${'a:b\r\n'.repeat(3_000)}\r\n`),
  '/body-without-end': flood('HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(16_384)),
  '/error-without-end': flood(
    'HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n',
    `4000\r\n${'x'.repeat(16_384)}\r\n`,
  ),
  '/hang-after-200': (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n'),
  '/early-hints': flood('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(100)),
  '/continue': saying('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n'),
  '/switch': saying('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  '/hang-up': (socket) => void socket.destroy(),
  '/half-a-head': saying('HTTP/1.1 200 OK\r\nconte'),
  '/no-http': saying('SSH-2.0-OpenSSH_9.7\r\n\r\n'),
  '/status-999': saying('HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n'),
  '/no-location': saying('HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n'),
  '/elsewhere': saying('HTTP/1.1 308 Moved\r\nlocation: /from-elsewhere\r\ncontent-length: 0\r\n\r\n'),
  '/circle': saying('HTTP/1.1 307 Again\r\nlocation: /circle\r\ncontent-length: 0\r\n\r\n'),
  '/not-modified': saying('HTTP/1.1 304 Not Modified\r\n\r\n'),
  '/busy': saying('HTTP/1.1 429 Busy\r\nretry-after: 99999999999999999999\r\ncontent-length: 0\r\n\r\n'),
  '/busy-before': saying('HTTP/1.1 429 Busy\r\nretry-after: -5\r\ncontent-length: 0\r\n\r\n'),
  '/busy-for-ages': saying(
    'HTTP/1.1 503 Busy\r\nretry-after: Fri, 31 Dec 9999 23:59:59 GMT\r\ncontent-length: 0\r\n\r\n',
  ),
  '/gone': saying('HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n'),
  '/slow': (socket) => void setTimeout(() => socket.end('HTTP/1.1 204 No Content\r\n\r\n'), SLOW_MS),
  '/fine': saying('HTTP/1.1 204 No Content\r\n\r\n'),
} as const satisfies Readonly<Record<string, Conduct>>;

export type ConductPath = keyof typeof CONDUCTS;

/** A broken or hostile receiver of webhooks, at every loopback address. */
export class OddReceiver {
  /** The paths of the requests, as they came. */
  readonly paths: string[] = [];
  readonly #open = new Set<Socket>();

  private constructor(
    private readonly server: Server | TlsServer,
    isRaw: boolean,
  ) {
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.on('error', () => undefined).on('close', () => this.#open.delete(socket));
      if (isRaw) socket.resume();
    });
  }

  static async start({ key, certificate }: Identity): Promise<OddReceiver> {
    const receiver = new OddReceiver(createTlsServer({ key, cert: certificate }), false);
    receiver.server
      .on('secureConnection', (socket: TLSSocket) => receiver.#serve(socket))
      .on('tlsClientError', () => 0);
    return receiver.#listen();
  }

  /** Accepts connections and begins no TLS. */
  static startSilent(): Promise<OddReceiver> {
    return new OddReceiver(createServer(), true).#listen();
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#open.size;
  }

  url(path = '/', address = '127.0.0.1'): string {
    return `https://${address}:${(this.server.address() as AddressInfo).port}${path}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #listen(): Promise<this> {
    await once(this.server.listen(0, '0.0.0.0'), 'listening');
    return this;
  }

  #serve(socket: TLSSocket): void {
    let text = '';
    let isServed = false;
    socket
      .on('error', () => undefined)
      .on('data', (chunk) => {
        text += chunk.toString('latin1');
        if (isServed || !text.includes('\r\n\r\n')) return;
        isServed = true;
        const path = text.split(' ')[1] ?? '';
        this.paths.push(path);
        const conduct: Conduct | undefined = CONDUCTS[path.replace(/\?.*/, '') as ConductPath];
        (conduct ?? CONDUCTS['/fine'])(socket);
      });
  }
}
