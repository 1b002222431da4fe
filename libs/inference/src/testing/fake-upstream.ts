import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A request as it arrived at the upstream. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Behaviour = (response: ServerResponse, request: ReceivedRequest) => void;

/** An upstream over real HTTP on loopback that behaves as the test says and remembers what it was asked. */
export class FakeUpstream {
  readonly requests: ReceivedRequest[] = [];
  /** One promise per request, in order: resolves to whether the answer got out whole before the connection closed. */
  readonly endings: Promise<boolean>[] = [];
  behaviour: Behaviour = (response) => response.writeHead(500).end();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #connections = 0;
  #bodyBytes = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<FakeUpstream> {
    const server = createServer();
    const upstream = new FakeUpstream(server);
    server.on('connection', (socket: Socket) => {
      upstream.#connections += 1;
      upstream.#sockets.add(socket);
      socket.once('close', () => upstream.#sockets.delete(socket));
    });
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      upstream.endings.push(once(response, 'close').then(() => response.writableFinished));
      request.on('data', (chunk: Buffer) => {
        upstream.#bodyBytes += chunk.length;
        chunks.push(chunk);
      });
      request.on('end', () => {
        const received = {
          method: request.method ?? '',
          path: request.url ?? '',
          headers: request.headers,
          body: Buffer.concat(chunks).toString(),
        };
        upstream.requests.push(received);
        upstream.behaviour(response, received);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return upstream;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** As `base_url` in a catalogue. */
  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  /** How many connections were ever opened. */
  get connections(): number {
    return this.#connections;
  }

  /** Of all requests so far, also of those that have not come whole. */
  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  /** From now on every request gets this answer. */
  answers(status: number, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): void {
    this.behaviour = (response) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  }

  /** From now on every request gets these pieces of an event stream, one write each, and the end. */
  streams(...pieces: readonly (string | Buffer)[]): void {
    this.behaviour = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const write = (index: number): void => {
        if (index === pieces.length) response.end();
        else response.write(pieces[index], () => setImmediate(write, index + 1));
      };
      write(0);
    };
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
