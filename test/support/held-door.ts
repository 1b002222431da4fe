import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A door in front of an upstream on loopback: everything passes, but the answers of one kind of call can be held
 * back, as if their caller had died before they came.
 */
export class HeldDoor {
  readonly #server: Server;
  #held: string | null = null;
  #onHeld: (() => void) | null = null;

  private constructor(
    server: Server,
    private readonly target: URL,
  ) {
    this.#server = server;
  }

  static async before(targetUrl: string): Promise<HeldDoor> {
    const server = createServer();
    const door = new HeldDoor(server, new URL(targetUrl));
    server.on('request', (incoming, answer) => door.#pass(incoming, answer));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return door;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Holds the answers of these calls, e.g. `POST /v1/batches`; resolves when the upstream has taken the first. */
  hold(call: string): Promise<void> {
    this.#held = call;
    return new Promise((resolve) => (this.#onHeld = resolve));
  }

  /** From now on every answer passes; those that were held stay unheard. */
  release(): void {
    this.#held = null;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #pass(incoming: IncomingMessage, answer: ServerResponse): void {
    const { method = 'GET', url = '/', headers } = incoming;
    const { hostname, port } = this.target;
    const passed = request({ hostname, port, method, path: url, headers }, (reply) => {
      if (this.#held === `${method} ${url}`) {
        reply.resume();
        this.#onHeld?.();
        return;
      }
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    incoming.pipe(passed);
  }
}
